"""Transpose of a square matrix into a file: one read."""

import itertools
import math

import numpy as np
from check import blocks_of
from expert import THREADS, NpyIn, NpyOut, in_threads
from peers import blosc2_array, cubed_array, dask_array, dask_store

TITLE = "transpose into a file"
RTOL = 1e-6
SIDE = 2064
"""Side of the square tiles: runs of 8 kB in both files, no power of two."""
TURNED = 64
"""Side of the squares within a tile that are turned at a time, in cache."""


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
    target = NpyOut(out, (columns, rows))
    corners = list(itertools.product(range(0, columns, SIDE), range(0, rows, SIDE)))

    def work(thread):
        tile, turned = np.empty((2, SIDE, SIDE), np.float32)
        for column, row in corners[thread::THREADS]:
            n, m = min(SIDE, rows - row), min(SIDE, columns - column)
            for i in range(n):
                source.read(tile[i, :m], (row + i) * columns + column)
            _turn(tile[:n, :m], turned[:m, :n])
            for j in range(m):
                target.write(turned[j, :n], (column + j) * rows + row)

    in_threads(work)
    source.close()
    target.close()
    return {}


def _turn(tile, into):
    for i in range(0, len(tile), TURNED):
        for j in range(0, len(into), TURNED):
            into[j : j + TURNED, i : i + TURNED] = tile[
                i : i + TURNED, j : j + TURNED
            ].T


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
