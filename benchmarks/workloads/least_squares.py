"""Gram matrix of N x 64 and least squares by it: one read."""

import numpy as np
from expert import BLOCK_BYTES, NpyIn, in_threads, row_blocks
from peers import blosc2_array, cubed_array, dask_array

TITLE = "Gram matrix and least squares N x 64"
RTOL = 1e-3
COLUMNS = 64


def shapes(size):
    rows = size // 4 // COLUMNS
    return {"x": (rows, COLUMNS), "y": (rows,)}


def least(shapes):
    return 4 * shapes["x"][0] * (COLUMNS + 1), 0


def _result(gram, moment):
    gram = np.asarray(gram, np.float64)
    return {
        "gram": gram,
        "solution": np.linalg.solve(gram, np.asarray(moment, np.float64)),
    }


def reference(paths):
    x, y = (np.load(paths[name], mmap_mode="r") for name in "xy")
    gram, moment = np.zeros((COLUMNS, COLUMNS)), np.zeros(COLUMNS)
    for start in range(0, len(x), 2**15):
        b = x[start : start + 2**15].astype(np.float64)
        gram += b.T @ b
        moment += y[start : start + 2**15].astype(np.float64) @ b
    return _result(gram, moment)


def expert(paths, out):
    source, target = NpyIn(paths["x"]), NpyIn(paths["y"])

    def work(thread):
        gram, moment = np.zeros((COLUMNS, COLUMNS)), np.zeros(COLUMNS)
        spare = np.empty(BLOCK_BYTES // 4 // COLUMNS, np.float32)
        for start, x in row_blocks(source, thread):
            y = spare[: len(x)]
            target.read(y, start)
            gram += x.T @ x
            moment += y @ x
        return gram, moment

    (gram_a, moment_a), (gram_b, moment_b) = in_threads(work)
    source.close()
    target.close()
    return _result(gram_a + gram_b, moment_a + moment_b)


def jask(paths, out):
    import jask

    x, y = jask.open(paths["x"]), jask.open(paths["y"])
    return _result(*jask.materialize(x.T @ x, x.T @ y))


def dask(paths, out):
    import dask

    x = dask_array(paths["x"])
    y = dask_array(paths["y"], x.chunks[:1])
    return _result(*dask.compute(x.T @ x, x.T @ y))


def cubed(paths, out):
    import cubed
    import cubed.array_api as xp

    x = cubed_array(paths["x"], out)
    y = cubed_array(paths["y"], out, x.chunksize[:1])
    return _result(*cubed.compute(x.T @ x, xp.matmul(x.T, y)))


def blosc2(paths, out):
    import blosc2

    x, y = blosc2_array(paths["x"]), blosc2_array(paths["y"])
    gram = blosc2.tensordot(x, x, axes=([0], [0]))
    moment = blosc2.tensordot(y, x, axes=([0], [0]))
    return _result(gram[:], moment[:])
