"""Parts of a file in one piece are read in place: a loop over them plans once."""

import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.errors import SourceChangedError
from jask.stores import traffic
from jask.trace.counters import COUNTERS

X = np.random.default_rng(0).standard_normal((400, 3, 8)).astype("f4")


@pytest.fixture
def x(tmp_path: Path) -> jask.DiskArray:
    np.save(tmp_path / "x.npy", X)
    return jask.open(tmp_path / "x.npy")


KEYS: dict[str, Any] = {
    "rows": lambda i: slice(i, i + 40),
    "one row": lambda i: i,
    "part of a row": lambda i: (i, slice(1, 3)),
    "a vector": lambda i: (i, 2),
    "a new axis": lambda i: (None, slice(i, i + 5)),
    "an element": lambda i: (i, 1, 7),
}


@pytest.mark.parametrize("name", KEYS)
def test_parts_of_one_shape_share_a_plan(x: jask.DiskArray, name: str):
    key = KEYS[name]
    plans = []
    for i in (0, 40, 117, 355):
        found = jask.materialize(jnp.sin(x[key(i)]) + 1)
        np.testing.assert_array_equal(found, jax.numpy.sin(X[key(i)]) + 1)
        plans.append(COUNTERS.plans)
    assert plans[0] == plans[-1]


def test_a_part_of_a_part_is_one_too(x: jask.DiskArray):
    plans = []
    for i, row in enumerate(x[100:110]):
        np.testing.assert_array_equal(jask.materialize(row * 2), X[100 + i] * 2)
        plans.append(COUNTERS.plans)
    assert plans[0] == plans[-1]


def test_only_the_part_is_read(x: jask.DiskArray):
    before = traffic.snapshot().bytes_read
    jask.materialize(x[7:9] * 2)
    assert traffic.snapshot().bytes_read - before == X[7:9].nbytes


def test_parts_that_overlap_are_read_once(x: jask.DiskArray):
    before = traffic.snapshot().bytes_read
    found = jask.materialize(jnp.max(jnp.abs(x[1:] - x[:-1])))
    assert traffic.snapshot().bytes_read - before == X.nbytes
    assert found == np.abs(X[1:] - X[:-1]).max()


def test_a_part_beside_its_whole_is_read_once(x: jask.DiskArray):
    before = traffic.snapshot().bytes_read
    found = jask.materialize(x - x[5])
    np.testing.assert_array_equal(found, X - X[5])
    assert traffic.snapshot().bytes_read - before <= X.nbytes + X[5].nbytes


def test_what_is_not_in_one_piece_is_cut_out(x: jask.DiskArray):
    for key in ((slice(None), 1), slice(None, None, 2), slice(None, None, -1)):
        np.testing.assert_array_equal(jask.materialize(x[key]), X[key])


def test_a_changed_file_is_noticed(x: jask.DiskArray):
    part = x[3:5]
    assert x.filename is not None
    np.save(x.filename, X + 1)
    os.utime(x.filename, ns=(1, 1))
    with pytest.raises(SourceChangedError):
        jask.materialize(part * 2)


@pytest.mark.parametrize("stored", ["<f8", ">f8", ">i2", "?"])
def test_every_element_type_is_read_right(tmp_path: Path, stored: str):
    whole = (X > 0).astype(stored)
    np.save(tmp_path / "y.npy", whole)
    y = jask.open(tmp_path / "y.npy")
    np.testing.assert_array_equal(jask.materialize(y[11:13]), whole[11:13])


def test_parts_of_what_was_written_to_scratch_are_read(x: jask.DiskArray):
    with jask.config(memory_budget=100_000):
        large = jnp.concat([x, x, x]).persist()
    np.testing.assert_array_equal(
        jask.materialize(large[398:402, 1]), X[[-2, -1, 0, 1], 1]
    )
    np.testing.assert_array_equal(jask.materialize(large[401:405]), X[1:5])


def test_gradients_know_the_whole(x: jask.DiskArray):
    found = jask.grad(lambda x: jnp.sum(x[3:5] ** 2))(x)
    expected = np.zeros_like(X)
    expected[3:5] = 2 * X[3:5]
    np.testing.assert_array_equal(jask.materialize(found), expected)
