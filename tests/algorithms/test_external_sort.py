"""Sorts along axes that do not fit memory: the bits of `jax.numpy`, in the budget."""

from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jask
import jask.numpy as jnp
from jask.algorithms import external_sort
from jask.algorithms.order import order, sort_values
from jask.errors import MemoryBudgetError, ScratchFullError
from jask.execute.ledger import LEDGER
from jask.geometry.box import Box
from jask.stores.scratch import scratch_in_use
from jask.stores.traffic import snapshot
from jask.testing.same import assert_same
from tests.algorithms.test_order import DTYPES, any_bits, dtype_of

BUDGET = 16_000
RNG = np.random.default_rng(0)
type Array = np.ndarray[Any, Any]


def same_as_jax(
    fn: Callable[[Any, Any], Any], *arrays: Array, budget: int = BUDGET
) -> None:
    """Compare a function of (namespace, arrays...) with jax.numpy, bit by bit."""
    with jax.enable_x64(True):
        wanted = jax.tree.leaves(fn(jax.numpy, *map(jax.numpy.asarray, arrays)))
        with jask.config(memory_budget=budget):
            found = jax.tree.leaves(fn(jnp, *map(jask.from_numpy, arrays)))
            assert "stage" in jask.explain(*found)
            stores = [values(x) for x in found]
    for got, want in zip(stores, wanted, strict=True):
        same_bits(got, np.asarray(want))


