"""Distinct elements of arrays that do not fit memory, against NumPy."""

from typing import Any

import jax
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.stores.base import read_block

RNG = np.random.default_rng(11)
BUDGET = 60_000

ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "few": RNG.integers(0, 9, (90, 100)).astype("i4"),
    "many": RNG.integers(0, 10**9, 9000),
    "one": np.full(20_000, 7, "i2"),
    "floats": RNG.choice(np.array([0.0, -0.0, 1, np.nan, np.inf], "f4"), 9000),
    "complex": RNG.choice(np.array([1j, 1, 1 + 1j, np.nan], "c8"), (3, 3000)),
    "booleans": RNG.random(40_000) < 0.5,
}


def values(x: Any) -> np.ndarray[Any, Any]:
    return read_block(x.persist().node.store)


@pytest.mark.parametrize("name", ARRAYS)
def test_all_about_distinct_elements_is_numpys(name: str) -> None:
    x = ARRAYS[name]
    want = np.unique(
        x,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        equal_nan=False,
    )
    with jask.config(memory_budget=BUDGET):
        got = [values(part) for part in jnp.unique_all(jask.from_numpy(x))]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w.reshape(g.shape), strict=True)


def test_parts_of_it_are_the_same() -> None:
    x = ARRAYS["many"] % 1000
    want = np.unique(x, return_inverse=True, return_counts=True)
    with jask.config(memory_budget=BUDGET):
        disk = jask.from_numpy(x)
        counted, inverted = jnp.unique_counts(disk), jnp.unique_inverse(disk)
        np.testing.assert_array_equal(values(jnp.unique_values(disk)), want[0])
        np.testing.assert_array_equal(values(counted.values), want[0])
        np.testing.assert_array_equal(values(counted.counts), want[2])
        np.testing.assert_array_equal(values(inverted.values), want[0])
        np.testing.assert_array_equal(values(inverted.inverse_indices), want[1])


PAIRS: dict[str, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {
    "integers": (
        RNG.integers(0, 30_000, 20_000).astype("i4"),
        RNG.integers(9_000, 40_000, (100, 90)).astype("i4"),
    ),
    "floats": (
        RNG.choice(np.array([0.0, -0.0, 1, np.nan, np.inf], "f4"), 9000),
        np.append(RNG.normal(size=20_000), [1, np.nan, 0]).astype("f4"),
    ),
    "two types": (
        RNG.integers(0, 300, 20_000).astype("i2"),
        RNG.integers(0, 400, 30_000).astype("i4"),
    ),
    "few": (RNG.integers(0, 300, 30_000).astype("i4"), np.arange(7, dtype="i4")),
}
OPERATIONS = ("intersect1d", "setdiff1d", "setxor1d", "union1d")


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("pair", PAIRS)
def test_a_set_operation_on_long_arrays_is_jax_numpys(name: str, pair: str) -> None:
    x, y = PAIRS[pair]
    model = getattr(jax.numpy, name)
    with jax.numpy_dtype_promotion("standard"):
        want, other = model(x, y), model(y, x)
        with jask.config(memory_budget=BUDGET):
            ours = getattr(jnp, name)
            got = values(ours(jask.from_numpy(x), jask.from_numpy(y)))
            back = values(ours(jask.from_numpy(y), jask.from_numpy(x)))
    np.testing.assert_array_equal(got, want, strict=True)
    np.testing.assert_array_equal(back, other, strict=True)


@pytest.mark.parametrize("length", [3, 60_000])
@pytest.mark.parametrize("other", [[1.0], None, "text"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_is_no_array_is_refused_by_name(
    name: str, other: Any, length: int
) -> None:
    x = jask.from_numpy(np.zeros(length, np.float32))
    said = rf"^{name}: an operand .* got {type(other).__name__}\. Convert it with"
    with jask.config(memory_budget=BUDGET):
        for pair in ((x, other), (other, x)):
            with pytest.raises(TypeError, match=said):
                getattr(jnp, name)(*pair)


@pytest.mark.parametrize("name", ARRAYS)
def test_unique_of_a_long_array_is_jax_numpys(name: str) -> None:
    x = ARRAYS[name]
    asked = {"return_index": True, "return_inverse": True, "return_counts": True}
    want = jax.numpy.unique(x, **asked)
    with jask.config(memory_budget=BUDGET):
        disk = jask.from_numpy(x)
        got = [values(part) for part in jnp.unique(disk, **asked)]
        alone = values(jnp.unique(disk))
    np.testing.assert_array_equal(alone, got[0], strict=True)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("invert", [False, True])
def test_isin_a_line_that_does_not_fit_is_numpys(pair: str, invert: bool) -> None:
    y, x = PAIRS[pair]
    want = np.isin(x, y, invert=invert)
    with (
        jax.numpy_dtype_promotion("standard"),
        jask.config(memory_budget=BUDGET // 2),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("jask.numpy.searching.MOST_PAIRS", 0)
        got = values(jnp.isin(jask.from_numpy(x), jask.from_numpy(y), invert=invert))
    np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("pair", PAIRS)
def test_a_search_in_a_line_that_does_not_fit_is_numpys(pair: str, side: Any) -> None:
    line, queries = np.sort(PAIRS[pair][0]), PAIRS[pair][1]
    want = np.searchsorted(line, queries, side=side)
    with (
        jax.numpy_dtype_promotion("standard"),
        jask.config(memory_budget=line.nbytes),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("jask.numpy.searching.MOST_PAIRS", 0)
        lazy = jnp.searchsorted(jask.from_numpy(line), jask.from_numpy(queries), side)
        got = values(lazy)
    np.testing.assert_array_equal(got, want, strict=True)
