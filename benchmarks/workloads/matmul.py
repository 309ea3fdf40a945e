"""Product of two n x n matrices into a file."""

import math

import check
import numpy as np
from expert import NpyIn, NpyOut, in_threads
from peers import BUDGET, blosc2_array, cubed_array, dask_array, dask_store

TITLE = "product of two n x n matrices into a file"
RTOL = 1e-3
BLAS_THREADS = 2
BAND = 2048
"""Rows of the result that the expert makes at a time: 95 MB of `a` at n = 11585."""
PANEL = 768
"""Columns of `b` at a time."""


def shapes(size):
    side = math.isqrt(size // 8)
    return {"a": (side, side), "b": (side, side)}


def output(shapes):
    return shapes["a"]


def least(shapes):
    """Reading bound of square tiles t x t of the result that fill the budget."""
    n = shapes["a"][0]
    tile = math.isqrt(BUDGET // 4)
    return int(4 * n * n * max(2, 2 * n / tile)), 4 * n * n


def summary(paths):
    """Return the checksums of the product by products with the weights."""
    a, b = (np.load(paths[name], mmap_mode="r") for name in "ab")
    shape = a.shape
    row_weight, column_weight = check.weights(shape)
    pieces = [b[w].astype(np.float64) @ column_weight for w in check.blocks_of(len(b))]
    through = np.concatenate(pieces)
    size = math.sqrt(shape[0])  # of an element of the product
    sums, scales = [], []
    for w in check.blocks_of(len(a)):
        sums.append(row_weight[w] @ (a[w].astype(np.float64) @ through))
        scales.append(
            size * np.linalg.norm(row_weight[w]) * np.linalg.norm(column_weight)
        )
    picked = a[check.sample_rows(len(a))].astype(np.float64)
    kept = np.zeros((len(picked), shape[1]))
    for w in check.blocks_of(len(b)):
        kept += picked[:, w] @ b[w].astype(np.float64)
    return {"sums": np.array(sums), "scales": np.array(scales), "kept": kept}


def expert(paths, out):
    a, b = NpyIn(paths["a"]), NpyIn(paths["b"])
    n = a.shape[0]
    columns = np.load(paths["b"], mmap_mode="r")
    target = NpyOut(out, a.shape)
    band = np.empty((min(BAND, n), n), np.float32)
    panels = [np.empty((n, PANEL), np.float32) for _ in range(2)]
    result = np.empty((min(BAND, n), PANEL), np.float32)
    starts = range(0, n, PANEL)

    def fetch(number):
        start = starts[number]
        panel = panels[number % 2][:, : min(PANEL, n - start)]
        panel[:] = columns[:, start : start + PANEL]

    for row in range(0, n, BAND):
        rows = band[: min(BAND, n - row)]
        a.read(rows, row * n)
        fetch(0)
        for number, start in enumerate(starts):
            width = min(PANEL, n - start)

            def work(
                thread, number=number, start=start, width=width, row=row, rows=rows
            ):
                if thread == 1:
                    if number + 1 < len(starts):
                        fetch(number + 1)
                    return
                product = np.matmul(
                    rows, panels[number % 2][:, :width], out=result[: len(rows), :width]
                )
                for i, line in enumerate(product):
                    target.write(line, (row + i) * n + start)

            in_threads(work)
    for file in (a, b, target):
        file.close()
    return {}


def jask(paths, out):
    import jask

    jask.save(out, jask.open(paths["a"]) @ jask.open(paths["b"]))
    return {}


def _chunks(path):
    side = np.load(path, mmap_mode="r").shape[0]
    return (min(2048, side), min(2048, side))


def dask(paths, out):
    a, b = (dask_array(paths[name], _chunks(paths[name])) for name in "ab")
    dask_store(a @ b, out)
    return {}


def cubed(paths, out):
    import cubed
    import cubed.array_api as xp

    a, b = (cubed_array(paths[name], out, _chunks(paths[name])) for name in "ab")
    cubed.to_zarr(xp.matmul(a, b), str(out.with_suffix(".zarr")))
    return {}


def blosc2(paths, out):
    import blosc2

    a, b = blosc2_array(paths["a"]), blosc2_array(paths["b"])
    blosc2.matmul(a, b, urlpath=str(out.with_suffix(".b2nd")), mode="w")
    return {}
