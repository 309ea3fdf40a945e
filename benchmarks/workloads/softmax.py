"""Softmax of the rows of N x 1024 into a file: one read."""

import numpy as np
from check import blocks_of
from expert import NpyIn, NpyOut, in_threads, row_blocks
from peers import blosc2_array, cubed_array, dask_array, dask_store

TITLE = "row softmax of N x 1024 into a file"
RTOL = 1e-4
COLUMNS = 1024


def shapes(size):
    return {"x": (size // 4 // COLUMNS, COLUMNS)}


def output(shapes):
    return shapes["x"]


def least(shapes):
    nbytes = 4 * shapes["x"][0] * COLUMNS
    return nbytes, nbytes


def reference(paths):
    x = np.load(paths["x"], mmap_mode="r")
    for where in blocks_of(len(x)):
        b = x[where].astype(np.float64)
        e = np.exp(b - b.max(1, keepdims=True))
        yield e / e.sum(1, keepdims=True)


def expert(paths, out):
    source = NpyIn(paths["x"])
    target = NpyOut(out, source.shape)

    def work(thread):
        for start, x in row_blocks(source, thread):
            x -= x.max(1, keepdims=True)
            np.exp(x, out=x)
            x *= 1 / x.sum(1, keepdims=True)
            target.write(x, start * COLUMNS)

    in_threads(work)
    source.close()
    target.close()
    return {}


def jask(paths, out):
    import jask
    import jask.numpy as jnp

    x = jask.open(paths["x"])
    e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
    jask.save(out, e / jnp.sum(e, axis=1, keepdims=True))
    return {}


def dask(paths, out):
    import dask.array as da

    x = dask_array(paths["x"])
    e = da.exp(x - x.max(axis=1, keepdims=True))
    dask_store(e / e.sum(axis=1, keepdims=True), out)
    return {}


def cubed(paths, out):
    import cubed
    import cubed.array_api as xp

    x = cubed_array(paths["x"], out)
    e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    y = e / xp.sum(e, axis=1, keepdims=True)
    cubed.to_zarr(y, str(out.with_suffix(".zarr")))
    return {}


def blosc2(paths, out):
    import blosc2

    x = blosc2_array(paths["x"])
    top = x.max(axis=1, keepdims=True)
    total = blosc2.exp(x - top).sum(axis=1, keepdims=True)
    expression = blosc2.exp(x - top) / total
    expression.compute(
        urlpath=str(out.with_suffix(".b2nd")), mode="w", cparams={"clevel": 0}
    )
    return {}
