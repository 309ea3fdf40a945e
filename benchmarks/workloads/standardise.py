"""Columns of N x 64 to mean 0 and deviation 1, into a file: two reads."""

import numpy as np
from check import blocks_of
from expert import BLOCK_BYTES, NpyIn, NpyOut, in_threads, row_blocks
from peers import blosc2_array, cubed_array, dask_array, dask_store

TITLE = "standardise columns of N x 64 into a file"
RTOL = 1e-4
COLUMNS = 64


def shapes(size):
    return {"x": (size // 4 // COLUMNS, COLUMNS)}


def output(shapes):
    return shapes["x"]


def least(shapes):
    nbytes = 4 * shapes["x"][0] * COLUMNS
    return 2 * nbytes, nbytes


def reference(paths):
    x = np.load(paths["x"], mmap_mode="r")
    total, squares = np.zeros(COLUMNS), np.zeros(COLUMNS)
    for where in blocks_of(len(x)):
        total += x[where].sum(0, dtype=np.float64)
    mean = total / len(x)
    for where in blocks_of(len(x)):
        squares += ((x[where] - mean) ** 2).sum(0)
    deviation = np.sqrt(squares / len(x))
    return ((x[where] - mean) / deviation for where in blocks_of(len(x)))


def expert(paths, out):
    source = NpyIn(paths["x"])
    rows = source.shape[0]
    (na, mean_a, m2_a), (nb, mean_b, m2_b) = in_threads(lambda t: _moments(source, t))
    gap = mean_b - mean_a
    mean = (mean_a + gap * (nb / rows)).astype(np.float32)
    variance = (m2_a + m2_b + gap**2 * (na * nb / rows)) / rows
    scale = (1 / np.sqrt(variance)).astype(np.float32)
    target = NpyOut(out, source.shape)

    def work(thread):
        for start, x in row_blocks(source, thread):
            x -= mean
            x *= scale
            target.write(x, start * COLUMNS)

    in_threads(work)
    source.close()
    target.close()
    return {}


def _moments(source, thread):
    """Return count, means and sums of squared deviations of one thread's blocks."""
    step = BLOCK_BYTES // 4 // COLUMNS
    ones, spare = np.ones(step, np.float32), np.empty((step, COLUMNS), np.float32)
    seen, mean, m2 = 0, np.zeros(COLUMNS), np.zeros(COLUMNS)
    for _, x in row_blocks(source, thread):
        n = len(x)
        block_mean = (ones[:n] @ x) / np.float32(n)
        x -= block_mean
        block_m2 = ones[:n] @ np.multiply(x, x, out=spare[:n])
        gap = block_mean - mean
        mean += gap * (n / (seen + n))
        m2 += block_m2 + gap**2 * (seen * n / (seen + n))
        seen += n
    return seen, mean, m2


def jask(paths, out):
    import jask
    import jask.numpy as jnp

    x = jask.open(paths["x"])
    jask.save(out, (x - jnp.mean(x, axis=0)) / jnp.std(x, axis=0))
    return {}


def dask(paths, out):
    x = dask_array(paths["x"])
    dask_store((x - x.mean(axis=0)) / x.std(axis=0), out)
    return {}


def cubed(paths, out):
    import cubed
    import cubed.array_api as xp

    x = cubed_array(paths["x"], out)
    y = (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)
    cubed.to_zarr(y, str(out.with_suffix(".zarr")))
    return {}


def blosc2(paths, out):
    x = blosc2_array(paths["x"])
    mean, deviation = x.mean(axis=0), x.std(axis=0)
    expression = (x - mean) / deviation
    expression.compute(
        urlpath=str(out.with_suffix(".b2nd")), mode="w", cparams={"clevel": 0}
    )
    return {}
