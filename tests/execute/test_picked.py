"""Rows read one by one: NumPy's elements, and no more bytes than they have."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from jax import lax

import jask
import jask.numpy as jnp
from jask.execute.picked import PreparedPick
from jask.stores.memory import MemoryStore
from jask.stores.traffic import snapshot
from jask.testing.same import assert_same
from jask.trace.counters import COUNTERS
from jask.trace.ir import Pick
from tests.rules.helpers import boxes
from tests.trace.graphs import program_for

X = np.arange(6 * 5 * 4, dtype="f4").reshape(6, 5, 4)
I = np.array([[5, 0], [2, 2], [-1, 3]])  # noqa: E741 (indices)
J = np.array([3, 0])

# name: a function of an array and two index arrays
GATHERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "rows": lambda x, i, j: x[i],
    "columns": lambda x, i, j: x[:, :, j],
    "pairs": lambda x, i, j: x[i, j],
    "pairs apart": lambda x, i, j: x[i, :, j],
    "elements": lambda x, i, j: x[i, j, j],
    "filled": lambda x, i, j: jax_numpy.take(x, 3 * i, axis=0, mode="fill"),
    "clipped": lambda x, i, j: jax_numpy.take(x, 3 * i, axis=0, mode="clip"),
    "along": lambda x, i, j: jax_numpy.take_along_axis(
        x, jax_numpy.broadcast_to(j[:, None, None], (2, 5, 4)), axis=0
    ),
}


def pick_of(function: Callable[..., Any]) -> tuple[Pick, list[Any]]:
    """Return the gather of a function as a pick, and the index arrays it needs."""
    program = program_for(function, X, I, J)
    (gather,) = (e for e in program.equations if e.name == "gather")
    x, *operands = program.leaves
    steps = tuple(e for e in program.equations[: gather.number])
    arrays = dict(zip(operands, (I, J), strict=True)) | program.constants
    return Pick(gather.outputs[0], x, gather, steps, tuple(arrays)), [*arrays.values()]


@settings(max_examples=10)
@given(data=st.data())
@pytest.mark.parametrize("name", GATHERS)
def test_any_box_holds_the_chosen_elements(name: str, data: st.DataObject) -> None:
    pick, operands = pick_of(GATHERS[name])
    ready = PreparedPick(pick)
    store = ready.store(MemoryStore(X), operands)
    box = data.draw(boxes(store.shape))
    got = np.full(box.shape, 7, store.dtype)
    store.prefetch(box)
    store.read(box, got)
    with jax.enable_x64(True):
        whole = GATHERS[name](jax_numpy.asarray(X), I, J)
    whole = np.asarray(whole)
    if whole.shape != store.shape:  # the gather's own order of axes
        gather = pick.eqn
        indices = ready.indices(operands)
        with jax.enable_x64(True):
            whole = np.asarray(gather.primitive.bind(X, indices, **gather.params))
    assert_same(got, whole[box.slices])


@settings(max_examples=20)
@given(data=st.data())
@pytest.mark.parametrize("start", [(0, 0, 0), (2, 1, 3), (-1, 9, 2), (-9, -2, 0)])
def test_any_box_of_a_slice_is_read_where_it_starts(
    start: tuple[int, int, int], data: st.DataObject
) -> None:
    """Where it does not fit it is moved, as XLA does it."""
    sizes = tuple(data.draw(st.integers(1, n)) for n in X.shape)
    assume(sizes != X.shape)  # which is no slice any more

    def cut(x: Any, *at: Any) -> Any:
        return lax.dynamic_slice(x, at, sizes)

    program = program_for(cut, X, *(np.array(k) for k in start))
    (eqn,) = (e for e in program.equations if e.name == "dynamic_slice")
    x, *operands = program.leaves
    steps = tuple(e for e in program.equations[: eqn.number])
    pick = Pick(eqn.outputs[0], x, eqn, steps, tuple(operands))
    store = PreparedPick(pick).store(MemoryStore(X), [np.array(k) for k in start])
    box = data.draw(boxes(store.shape))
    got = np.full(box.shape, 7, store.dtype)
    store.prefetch(box)
    store.read(box, got)
    with jax.enable_x64(True):
        whole = np.asarray(cut(jax_numpy.asarray(X), *map(np.int64, start)))
    assert_same(got, whole[box.slices])


LENGTH, WIDTH = 200_000, 64


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("picked") / "x.bin"
    x = np.memmap(path, "f4", "w+", shape=(LENGTH, WIDTH))  # sparse
    x[::1000] = np.arange(LENGTH // 1000)[:, None]
    x.flush()
    return path


def read_by(function: Callable[[], Any]) -> tuple[Any, int]:
    before = snapshot()
    return function(), (snapshot() - before).bytes_read


def test_a_batch_of_rows_reads_its_rows(long_file: Path) -> None:
    x = jask.DiskArray(long_file, (LENGTH, WIDTH), "f4")
    rows = np.random.default_rng(0).integers(0, 200, 50)
    with jask.config(memory_budget=2 * 10**6):
        got, read = read_by(lambda: np.asarray(x[rows * 1000]))
    np.testing.assert_array_equal(got, np.repeat(rows[:, None], WIDTH, 1))
    assert read == 50 * WIDTH * 4


def test_other_rows_need_no_other_plan_in_a_jitted_step(long_file: Path) -> None:
    x = jask.DiskArray(long_file, (LENGTH, WIDTH), "f4")

    @jax.jit
    def loss(x: Any, rows: Any) -> Any:
        return jask.materialize(jnp.sum(jnp.mean(x[rows], axis=1)))

    with jask.config(memory_budget=2 * 10**6):
        first = float(loss(x, jax_numpy.arange(0, 9000, 1000)))
        before = COUNTERS.snapshot()
        second, read = read_by(lambda: float(loss(x, jax_numpy.asarray([5000] * 9))))
        after = COUNTERS.snapshot()
    assert (first, second) == (36.0, 45.0)
    assert read == 9 * WIDTH * 4
    again = {what: after[what] - before[what] for what in after}
    assert again == {**dict.fromkeys(after, 0), "evaluations": 1}


def test_gradients_through_a_batch_are_those_of_jax(long_file: Path) -> None:
    x = jask.DiskArray(long_file, (LENGTH, WIDTH), "f4")
    rows = np.arange(0, 8000, 1000)

    def loss(w: Any, x: Any) -> Any:
        return jask.materialize(jnp.sum(jnp.square(x[rows] @ w)))

    w = jax_numpy.ones(WIDTH, "float32")
    with jask.config(memory_budget=2 * 10**6):
        got = jax.grad(loss)(w, x)
    part = np.repeat(np.arange(8.0)[:, None], WIDTH, 1)
    # float32 sums, added up in another order
    np.testing.assert_allclose(got, 2 * part.T @ (part @ np.ones(WIDTH)), rtol=1e-6)


def test_a_slice_from_a_start_in_memory_reads_itself(long_file: Path) -> None:
    x = jask.DiskArray(long_file, (LENGTH, WIDTH), "f4")
    batch = jask.lift(lambda x, i: lax.dynamic_slice_in_dim(x, i, 1001))
    one = jax.jit(lambda x, i: jask.materialize(x[i]))
    with jask.config(memory_budget=2 * 10**6):
        np.asarray(batch(x, 0)), np.asarray(one(x, 0))
        before = COUNTERS.snapshot()
        firsts = {0: 0, 3000: 3000, -2000: LENGTH - 2000, LENGTH: LENGTH - 1001}
        for start, first in firsts.items():
            got, read = read_by(partial(lambda at: np.asarray(batch(x, at)), start))
            np.testing.assert_array_equal(got, x.to_memmap()[first : first + 1001])
            assert read == 1001 * WIDTH * 4
        got, read = read_by(lambda: np.asarray(one(x, -1000)))
        np.testing.assert_array_equal(got, x.to_memmap()[-1000])
        assert read == WIDTH * 4
        assert COUNTERS.snapshot()["plans"] == before["plans"]
