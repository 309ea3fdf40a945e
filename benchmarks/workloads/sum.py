"""Sum of sqrt(x*x+1)*sin(x) over a vector: one fused read."""

import numpy as np
from expert import BLOCK_BYTES, NpyIn, in_threads, row_blocks
from peers import blosc2_array, cubed_array, dask_array

TITLE = "sum of sqrt(x*x+1)*sin(x)"
RTOL = 1e-3  # of a sum of terms of both signs, some thousand times the result


def shapes(size):
    return {"x": (size // 4,)}


def least(shapes):
    return 4 * shapes["x"][0], 0


def reference(paths):
    x = np.load(paths["x"], mmap_mode="r")
    total = 0.0
    for start in range(0, x.size, 2**20):
        b = x[start : start + 2**20].astype(np.float64)
        total += (np.sqrt(b * b + 1) * np.sin(b)).sum()
    return {"sum": np.float64(total)}


def expert(paths, out):
    source = NpyIn(paths["x"])

    def work(thread):
        total, spare = 0.0, np.empty(BLOCK_BYTES // 4, np.float32)
        for _, x in row_blocks(source, thread):
            root = np.multiply(x, x, out=spare[: x.size])
            root += 1
            np.sqrt(root, out=root)
            np.sin(x, out=x)
            total += float(np.dot(root, x))
        return total

    total = sum(in_threads(work))
    source.close()
    return {"sum": total}


def jask(paths, out):
    import jask
    import jask.numpy as jnp

    x = jask.open(paths["x"])
    return {"sum": jask.materialize(jnp.sum(jnp.sqrt(x * x + 1) * jnp.sin(x)))}


def dask(paths, out):
    import dask.array as da

    x = dask_array(paths["x"])
    return {"sum": (da.sqrt(x * x + 1) * da.sin(x)).sum().compute()}


def cubed(paths, out):
    import cubed.array_api as xp

    x = cubed_array(paths["x"], out)
    one = xp.asarray(1, dtype=xp.float32, spec=x.spec)
    return {"sum": xp.sum(xp.sqrt(x * x + one) * xp.sin(x)).compute()}


def blosc2(paths, out):
    import blosc2

    x = blosc2_array(paths["x"])
    return {"sum": (blosc2.sqrt(x * x + 1) * blosc2.sin(x)).sum(dtype=np.float64)}