def same_bits(got: Array, want: Array) -> None:
    """Compare bit by bit, also NaN and zeros. XLA changes those of float8_e5m2."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    assert got.tobytes() == want.tobytes()


def values(x: Any) -> Array:
    """Evaluate to scratch and read it."""
    store = x.persist().node.store
    found = np.empty(store.shape, store.dtype)
    store.read(Box.whole(store.shape), found)
    return found


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", [d for d in DTYPES if d != "float8_e5m2"])
def test_sort_and_argsort_have_the_bits_of_jax(name: str, descending: bool) -> None:
    dtype = dtype_of(name)
    x = any_bits(RNG, dtype, 20_000 if dtype.itemsize < 4 else 5000)
    same_as_jax(lambda xp, x: xp.sort(x, descending=descending), x)
    same_as_jax(lambda xp, x: xp.argsort(x, descending=descending).astype("int64"), x)


PATTERNS: dict[str, Callable[[int], Array]] = {
    "random": lambda n: RNG.integers(0, 1 << 30, n),
    "equal": lambda n: np.zeros(n, int),
    "few": lambda n: RNG.integers(0, 3, n),
    "sorted": np.arange,
    "reversed": lambda n: np.arange(n)[::-1].copy(),
    "saw": lambda n: np.arange(n) % 97,
    "one large": lambda n: np.eye(1, n, n // 3, dtype=int)[0],
}


@settings(max_examples=25)
@given(
    pattern=st.sampled_from(sorted(PATTERNS)),
    length=st.sampled_from([400, 1000, 3777, 9001]),
    budget=st.sampled_from([6_000, 10_000, 40_000]),
)
def test_any_pattern_is_sorted_within_any_budget(
    pattern: str, length: int, budget: int
) -> None:
    x = PATTERNS[pattern](length).astype("i4")
    with jask.config(memory_budget=budget):
        got = values(jnp.argsort(jask.from_numpy(x)))
    assert_same(got, np.argsort(x, kind="stable"))


@pytest.mark.parametrize("name", ["sort", "argsort"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_round_takes_more_than_fits(
    pattern: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    most: list[int] = []

    def watched(found: Any) -> Any:
        taken.append(found[0].size)
        return order(found)

    def watched_values(block: Array) -> None:
        taken.append(block.size)
        sort_values(block)

    class Watched(external_sort._Sorter):
        def __init__(self, stage: Any, memory: int) -> None:
            super().__init__(stage, memory)
            most.append(self.most)

    monkeypatch.setattr(external_sort, "order", watched)
    monkeypatch.setattr(external_sort, "sort_values", watched_values)
    monkeypatch.setattr(external_sort, "_Sorter", Watched)
    x = PATTERNS[pattern](20_000).astype("i4")
    with jask.config(memory_budget=30_000):
        got = values(getattr(jnp, name)(jask.from_numpy(x)))
    assert_same(got, np.sort(x) if name == "sort" else np.argsort(x, kind="stable"))
    assert len(taken) > 10
    assert max(taken) <= max(*most, 4 * 29**2)  # the second: samples, of a known number


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_long_axis_may_lie_anywhere(axis: int) -> None:
    shape = [3, 2, 4]
    shape[axis] = 5000
    x = RNG.standard_normal(shape).astype("f4")
    same_as_jax(lambda xp, x: xp.sort(x, axis=axis), x)
    same_as_jax(lambda xp, x: xp.argsort(x, axis=axis).astype("int64"), x)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("shape", [(3, 70, 40), (500, 3), (5, 2, 1000)])
def test_lines_that_fit_are_shared_among_workers(
    shape: tuple[int, ...], workers: int
) -> None:
    x = any_bits(RNG, np.dtype("f4"), prod(shape)).reshape(shape)
    with jask.config(workers=workers, block_bytes=1000):
        same_as_jax(lambda xp, x: xp.sort(x), x, budget=80_000)
        same_as_jax(lambda xp, x: xp.argsort(x, -1).astype("int64"), x, budget=80_000)


COLUMNS: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda xp, x: xp.sort(x, axis=0),
    "percentile": lambda xp, x: xp.percentile(x, 30.0, axis=0),
    "median": lambda xp, x: xp.median(x, axis=0),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_a_tall_file_are_read_a_few_times_however_small_the_budget(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions: list[int] = []
    monkeypatch.setattr(external_sort, "order", lambda _: positions.append(1))
    x = RNG.standard_normal((20_000, 25)).astype("f4")
    # both zeros in one column: jax.numpy's quantiles sort them in no certain order
    other = 0 if name == "sort" else 1
    x[::9, ::4], x[::7, other::4], x[5, ::8] = 0.0, -0.0, np.nan
    np.save(tmp_path / "x.npy", x)
    with jask.config(memory_budget=1_000_000):
        found = COLUMNS[name](jnp, jask.open(tmp_path / "x.npy"))
        before = snapshot()
        got = values(found)
        traffic = snapshot() - before
    same_bits(got, np.asarray(COLUMNS[name](jax.numpy, x)))
    assert not positions  # values alone are sorted in place, in a third of the time
    assert traffic.bytes_read <= 5 * x.nbytes
    assert traffic.reads <= 5000


def test_several_operands_and_keys_are_sorted_together() -> None:
    n = 3000
    a, b = RNG.integers(0, 5, n).astype("i4"), RNG.standard_normal(n).astype("f4")
    c = RNG.integers(0, 99, n).astype("u1")

    def sorted_by_two(xp: Any, *arrays: Any) -> Any:
        run = lambda *xs: jax.lax.sort(xs, num_keys=2)
        return run(*arrays) if xp is jax.numpy else jask.lift(run)(*arrays)

    same_as_jax(sorted_by_two, a, b, c, budget=24_000)
    same_as_jax(lambda xp, *x: xp.lexsort(x).astype("int64"), b, a)


def test_a_sort_of_an_expression_may_go_on(tmp_path: Path) -> None:
    x = RNG.standard_normal((4000,)).astype("f4")

    def around(xp: Any, x: Any) -> Any:
        return xp.cumsum(xp.sort(xp.abs(x)).astype("float64")), xp.sort(-x)[::7]

    same_as_jax(around, x)


def test_a_jitted_function_sorts_so_too() -> None:
    x = RNG.standard_normal(6000).astype("f4")
    np.testing.assert_array_less(BUDGET, x.nbytes)
    with jask.config(memory_budget=BUDGET):
        found = jax.jit(lambda x: jask.materialize(jnp.sort(x)[::100]))
        got = np.asarray(found(jask.from_numpy(x)))
        stored = values(jax.jit(jnp.sort)(jask.from_numpy(x)))
    assert_same(got, np.sort(x)[::100])
    assert_same(stored, np.sort(x))


QUANTILES: dict[str, Callable[[Any, Any], Any]] = {
    "median": lambda xp, x: xp.median(x),
    "quantile": lambda xp, x: xp.quantile(x, jax.numpy.array([0.0, 0.3, 1.0])),
    "percentile": lambda xp, x: xp.percentile(x, 12.5),
    "nanmedian": lambda xp, x: xp.nanmedian(xp.where(x > 1, xp.nan, x)),
    "nanquantile": lambda xp, x: xp.nanquantile(x, 0.7),
    "median of columns": lambda xp, x: xp.median(xp.reshape(x, (-1, 4)), axis=0),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles_follow_from_sorts(name: str) -> None:
    x = RNG.standard_normal(8000).astype("f4")
    same_as_jax(QUANTILES[name], x)


def test_a_failure_leaves_no_scratch_and_no_claim_behind() -> None:
    before = scratch_in_use(), LEDGER.held
    x = jask.from_numpy(RNG.standard_normal(9000).astype("f4"))
    limits = jask.config(memory_budget=BUDGET, scratch_limit=50_000)
    with limits, pytest.raises(ScratchFullError):
        values(jnp.sort(x))
    assert (scratch_in_use(), LEDGER.held) == before


def test_a_budget_below_one_small_run_is_refused_with_one_that_would_do() -> None:
    x = jask.from_numpy(RNG.standard_normal(9000).astype("f4"))
    with jask.config(memory_budget=900), pytest.raises(MemoryBudgetError) as error:
        values(jnp.sort(x))
    with jask.config(memory_budget=error.value.budget):
        assert_same(values(jnp.sort(x)), np.sort(values(x)))
