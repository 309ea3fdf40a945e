"""Whether a result is right: against float64 blockwise NumPy.

A small result is compared as it is. A file is compared by shape, dtype, whole sample
rows, and a checksum for each of up to 1,024 blocks of rows: the sum of the elements
times a random weight for their row and for their column, so that any exchange shows.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

BLOCKS = 1024
SAMPLES = 32
CHECKSUM_TOLERANCE = 1e-3


def weights(shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return a weight in [-1, 1] for each row and for each column."""
    random = np.random.default_rng(12345)
    return random.uniform(-1, 1, shape[0]), random.uniform(-1, 1, shape[1])


def sample_rows(rows: int) -> np.ndarray:
    """Return the numbers of the rows that are compared whole, edges included."""
    inner = np.random.default_rng(54321).integers(0, rows, SAMPLES - 2)
    return np.unique(np.concatenate([inner, [0, rows - 1]]))


def blocks_of(rows: int) -> Iterator[slice]:
    """Yield the blocks of rows that have a checksum each."""
    step = -(-rows // BLOCKS)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def summary(shape: tuple[int, int], rows: Iterable[np.ndarray]) -> dict:
    """Return what a file is compared by, from its rows block by block.

    `rows` yields the blocks of `blocks_of` in order.
    """
    row_weight, column_weight = weights(shape)
    samples = set(sample_rows(shape[0]).tolist())
    sums, scales, kept = [], [], []
    for where, values in zip(blocks_of(shape[0]), rows, strict=True):
        block = np.asarray(values, np.float64)
        weight = row_weight[where]
        sums.append(weight @ (block @ column_weight))
        np.square(block, out=block if block is not values else None)
        scales.append(np.sqrt(weight**2 @ (block @ column_weight**2)))
        kept += [
            np.asarray(values[i - where.start], np.float64)
            for i in range(where.start, where.stop)
            if i in samples
        ]
    return {"sums": np.array(sums), "scales": np.array(scales), "kept": np.array(kept)}


def compare_file(out: Path, shape: tuple[int, int], right: dict, rtol: float) -> None:
    """Raise AssertionError unless the file holds what it should."""
    found = open_result(out)
    assert tuple(found.shape) == shape, (found.shape, shape)
    assert found.dtype == np.float32, found.dtype
    got = summary(shape, (found[where] for where in blocks_of(shape[0])))
    for row, expected in zip(got["kept"], right["kept"], strict=True):
        np.testing.assert_allclose(
            row, expected, rtol=rtol, atol=rtol * np.abs(expected).max()
        )
    # Rounding may shift all elements of a block one way, an exchange by a scale.
    counts = np.array([w.stop - w.start for w in blocks_of(shape[0])]) * shape[1]
    allowed = right["scales"] * (CHECKSUM_TOLERANCE + rtol * np.sqrt(counts))
    off = np.abs(got["sums"] - right["sums"]) > allowed
    assert not off.any(), (
        f"{off.sum()} of {off.size} blocks differ: {np.flatnonzero(off)[:9]}"
    )


def open_result(out: Path):
    """Open what a library wrote: `.npy`, Zarr or a blosc2 frame."""
    if out.suffix == ".zarr":
        import zarr

        return zarr.open_array(out, mode="r")
    if out.suffix == ".b2nd":
        import blosc2

        return blosc2.open(str(out))
    return np.load(out, mmap_mode="r")


def compare_small(found: dict, right: dict, rtol: float) -> None:
    """Raise AssertionError unless every named value is right."""
    assert found.keys() == right.keys(), (found.keys(), right.keys())
    for name, value in found.items():
        expected = right[name]
        np.testing.assert_allclose(
            np.asarray(value, np.float64),
            expected,
            rtol=rtol,
            atol=rtol * np.abs(expected).max(),
            err_msg=name,
        )
