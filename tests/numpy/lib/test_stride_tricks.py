"""Windows that slide along axes: against NumPy's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view as numpys

import jask
import jask.numpy as jnp
from tests.numpy.samples import GRID, assert_equal, disk

windows = jnp.lib.stride_tricks.sliding_window_view
LONG = np.arange(90, dtype=np.int16).reshape(45, 2)


@pytest.mark.parametrize(
    ("x", "shape", "axis"),
    [
        (GRID[0, 0], 2, None),
        (GRID[0, 0], (4,), None),
        (GRID, 3, -1),
        (GRID, (2, 2), (2, 0)),
        (GRID, (2, 1, 3), None),
        (GRID, (2, 2), (2, 2)),
        (GRID, 1, 0),
        (LONG, 40, 0),
    ],
)
@pytest.mark.parametrize("block_bytes", [None, 24])
def test_windows_are_numpys(x: Any, shape: Any, axis: Any, block_bytes: Any):
    with jask.config(block_bytes=block_bytes):
        assert_equal(windows(disk(x), shape, axis), numpys(x, shape, axis))


@pytest.mark.parametrize("length", [3, 50])
def test_means_of_windows_stream_over_a_file_larger_than_the_budget(
    length: int, tmp_path: Path
):
    x = np.random.default_rng(0).normal(size=1_000_000).astype("float32")
    np.save(tmp_path / "x.npy", x)
    sums = np.cumsum(np.concatenate([[0.0], x.astype("float64")]))
    with jask.config(memory_budget="2MB"):  # the windows would take 12 MB and 200 MB
        means = jnp.mean(windows(jask.open(tmp_path / "x.npy"), length), axis=-1)
        jask.save(tmp_path / "means.npy", means)
    expected = (sums[length:] - sums[:-length]) / length
    # float32 means beside double precision
    np.testing.assert_allclose(np.load(tmp_path / "means.npy"), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "options", "match"),
    [
        (5, {"axis": 2}, "0 to 4 elements; got 5"),
        (-1, {"axis": 2}, "got -1"),
        ((3, 3), {"axis": (2, 2)}, "0 to 2 elements; got 3"),
        ((2, 2), {}, "one length for each axis"),
        (2, {"axis": 3}, "out of bounds"),
        (2, {"axis": 2, "writeable": True}, "immutable"),
    ],
)
def test_what_cannot_be_is_a_value_error(shape: Any, options: Any, match: str):
    with pytest.raises(ValueError, match=match):
        windows(disk(GRID), shape, **options)
