"""Cumulative sum along axis 0 of N x 64 into a file: one read."""

import threading

import numpy as np
from check import blocks_of
from expert import BLOCK_BYTES, NpyIn, NpyOut, in_threads, row_blocks
from peers import blosc2_array, cubed_array, dask_array, dask_store

TITLE = "cumulative sum along axis 0 of N x 64 into a file"
RTOL = 1e-3
COLUMNS = 64
GROUP = 16
"""Rows that are summed by a triangular product."""


def shapes(size):
    return {"x": (size // 4 // COLUMNS, COLUMNS)}


def output(shapes):
    return shapes["x"]


def least(shapes):
    nbytes = 4 * shapes["x"][0] * COLUMNS
    return nbytes, nbytes


def reference(paths):
    x = np.load(paths["x"], mmap_mode="r")
    carry = np.zeros(COLUMNS)
    for where in blocks_of(len(x)):
        block = np.add.accumulate(x[where].astype(np.float64), axis=0) + carry
        carry = block[-1].copy()
        yield block


def expert(paths, out):
    source = NpyIn(paths["x"])
    target = NpyOut(out, source.shape)
    step = BLOCK_BYTES // 4 // COLUMNS
    blocks = -(-source.shape[0] // step)
    ready = [threading.Event() for _ in range(blocks + 1)]
    carry = {0: np.zeros(COLUMNS)}
    ready[0].set()

    def work(thread):
        spare = np.empty((step, COLUMNS), np.float32)
        for start, x in row_blocks(source, thread):
            number = start // step
            sums = _scan(x, spare[: len(x)])
            ready[number].wait()
            before = carry.pop(number)
            carry[number + 1] = before + sums[-1]
            ready[number + 1].set()
            sums += before.astype(np.float32)
            target.write(sums, start * COLUMNS)

    in_threads(work)
    source.close()
    target.close()
    return {}


TRIANGLE = np.tril(np.ones((GROUP, GROUP), np.float32))


def _scan(x, out):
    """Cumulative sum of a block: within groups by BLAS, then across the groups."""
    whole = len(x) // GROUP * GROUP
    groups = out[:whole].reshape(-1, GROUP, COLUMNS)
    np.matmul(TRIANGLE, x[:whole].reshape(groups.shape), out=groups)
    last = np.add.accumulate(groups[:, -1], axis=0)
    groups[1:] += last[:-1, None]
    if whole < len(x):
        np.add.accumulate(x[whole:], axis=0, out=out[whole:])
        if whole:
            out[whole:] += out[whole - 1]
    return out


def jask(paths, out):
    import jask
    import jask.numpy as jnp

    jask.save(out, jnp.cumulative_sum(jask.open(paths["x"]), axis=0))
    return {}


def dask(paths, out):
    dask_store(dask_array(paths["x"]).cumsum(axis=0), out)
    return {}


def cubed(paths, out):
    import cubed
    import cubed.array_api as xp

    x = cubed_array(paths["x"], out)
    cubed.to_zarr(xp.cumulative_sum(x, axis=0), str(out.with_suffix(".zarr")))
    return {}


def blosc2(paths, out):
    import blosc2

    x = blosc2_array(paths["x"])
    blosc2.cumulative_sum(
        x,
        axis=0,
        urlpath=str(out.with_suffix(".b2nd")),
        mode="w",
        cparams={"clevel": 0},
    )
    return {}
