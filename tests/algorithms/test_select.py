"""Selecting by masks: NumPy's results from blocks of any size, within the budget."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jask
import jask.numpy as jnp
from jask.algorithms.select import place, positions, select
from jask.config import current
from jask.errors import MemoryBudgetError, ScratchFullError
from jask.execute.ledger import LEDGER
from jask.geometry.box import Box
from jask.stores.memory import MemoryStore
from jask.stores.scratch import scratch_in_use
from jask.stores.traffic import snapshot
from jask.testing.same import assert_same

BUDGET = 40_000


class Counting(MemoryStore):
    """A store in memory that knows the largest box and how much was read."""

    largest = total = 0

    def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
        super().read(box, buffer)
        self.largest = max(self.largest, buffer.nbytes)
        self.total += buffer.nbytes


def values(store: Any) -> np.ndarray[Any, Any]:
    found = np.empty(store.shape, store.dtype)
    if found.size:
        store.read(Box.whole(store.shape), found)
    return found


@settings(max_examples=60)
@given(
    length=st.integers(0, 40),
    width=st.sampled_from([0, 1, 3, 70]),
    block=st.sampled_from([1, 8, 50, 300]),
    share=st.sampled_from([0.0, 0.1, 0.7, 1.0]),
    budget=st.sampled_from([2_000, 10**6]),
)
def test_rows_are_numpys_whatever_the_block(
    length: int, width: int, block: int, share: float, budget: int
) -> None:
    rng = np.random.default_rng(length)
    rows = rng.standard_normal((length, width)).astype("f4")
    mask = rng.random(length) < share
    source = Counting(rows)
    with jask.config(block_bytes=block, memory_budget=budget):
        got = select(source, MemoryStore(mask), current())
    assert_same(values(got), rows[mask])
    assert source.largest <= max(block, 4)
    assert source.total <= rows.nbytes


@settings(max_examples=60)
@given(
    shape=st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple),
    block=st.sampled_from([1, 30, 300]),
    dtype=st.sampled_from(["bool", "i4", "f4", "c8", "f2"]),
)
def test_positions_are_numpys_whatever_the_block(
    shape: tuple[int, ...], block: int, dtype: str
) -> None:
    x = np.random.default_rng(len(shape)).integers(0, 2, shape).astype(dtype)
    if dtype == "f4" and x.size:
        x.flat[0] = np.nan
    with jask.config(block_bytes=block):
        got = positions(MemoryStore(x.reshape(-1)), shape, current())
    for g, w in zip(got, np.nonzero(x), strict=True):
        assert_same(values(g), w)


@settings(max_examples=60)
@given(
    length=st.integers(0, 40),
    width=st.sampled_from([0, 1, 3, 70]),
    block=st.sampled_from([1, 8, 50, 300]),
    share=st.sampled_from([0.0, 0.1, 0.7, 1.0]),
    budget=st.sampled_from([2_000, 10**6]),
)
def test_rows_are_put_back_as_numpy_does_whatever_the_block(
    length: int, width: int, block: int, share: float, budget: int
) -> None:
    rng = np.random.default_rng(length)
    rows = rng.standard_normal((length, width)).astype("f4")
    mask = rng.random(length) < share
    new = rng.standard_normal((np.count_nonzero(mask), width)).astype("f4")
    sources = Counting(rows), MemoryStore(mask), Counting(new)
    with jask.config(block_bytes=block, memory_budget=budget):
        got = place(*sources, current())
    rows[mask] = new
    assert_same(values(got), rows)
    assert max(sources[0].largest, sources[2].largest) <= max(block, 4)
    assert (sources[0].total, sources[2].total) == (rows.nbytes, new.nbytes)


def test_what_chooses_nothing_is_not_read() -> None:
    mask = np.zeros(1000, bool)
    mask[517] = True
    rows = Counting(np.arange(1000.0)[:, None])
    with jask.config(block_bytes=160):
        got = select(rows, MemoryStore(mask), current())
    assert values(got).tolist() == [[517.0]]
    assert rows.total == 8


def test_a_failure_leaves_no_scratch_and_no_claim_behind() -> None:
    class Failing(MemoryStore):
        def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
            if box.start[0] > 500:
                raise OSError("the disk is gone")
            super().read(box, buffer)

    before = scratch_in_use(), LEDGER.held
    rows = Failing(np.ones((1000, 4)))
    with jask.config(block_bytes=160, memory_budget=2000):
        with pytest.raises(OSError, match="gone"):
            select(rows, MemoryStore(np.ones(1000, bool)), current())
        with pytest.raises(OSError, match="gone"):
            positions(Failing(np.ones(1000)), (1000,), current())
    assert (scratch_in_use(), LEDGER.held) == before


def test_scratch_that_may_not_be_had_is_an_error() -> None:
    x = jask.from_numpy(np.ones(10_000))
    limits = jask.config(memory_budget=BUDGET, scratch_limit=1000)
    with limits, pytest.raises(ScratchFullError):
        jnp.nonzero(x)


MATRIX = np.random.default_rng(5).standard_normal((300, 100)).astype("f4")
CASES: dict[str, Any] = {
    "mask": lambda xp, x: x[x > 0],
    "mask of an expression": lambda xp, x: (x * 2)[xp.abs(x) < 1],
    "mask of rows": lambda xp, x: x[x[:, 3] > 0],
    "mask of columns": lambda xp, x: x[:, x[3] > 0],
    "mask in memory": lambda xp, x: x[np.arange(300) % 3 == 0],
    "mask and integers": lambda xp, x: x[x[:, 3] > 0, 5],
    "mask of nothing": lambda xp, x: x[x > 100],
    "nonzero": lambda xp, x: xp.nonzero(x > 1),
    "nonzero of numbers": lambda xp, x: xp.nonzero(x),
    "where": lambda xp, x: xp.where(x > 1),
    "argwhere": lambda xp, x: xp.argwhere(x > 1),
    "flatnonzero": lambda xp, x: xp.flatnonzero(x > 1),
    "compress rows": lambda xp, x: xp.compress(x[:, 0] > 0, x, axis=0),
    "compress columns": lambda xp, x: xp.compress(x[0, :60] > 0, x, axis=1),
    "compress all": lambda xp, x: xp.compress(x[:, 0] > 0, x),
    "extract": lambda xp, x: xp.extract(x > 0, x),
    "sum of a mask": lambda xp, x: xp.max(x[x < 0]),
}


def updated(x: Any, mask: Any, how: str, new: Any) -> Any:
    if isinstance(x, np.ndarray):
        x = x.copy()
        if how == "set":
            x[mask] = new
        else:
            x[mask] += new
        return x
    return getattr(x.at[mask], how)(new)


def positive(xp: Any, x: Any) -> Any:
    return x[x > 0]


UPDATES: dict[str, Any] = {
    "every place": lambda xp, x, how: updated(x, x > 0, how, positive(xp, x) * 2),
    "in another dtype": lambda xp, x, how: updated(
        x, x > 0, how, (positive(xp, x) * 2).astype("int16")
    ),
    "rows": lambda xp, x, how: updated(
        x, x[:, 3] > 0, how, x[x[:, 3] > 0] - xp.mean(x, axis=0)
    ),
    "rows by a column": lambda xp, x, how: updated(
        x, x[:, 3] > 0, how, x[x[:, 3] > 0][:, 1:2]
    ),
    "a mask in memory": lambda xp, x, how: updated(
        x, np.arange(300) % 3 == 0, how, x[np.arange(300) % 3 == 0][::-1]
    ),
    "nothing": lambda xp, x, how: updated(x, x > 100, how, x[x > 100]),
}


@pytest.mark.parametrize("budget", [BUDGET, 10**8])
@pytest.mark.parametrize("how", ["set", "add"])
@pytest.mark.parametrize("name", UPDATES)
def test_values_are_put_where_a_mask_holds_as_numpy_does(
    name: str, how: str, budget: int, file: Path, tmp_path: Path
) -> None:
    want = UPDATES[name](np, MATRIX, how)
    limits = jask.config(memory_budget=budget, durable=False)
    with limits, jax.numpy_dtype_promotion("standard"):
        jask.save(tmp_path / "out.npy", UPDATES[name](jnp, jask.open(file), how))
    # the means of columns, near zero, are sums in another order
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), want, atol=1e-6)


@pytest.mark.parametrize("how", ["set", "add"])
@pytest.mark.parametrize("wrong", [1, -1])
def test_as_many_values_as_places_are_needed(how: str, wrong: int, file: Path) -> None:
    count = int(np.count_nonzero(MATRIX > 0)) + wrong
    with jask.config(memory_budget=BUDGET):
        x = jask.open(file)
        with pytest.raises(ValueError, match="as many values"):
            getattr(x.at[x > 0], how)(jnp.zeros(count))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("select") / "x.npy"
    np.save(path, MATRIX)
    return path


@pytest.mark.parametrize("budget", [BUDGET, 10**8])
@pytest.mark.parametrize("name", CASES)
def test_shapes_that_depend_on_values_are_numpys_on_files(
    name: str, budget: int, file: Path, tmp_path: Path
) -> None:
    want = CASES[name](np, MATRIX)
    with jask.config(memory_budget=budget, durable=False):
        got = CASES[name](jnp, jask.open(file))
        pairs = zip(
            got if isinstance(got, tuple) else [got],
            want if isinstance(want, tuple) else [want],
            strict=True,
        )
        for g, w in pairs:
            jask.save(tmp_path / "out.npy", g)
            assert_same(np.load(tmp_path / "out.npy"), np.asarray(w))


def test_a_mask_is_read_twice_and_what_it_chooses_from_once(file: Path) -> None:
    x = jask.open(file)
    with jask.config(memory_budget=BUDGET):
        before = snapshot()
        x[np.arange(300) >= 0]
        assert (snapshot() - before).bytes_read <= 1.05 * MATRIX.nbytes
        before = snapshot()
        jnp.nonzero(x)
        assert (snapshot() - before).bytes_read <= 2.05 * MATRIX.nbytes


def test_a_mask_under_a_trace_is_still_a_concretization_error() -> None:
    x = jask.from_numpy(np.ones(3))
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(jnp.flatnonzero)(x)


def test_a_condition_that_chooses_beyond_the_axis_is_an_error() -> None:
    x = jask.from_numpy(np.ones(3))
    with pytest.raises(ValueError, match="beyond the 3 places"):
        jnp.compress(np.array([True, False, True, True]), x)
    assert jnp.compress(np.array([True, False, True, False]), x).shape == (2,)


def test_what_does_not_stream_says_that_it_must_be_in_memory() -> None:
    x = jask.from_numpy(np.ones(10_000))
    needed = pytest.raises(MemoryBudgetError, match="trim_zeros needs its operands")
    with jask.config(memory_budget=BUDGET), needed as caught:
        jnp.trim_zeros(x)
    said = str(caught.value)
    assert f"they take 80000 bytes, over the memory budget of {BUDGET} bytes" in said
    assert f"jask.set_memory_budget({caught.value.budget})" in said
    assert "jask.save" not in said  # it is the operands that must be in memory
    with jask.config(memory_budget=caught.value.budget):
        assert jnp.trim_zeros(x).shape == (10_000,)
