"""Keywords of jax.numpy beyond the standard: what jax.numpy gives."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as real
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from tests.numpy.samples import GRID, disk

A = np.asarray([[3.0, 1.0, 2.0], [8.0, 5.0, 4.0]], np.float32)
V = np.asarray([3.0, 1.0, 2.0, 2.0], np.float32)
I = np.asarray([[0, 2, 1], [1, 1, 0]], np.int32)  # noqa: E741 (indices)
J = np.asarray([0, 2, 1, 1], np.int32)
LINE = np.asarray([*range(0, 600, 2), np.nan, np.inf], np.float32)[::-1][:300]
BYTES = np.asarray([100, 50, 7], np.int8)

TEXT: Any = "mergesort"


def places(xp: Any, on: Callable[[Any], Any], method: str) -> Any:
    found = xp.searchsorted(on(np.sort(LINE)), on(A), "right", method=method)
    return found.astype("int64")


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sort, no axis": lambda xp, on: xp.sort(on(A), axis=None),
    "argsort, no axis": lambda xp, on: xp.argsort(on(A), axis=None),
    "argsort, dtype": lambda xp, on: xp.argsort(on(A), dtype=np.int16),
    "array, ndmin": lambda xp, on: xp.array(on(A), ndmin=4),
    "array, enough axes": lambda xp, on: xp.array(on(A), ndmin=1, order="K"),
    "asarray, order": lambda xp, on: xp.asarray(on(A), None, "K"),
    "choose": lambda xp, on: xp.choose(on(I), [on(V[:3]), on(A), on(V[1:])]),
    "choose from an array": lambda xp, on: xp.choose(on(I), on(np.stack([V[:3]] * 3))),
    "choose, clip": lambda xp, on: xp.choose(on(I * 9), [on(A), on(A)], mode="clip"),
    "choose, wrap": lambda xp, on: xp.choose(on(I), [on(A), on(A * 2)], mode="wrap"),
    "delete indices": lambda xp, on: xp.delete(on(V), on(J)),
    "delete a mask": lambda xp, on: xp.delete(on(A), on(V[:3] > 1), axis=1),
    "delete a slice": lambda xp, on: xp.delete(on(A), slice(0, 2), axis=1),
    "delete one": lambda xp, on: xp.delete(on(V), 1),
    "fill_diagonal": lambda xp, on: xp.fill_diagonal(on(A), 9.0, inplace=False),
    "isin, compare_all": lambda xp, on: xp.isin(on(A), on(V), method="compare_all"),
    "isin, binary_search": lambda xp, on: xp.isin(
        on(A), on(V), invert=True, method="binary_search"
    ),
    "isin, sort": lambda xp, on: xp.isin(on(A), on(V[:0]), True, method="sort"),
    "isin, many": lambda xp, on: xp.isin(
        on(LINE), on((LINE * 7).reshape(30, 10)), False, True
    ),
    "isin, bytes": lambda xp, on: xp.isin(
        on(np.asarray([0, 255], np.uint8)),
        on(np.asarray([7, 9], np.uint8)),
        method="binary_search",
    ),
    "prod of bytes": lambda xp, on: xp.prod(on(BYTES), promote_integers=False),
    "put": lambda xp, on: xp.put(on(V), on(J), 9.0, inplace=False),
    "ravel, F": lambda xp, on: xp.ravel(on(GRID), order="F"),
    "ravel_multi_index, F": lambda xp, on: xp.ravel_multi_index(
        (on(I), on(I)), (3, 4), order="F"
    ),
    "ravel_multi_index, clip": lambda xp, on: xp.ravel_multi_index(
        (on(I), on(I)), (2, 2), mode="clip"
    ),
    "repeat to a length": lambda xp, on: xp.repeat(
        on(A), on(J[:2]), axis=0, total_repeat_length=4
    ),
    "repeat twice to a length": lambda xp, on: xp.repeat(
        on(V), 2, total_repeat_length=5
    ),
    "reshape, F": lambda xp, on: xp.reshape(on(GRID), (4, -1, 2), order="F"),
    **{
        f"searchsorted, {m}": partial(places, method=m)
        for m in ("scan", "scan_unrolled", "sort", "compare_all")
    },
    "std about a mean": lambda xp, on: xp.std(
        on(A), axis=0, mean=on(np.ones((1, 3), np.float32)), keepdims=True
    ),
    "sum of bytes": lambda xp, on: xp.sum(on(BYTES), promote_integers=False),
    "step of a linspace": lambda xp, on: xp.linspace(0, 1, 5, retstep=True),
    "step of integers": lambda xp, on: xp.linspace(
        0, 9, 4, retstep=True, dtype=np.int32
    ),
    "take, hints": lambda xp, on: xp.take(
        on(V), on(J[:2]), unique_indices=True, indices_are_sorted=True
    ),
    "take, fill": lambda xp, on: xp.take(on(V), on(J + 3), mode="fill", fill_value=7),
    "take_along_axis, fill": lambda xp, on: xp.take_along_axis(
        on(A), on(I * 2), axis=1, mode="fill", fill_value=3
    ),
    "take_along_axis, not wrapped": lambda xp, on: xp.take_along_axis(
        on(A), on(I - 1), axis=1, mode="clip", wrap_negative_indices=False
    ),
    "var about a mean": lambda xp, on: xp.var(on(A), mean=2.5, where=on(A > 1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_keyword_gives_what_jax_numpy_gives(name: str):
    found = jax.tree.leaves(CALLS[name](jnp, disk))
    expected = jax.tree.leaves(CALLS[name](real, real.asarray))
    for f, e in zip(found, expected, strict=True):
        same = name.startswith("ravel_multi") or f.dtype == e.dtype  # indices: int64
        assert (f.shape, same) == (e.shape, True)
        np.testing.assert_allclose(np.asarray(f), np.asarray(e), rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: jnp.choose(x, [V[:3], V[:3]]),
        lambda x: jnp.ravel_multi_index((x, x), (3, 2)),
    ],
    ids=["choose", "ravel_multi_index"],
)
def test_an_index_out_of_range_is_an_error_at_the_call(call: Any):
    with pytest.raises(ValueError, match="out of range"):
        call(disk(I))
    with pytest.raises(jax.errors.ConcretizationTypeError, match="mode='raise'"):
        jax.jit(call)(disk(I))


def test_orders_of_a_large_file_stream(tmp_path: Any):
    x = np.arange(600_000, dtype=np.float32).reshape(300, 2000)
    np.save(tmp_path / "x.npy", x)
    with jask.config(memory_budget="1MB"):
        flat = jnp.ravel(jask.open(tmp_path / "x.npy"), order="F")
        jask.save(tmp_path / "flat.npy", flat)
    assert (np.load(tmp_path / "flat.npy") == x.ravel(order="F")).all()


def test_other_orders_are_row_major():
    assert np.asarray(jnp.ravel(disk(A.T), order="K")).tolist() == A.T.ravel().tolist()
    assert np.asarray(disk(A).flatten("A")).tolist() == A.ravel().tolist()


def test_an_order_that_there_is_not_is_an_error():
    with pytest.raises(ValueError, match="must be 'C'"):
        jnp.reshape(disk(A), 6, order="Z")


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_what_may_be_cast_is_what_may_be_in_jax_numpy(casting: Any):
    kinds = ["bool", "int8", "uint8", "int32", "int64", "float16", "bfloat16"]
    kinds += ["float32", "complex64"]
    for a in map(real.dtype, kinds):
        for b in map(real.dtype, kinds):
            expected = real.can_cast(a, b, casting=casting)
            assert jnp.can_cast(disk(np.zeros(2, a)), b, casting) is expected, (a, b)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: jnp.isin(x, x, method="fast"), ValueError),
        (lambda x: jnp.searchsorted(x[0], x, method="fast"), ValueError),
        (lambda x: jnp.argsort(x, kind=TEXT), TypeError),
        (lambda x: jnp.sort(x, order=TEXT), TypeError),
        (lambda x: jnp.array(x, order="F"), NotImplementedError),
        (lambda x: jnp.asarray(x, order="Z"), ValueError),
        (lambda x: jnp.array(x, device="tpu"), ValueError),
        (lambda x: jnp.can_cast(x, x.dtype, "rough"), ValueError),
    ],
    ids=range(8),
)
def test_a_value_that_a_keyword_cannot_have_is_an_error(call: Any, error: Any):
    with pytest.raises(error):
        call(disk(A))


def test_a_long_list_is_searched_by_halves():
    x = disk(np.arange(3_000_000, dtype=np.float32))
    with jask.config(memory_budget="100MB"):  # all pairs would be 2**40
        found = int(jnp.sum(jnp.isin(x, x[::3])))
    assert found == 1_000_000


@pytest.mark.parametrize("call", [jnp.isin, lambda q, x: jnp.searchsorted(x, q)])
def test_a_long_list_that_fits_the_budget_is_not_compared_with_all(call: Any):
    x = disk(np.arange(1_200_000, dtype=np.float32))
    queries = disk(np.arange(0, 1_200_000, 3_000, dtype=np.float32))
    with jask.config(memory_budget="100MB"):
        found = call(queries, x)
        assert "reduce_" not in jask.explain(found)
        # all are in the list, each at its own value
        expected = np.asarray(queries) if found.dtype != bool else np.ones(400, bool)
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_list_over_the_budget_is_read_from_disk(tmp_path: Any):
    line = np.arange(600_000, dtype=np.float32)
    np.save(tmp_path / "line.npy", line)
    queries = np.asarray([3.0, -1.0, 7.5, 599_999.0], np.float32)
    with jask.config(memory_budget="1MB"):
        x = jask.open(tmp_path / "line.npy")
        found, places = jnp.isin(queries, x), jnp.searchsorted(x, queries)
        assert np.asarray(found).tolist() == np.isin(queries, line).tolist()
        assert np.asarray(places).tolist() == np.searchsorted(line, queries).tolist()


LINES = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
ALONG: dict[str, tuple[Any, Any, int]] = {
    "one a line": (np.asarray([[[1], [0], [-1]], [[2], [3], [9]]]), 7.5, 2),
    "several, repeated": (np.asarray([[[0, 2, 0, 1]]]).reshape(1, 4, 1), -1, 1),
    "with values": (np.asarray([[[1] * 4], [[0] * 4]]), -LINES[:, :1], -2),
    "the first axis": (np.asarray([[[1, 0, 1, -2]] * 3]), LINES[1], 0),
}


@pytest.mark.parametrize("case", ALONG)
@pytest.mark.parametrize("mode", [None, "clip", "drop"])
def test_put_along_axis_is_jax_numpys(case: str, mode: Any, stored: Any):
    places, values, axis = ALONG[case]
    options: Any = {"axis": axis, "inplace": False, "mode": mode}
    want = jax.numpy.put_along_axis(LINES, places, values, **options)
    found = jnp.put_along_axis(stored(LINES), stored(places), values, **options)
    assert (found.shape, found.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(np.asarray(found), want)


def test_put_along_axis_reads_a_file_once(tmp_path: Any):
    np.save(tmp_path / "x.npy", np.ones((4000, 50), np.float32))
    with jask.config(memory_budget=200_000):
        x = jask.open(tmp_path / "x.npy")
        places = jnp.argmax(x, axis=1)[:, None]
        put: jask.DiskArray = jnp.put_along_axis(x, places, 0.0, axis=1, inplace=False)
        plan = jask.explain(put)
    assert plan.startswith("1 pass: reads 8"), plan  # 800 kB, in whole pages
    assert "kB (least" in plan.partition(",")[0]


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("places", [[1], [0, 1, -1], [1, 1, 0], [[0], [1]]])
def test_delete_of_a_few_places_is_numpys(places: Any, axis: Any, stored: Any):
    x = np.arange(20, dtype=np.int32).reshape(4, 5)
    found = jnp.delete(stored(x), np.asarray(places), axis)
    np.testing.assert_array_equal(np.asarray(found), np.delete(x, places, axis))


def test_delete_of_a_few_places_keeps_no_indices_of_the_rest():
    with jask.config(memory_budget=200_000):
        kept = jnp.delete(jnp.zeros(10**9, "float32"), np.asarray([5, 10**8]))
        plan = jask.explain(kept)  # with indices of what is kept: 8 GB
    assert plan.startswith("1 pass")
