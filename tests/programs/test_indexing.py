"""Elements chosen by indices, of operands larger than the budget."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.execute.run import ToScratch, prepare
from jask.stores.traffic import snapshot
from jask.testing.same import assert_same
from jask.trace.counters import COUNTERS

SHAPE = (300, 200)
BUDGET = 60_000
"""Bytes; the operands have 240000 and 400000."""

RNG = np.random.default_rng(4)
ROWS, COLUMNS = RNG.integers(-300, 300, 40), RNG.integers(-200, 200, 40)

# name: a function of a namespace, a matrix and a long vector of small integers
CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "diagonal": lambda xp, x, v: xp.diagonal(x),
    "diagonal above": lambda xp, x, v: xp.diagonal(x, offset=30),
    "diagonal below": lambda xp, x, v: xp.diagonal(x, offset=-150),
    "rows": lambda xp, x, v: x[ROWS],
    "columns": lambda xp, x, v: x[:, COLUMNS],
    "pairs": lambda xp, x, v: x[ROWS, COLUMNS],
    "pairs apart": lambda xp, x, v: xp.reshape(x, (30, 10, 200))[ROWS % 30, :, COLUMNS],
    "grid": lambda xp, x, v: x[ROWS[:, None], COLUMNS[None, :9]],
    "take": lambda xp, x, v: xp.take(x, xp.asarray(ROWS), axis=0),
    "take of all": lambda xp, x, v: xp.take(x, xp.asarray(ROWS * 99)),
    "take clipped": lambda xp, x, v: xp.take(
        x, xp.asarray(3 * ROWS), axis=0, mode="clip"
    ),
    "out of bounds": lambda xp, x, v: xp.take(
        x, xp.asarray(3 * ROWS), axis=0, mode="fill"
    ),
    "along": lambda xp, x, v: xp.take_along_axis(
        x, xp.asarray(np.tile(ROWS[:4, None], 200)), axis=0
    ),
    "indices from disk": lambda xp, x, v: xp.sum(x[:, 0][v]),
    "counts": lambda xp, x, v: xp.bincount(v, length=60),
    "weighted counts": lambda xp, x, v: xp.zeros(60).at[v].add(0.5),
    "largest of each": lambda xp, x, v: xp.full(60, -1, v.dtype).at[v].max(2 * v),
    "set by many": lambda xp, x, v: (
        xp.zeros(60).at[v].set(xp.arange(100_000, dtype=xp.float32))
    ),
    "added to pairs": lambda xp, x, v: x.at[ROWS, COLUMNS].add(1),
}

SUMS = {"indices from disk": 1000, "added to pairs": 2}
"""Rounded additions in a chain, where the elements are not exact."""


@pytest.fixture(scope="module")
def operands(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    folder = tmp_path_factory.mktemp("indexing")
    x = RNG.standard_normal(SHAPE).astype("f4")
    v = RNG.integers(0, 50, 100_000).astype("i4")
    np.save(folder / "x.npy", x)
    np.save(folder / "v.npy", v)
    return folder, x, v


@pytest.mark.parametrize("name", CASES)
def test_elements_are_chosen_from_operands_larger_than_the_budget(
    name: str, operands: tuple[Path, Any, Any]
) -> None:
    folder, x, v = operands
    opaque = COUNTERS.opaque_steps
    with jask.config(memory_budget=BUDGET, durable=False):
        result = CASES[name](
            jnp, jask.open(folder / "x.npy"), jask.open(folder / "v.npy")
        )
        projected = prepare([result.node], [ToScratch()]).plan.projected
        jask.save(folder / "out.npy", result)
    assert COUNTERS.opaque_steps == opaque
    assert projected <= BUDGET
    with jax.numpy_dtype_promotion("standard"):
        expected = CASES[name](jax_numpy, jax_numpy.asarray(x), jax_numpy.asarray(v))
    got = np.load(folder / "out.npy")
    # counts are int64 here
    assert_same(got.astype(expected.dtype), expected, sums=SUMS.get(name, 0))


def test_a_diagonal_reads_a_part_of_its_matrix(tmp_path: Path) -> None:
    shape, file = (400, 40_000), tmp_path / "x.bin"
    x = np.memmap(file, "f4", "w+", shape=shape)  # sparse: what is zero takes no space
    np.fill_diagonal(x[:, 5:], np.arange(400))
    x.flush()
    with jask.config(memory_budget=8 * BUDGET):
        before = snapshot()
        diagonal = jnp.diagonal(jask.DiskArray(file, shape, "f4"), offset=5)
        np.testing.assert_array_equal(np.asarray(diagonal), np.arange(400))
        read = (snapshot() - before).bytes_read
    assert read < x.nbytes / 20


def test_rows_by_indices_read_the_matrix_once(
    operands: tuple[Path, Any, Any],
) -> None:
    folder, x, _ = operands
    with jask.config(memory_budget=BUDGET):
        before = snapshot()
        got = np.asarray(jask.open(folder / "x.npy")[ROWS, COLUMNS])
        read = (snapshot() - before).bytes_read
    np.testing.assert_array_equal(got, x[ROWS, COLUMNS])
    assert read <= 1.05 * x.nbytes


def test_a_walk_takes_large_parts_of_both_sides(tmp_path: Path) -> None:
    length = 2_000_000
    np.memmap(tmp_path / "x.bin", "f4", "w+", shape=(length,)).flush()  # sparse
    x = jask.DiskArray(tmp_path / "x.bin", (length,), "f4")
    with jask.config(memory_budget="4MB", workers=2):
        node = x[np.zeros(length // 2, int)].node
        (walk,) = prepare([node], [ToScratch()]).plan.passes
    assert walk.steps <= 200  # of 8 MB and 4 MB, two blocks of each at a time in 4 MB


def test_rows_by_a_short_index_file_are_read_alone(tmp_path: Path) -> None:
    rows = RNG.integers(0, 100_000, 50)
    x = np.memmap(tmp_path / "x.bin", "f4", "w+", shape=(100_000, 64))  # sparse
    x[rows] = rows[:, None]
    x.flush()
    np.save(tmp_path / "i.npy", rows)
    with jask.config(memory_budget="1MB"):
        before = snapshot()
        file = jask.DiskArray(tmp_path / "x.bin", x.shape, "f4")
        got = np.asarray(file[jask.open(tmp_path / "i.npy")])
        read = (snapshot() - before).bytes_read
    np.testing.assert_array_equal(got, x[rows])
    assert read <= 1.1 * (got.nbytes + rows.nbytes)
