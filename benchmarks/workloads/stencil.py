"""Largest absolute value of x[2:]-2*x[1:-1]+x[:-2]: one read."""

import numpy as np
from expert import BLOCK_BYTES, NpyIn, in_threads
from peers import blosc2_array, cubed_array, dask_array

TITLE = "largest |x[2:]-2*x[1:-1]+x[:-2]|"
RTOL = 1e-5


def shapes(size):
    return {"x": (size // 4,)}


def least(shapes):
    return 4 * shapes["x"][0], 0


def reference(paths):
    x = np.load(paths["x"], mmap_mode="r")
    top = 0.0
    for start in range(0, x.size - 2, 2**20):
        b = x[start : start + 2**20 + 2].astype(np.float64)
        top = max(top, np.abs(b[2:] - 2 * b[1:-1] + b[:-2]).max())
    return {"top": np.float64(top)}


def expert(paths, out):
    source = NpyIn(paths["x"])
    inner = source.shape[0] - 2
    step = BLOCK_BYTES // 4

    def work(thread):
        buffer, spare = np.empty(step + 2, np.float32), np.empty(step, np.float32)
        top = 0.0
        for start in range(thread * step, inner, 2 * step):
            n = min(step, inner - start)
            x, ends = buffer[: n + 2], spare[:n]
            source.read(x, start)
            np.add(x[2:], x[:-2], out=ends)
            x *= 2
            ends -= x[1:-1]
            top = max(top, float(ends.max()), -float(ends.min()))
        return top

    top = max(in_threads(work))
    source.close()
    return {"top": top}


def jask(paths, out):
    import jask
    import jask.numpy as jnp

    x = jask.open(paths["x"])
    bend = x[2:] - 2 * x[1:-1] + x[:-2]
    return {"top": jask.materialize(jnp.max(jnp.abs(bend)))}


def dask(paths, out):
    x = dask_array(paths["x"])
    return {"top": abs(x[2:] - 2 * x[1:-1] + x[:-2]).max().compute()}


def cubed(paths, out):
    import cubed.array_api as xp

    x = cubed_array(paths["x"], out)
    two = xp.asarray(2, dtype=xp.float32, spec=x.spec)
    return {"top": xp.max(xp.abs(x[2:] - two * x[1:-1] + x[:-2])).compute()}


def blosc2(paths, out):
    x = blosc2_array(paths["x"])
    left, middle, right = (
        x.slice(slice(0, -2)),
        x.slice(slice(1, -1)),
        x.slice(slice(2, None)),
    )
    return {"top": abs(right - 2 * middle + left).max()}
