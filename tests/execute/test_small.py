"""Small arrays: what is computed without a plan, what is kept, and with which bits."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

import jask
import jask.numpy as dnp
from jask.errors import MemoryBudgetError
from jask.execute.small import KEEP_BYTES, LENGTHS
from jask.testing.same import assert_same
from jask.testing.strategies import recipes
from jask.trace.counters import COUNTERS
from jask.trace.graph import walk

F32 = np.float32


def spent(run: Callable[[], Any]) -> dict[str, int]:
    """Return what the counters counted."""
    before = COUNTERS.snapshot()
    run()
    after = COUNTERS.snapshot()
    return {k: after[k] - before[k] for k in after if after[k] != before[k]}


def array(*shape: int, dtype: Any = F32) -> Any:
    values = np.random.default_rng(0).standard_normal(shape)
    return jask.from_numpy((3 * values).astype(dtype))


# ---- without a plan


def test_one_kernel_serves_every_shape_and_program() -> None:
    np.asarray(dnp.sinh(array(2, 3)))

    def others() -> None:
        for shape in [(5,), (7, 8), (2, 1, 3), (63,)]:
            want = np.asarray(jnp.sinh(np.asarray(array(*shape))))
            assert_same(np.asarray(dnp.sinh(array(*shape))), want, sums=4)
            assert np.asarray(dnp.sinh(array(*shape))[::-1]).shape == shape

    found = spent(others)
    assert found.keys() == {"traces", "evaluations"}, found


def test_moving_elements_compiles_nothing() -> None:
    x = array(6, 4)

    def moves() -> None:
        y = dnp.concat([dnp.reshape(x, (4, 6)), dnp.permute_dims(x, (1, 0))])
        want = np.concatenate([np.asarray(x).reshape(4, 6), np.asarray(x).T])
        np.testing.assert_array_equal(np.asarray(y), want)

    assert spent(moves).keys() == {"traces", "evaluations"}


def test_what_is_large_or_on_disk_is_planned(tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", np.ones(7, "f4"))
    for x in (array(LENGTHS[-1] + 1), jask.open(tmp_path / "x.npy")):
        y = dnp.cosh(x)
        assert spent(partial(np.asarray, y))["plans"] == 1


def test_forced_blocks_are_forced_on_small_arrays_too() -> None:
    y = dnp.tanh(array(40))
    want = np.asarray(y)
    with jask.config(block_bytes=64):
        assert spent(lambda: np.asarray(y))["plans"] == 1
        part = y[3:5]
        assert spent(lambda: np.asarray(part))["plans"] == 1
        np.testing.assert_array_equal(np.asarray(part), want[3:5])


def test_a_small_result_must_fit_the_budget() -> None:
    x = array(500)
    y = x * F32(2)
    np.asarray(y)
    with jask.config(memory_budget=1000):
        for lazy in (y, x * F32(3)):
            with pytest.raises(MemoryBudgetError, match=r"2000 bytes.*1000 bytes"):
                np.asarray(lazy)


# ---- the same bits

ELEMENTWISE = """sin cos tan exp expm1 log log1p tanh sinh cosh arcsinh sqrt sign
square reciprocal isnan"""


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("size", [1, 3, 65])
def test_elementwise_functions_have_the_bits_of_a_planned_kernel(
    dtype: str, size: int
) -> None:
    def compute() -> list[bytes]:
        x = array(size, dtype=dtype)
        made = [getattr(dnp, name)(x) for name in ELEMENTWISE.split()]
        return [np.asarray(v).tobytes() for v in jask.materialize(made)]

    small = compute()
    with jask.config(block_bytes=2**22):
        planned = compute()
    for name, a, b in zip(ELEMENTWISE.split(), small, planned, strict=True):
        assert a == b, name


def in_memory(recipe: Any) -> list[Any]:
    return [jask.from_numpy(x) for x in recipe.inputs]


def values(results: Any) -> list[np.ndarray]:
    got = jask.materialize(results)
    return [np.asarray(v) for v in (got if isinstance(got, list | tuple) else [got])]


@settings(max_examples=10)
@given(recipe=recipes(special=True))
def test_a_small_program_has_the_values_of_the_planned_one(recipe: Any) -> None:
    small = values(recipe(dnp, *in_memory(recipe)))
    with jask.config(block_bytes=2**22):
        planned = values(recipe(dnp, *in_memory(recipe)))
    for a, b, result in zip(small, planned, recipe.results, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        error = recipe.values[result].error
        if error:  # a product and a sum in one kernel may be rounded once, or twice
            np.testing.assert_allclose(a, b, rtol=0, atol=2 * error)
            continue
        np.testing.assert_array_equal(a, b)  # NaN may have any payload
        zeros = np.where(np.isnan(a), 0, a) if a.dtype.kind == "f" else a
        others = np.where(np.isnan(b), 0, b) if b.dtype.kind == "f" else b
        assert zeros.tobytes() == others.tobytes()


def test_operands_that_broadcast_and_constants_take_part() -> None:
    x, y = array(4, 1), array(3)
    table = np.arange(12, dtype="f4").reshape(4, 3)
    lazy = dnp.where(x > y, x * y, 2.0) + table
    a, b = np.asarray(x), np.asarray(y)
    np.testing.assert_array_equal(np.asarray(lazy), np.where(a > b, a * b, 2) + table)


def test_scalars_are_computed_as_rows_of_one() -> None:
    x = jask.from_numpy(np.asarray(2.5, "f4"))
    chosen = dnp.where(x > F32(2), dnp.clip(x, -1.0, 2.25) / 3.0, 0.0)
    assert float(chosen) == F32(2.25) / F32(3)


def test_empty_arrays_need_no_kernel() -> None:
    y = dnp.sin(array(0, 3)) + F32(1)
    assert "compiles" not in spent(lambda: np.asarray(y))
    assert np.asarray(y).shape == (0, 3)


# ---- what is kept


def numbers(y: Any) -> list[float]:
    return [float(y[i]) for i in range(20)]


def taken(x: Any, key: Any) -> Any:
    return np.asarray(x[key])


def test_reading_a_result_element_by_element_computes_it_once() -> None:
    for make in (dnp.exp, dnp.cumulative_sum):
        y = make(array(20))
        assert spent(partial(numbers, y))["evaluations"] <= 2
        assert spent(partial(numbers, y)) == {}
        assert numbers(y) == np.asarray(y).tolist()


def test_a_value_that_is_kept_is_not_changed_by_whoever_read_it() -> None:
    x = array(5)
    y = x + F32(1)
    for lazy in (x, y):
        want = np.asarray(lazy).tolist()
        np.asarray(lazy)[:] = 0
        assert np.asarray(lazy).tolist() == want


def test_indexing_what_is_in_memory_gives_the_elements_of_numpy() -> None:
    x = array(5, 4)
    values = np.asarray(x)
    keys: list[Any] = [
        2,
        -1,
        (1, 3),
        slice(None, None, -2),
        (slice(1, 4), None, 0),
        (..., 1),
    ]
    for key in keys:
        assert spent(partial(taken, x, key)) == {}
        np.testing.assert_array_equal(np.asarray(x[key]), values[key])
    assert [row.shape for row in x] == [(4,)] * 5


def test_a_large_result_is_not_kept() -> None:
    y = array(KEEP_BYTES // 8 + 1, dtype="f8") + 1
    np.asarray(y)
    assert y.node.value is None


def test_a_loop_that_reads_its_state_leaves_no_chain_behind() -> None:
    x = array(300)
    for _ in range(5):
        x = dnp.sin(x) + F32(1)
        np.asarray(x)
    assert len(walk([x.node])) <= 4  # x, sin(x), the state before and the 1


def test_results_of_files_are_not_kept(tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", np.ones(7, "f4"))
    y = jask.open(tmp_path / "x.npy") + F32(1)
    assert float(y[0]) == 2
    np.save(tmp_path / "x.npy", np.zeros(9, "f4"))
    with pytest.raises(jask.errors.SourceChangedError):
        float(y[0])


def test_indexing_under_a_trace_is_differentiated() -> None:
    x = array(5)
    np.asarray(x)
    g = jax.grad(lambda x: jask.materialize(x[2] * x[2]))(x)
    want = np.zeros(5, F32)
    want[2] = 2 * np.asarray(x)[2]
    np.testing.assert_array_equal(np.asarray(g), want)
