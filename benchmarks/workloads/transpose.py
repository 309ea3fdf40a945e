"""Transpose of a square matrix into a file: one read."""

import math

import numpy as np
from check import blocks_of
from expert import NpyIn, NpyOut, in_threads
from peers import blosc2_array, cubed_array, dask_array, dask_store

TITLE = "transpose into a file"
RTOL = 1e-6
STRIP = 512
"""Rows of the result that are gathered at a time by a thread: 32 MB at 1 GB."""
ROWS = 64
"""Rows of the source that are turned at a time, so that they stay in cache."""


def shapes(size):
    side = math.isqrt(size // 4)
    return {"x": (side, side)}


def output(shapes):
    return shapes["x"]


def least(shapes):
    nbytes = 4 * math.prod(shapes["x"])
    return nbytes, nbytes


def reference(paths):
    x = np.load(paths["x"], mmap_mode="r")
    return (np.ascontiguousarray(x[:, where].T) for where in blocks_of(len(x)))


def expert(paths, out):
    source = NpyIn(paths["x"])
    rows, columns = source.shape
    pages = np.load(paths["x"], mmap_mode="r")  # a strip's rows are short: no preadv
    target = NpyOut(out, (columns, rows))

    def work(thread):
        strip = np.empty((STRIP, rows), np.float32)
        for start in range(thread * STRIP, columns, 2 * STRIP):
            n = min(STRIP, columns - start)
            for row in range(0, rows, ROWS):
                part = pages[row : row + ROWS, start : start + n]
                strip[:n, row : row + ROWS] = part.T
            target.write(strip[:n], start * rows)

    in_threads(work)
    source.close()
    target.close()
    return {}


def jask(paths, out):
    import jask

    jask.save(out, jask.open(paths["x"]).T)
    return {}


def _chunks(path):
    rows, columns = np.load(path, mmap_mode="r").shape
    return (min(2048, rows), min(2048, columns))


def dask(paths, out):
    dask_store(dask_array(paths["x"], _chunks(paths["x"])).T, out)
    return {}


def cubed(paths, out):
    import cubed

    x = cubed_array(paths["x"], out, _chunks(paths["x"]))
    cubed.to_zarr(x.T, str(out.with_suffix(".zarr")))
    return {}


def blosc2(paths, out):
    import blosc2

    blosc2.permute_dims(
        blosc2_array(paths["x"]), urlpath=str(out.with_suffix(".b2nd")), mode="w"
    )
    return {}
