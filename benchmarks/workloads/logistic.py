"""Value and gradient of a mean logistic loss over N x 64: one read."""

from functools import cache

import numpy as np
from expert import BLOCK_BYTES, NpyIn, in_threads, row_blocks
from peers import blosc2_array, cubed_array, dask_array

TITLE = "value and gradient of a mean logistic loss N x 64"
RTOL = 1e-4
COLUMNS = 64
WEIGHTS = np.random.default_rng(1).standard_normal(COLUMNS).astype(np.float32) / 4


def shapes(size):
    rows = size // 4 // COLUMNS
    return {"x": (rows, COLUMNS), "label": (rows,)}


def least(shapes):
    return 4 * shapes["x"][0] * (COLUMNS + 1), 0


def reference(paths):
    x, y = np.load(paths["x"], mmap_mode="r"), np.load(paths["label"], mmap_mode="r")
    value, slope = 0.0, np.zeros(COLUMNS)
    for start in range(0, len(x), 2**15):
        b = x[start : start + 2**15].astype(np.float64)
        t = y[start : start + 2**15].astype(np.float64)
        z = b @ WEIGHTS.astype(np.float64)
        value += (np.logaddexp(0, z) - t * z).sum()
        slope += (1 / (1 + np.exp(-z)) - t) @ b
    return {"value": np.float64(value / len(x)), "gradient": slope / len(x)}


def expert(paths, out):
    source, labels = NpyIn(paths["x"]), NpyIn(paths["label"])
    rows = source.shape[0]

    def work(thread):
        value, slope = 0.0, np.zeros(COLUMNS)
        spare = np.empty(BLOCK_BYTES // 4 // COLUMNS, np.float32)
        for start, x in row_blocks(source, thread):
            y = spare[: len(x)]
            labels.read(y, start)
            z = x @ WEIGHTS
            e = np.exp(-np.abs(z))
            value += float((np.log1p(e) + np.maximum(z, 0) - y * z).sum())
            slope += (np.where(z >= 0, np.float32(1), e) / (1 + e) - y) @ x
        return value, slope

    (value_a, slope_a), (value_b, slope_b) = in_threads(work)
    source.close()
    labels.close()
    return {"value": (value_a + value_b) / rows, "gradient": (slope_a + slope_b) / rows}


@cache
def weights_and_loss():
    """Return the weights, as JAX has them, and the loss; the same at every call."""
    import jax

    import jask
    import jask.numpy as jnp

    def loss(weights, x, y):
        z = x @ weights
        return jask.materialize(jnp.mean(jnp.logaddexp(z, 0.0) - y * z))

    return jax.numpy.asarray(WEIGHTS), loss


@cache
def _value_and_grad():
    import jax

    return jax.jit(jax.value_and_grad(weights_and_loss()[1]))


def jask(paths, out):
    import jask

    x, y = jask.open(paths["x"]), jask.open(paths["label"])
    value, slope = _value_and_grad()(WEIGHTS, x, y)
    return {"value": np.asarray(value), "gradient": np.asarray(slope)}


def dask(paths, out):
    import dask
    import dask.array as da

    x = dask_array(paths["x"])
    y = dask_array(paths["label"], x.chunks[:1])
    z = x @ WEIGHTS
    value = (da.logaddexp(z, np.float32(0)) - y * z).mean()
    slope = (1 / (1 + da.exp(-z)) - y) @ x / len(x)
    value, slope = dask.compute(value, slope)
    return {"value": value, "gradient": slope}


def cubed(paths, out):
    import cubed
    import cubed.array_api as xp

    x = cubed_array(paths["x"], out)
    y = cubed_array(paths["label"], out, x.chunksize[:1])
    z = xp.matmul(x, xp.asarray(WEIGHTS, spec=x.spec))
    zero, one = (xp.asarray(v, dtype=xp.float32, spec=x.spec) for v in (0, 1))
    value = xp.mean(xp.logaddexp(z, zero) - y * z)
    slope = xp.matmul(one / (one + xp.exp(-z)) - y, x)
    value, slope = cubed.compute(value, slope)
    return {"value": value, "gradient": slope / x.shape[0]}


def blosc2(paths, out):
    import blosc2

    x, y = blosc2_array(paths["x"]), blosc2_array(paths["label"])
    z = blosc2.tensordot(x, blosc2.asarray(WEIGHTS), axes=([1], [0]))
    losses = blosc2.log1p(blosc2.exp(-abs(z))) + (z + abs(z)) / 2 - y * z
    value = losses[:].mean(
        dtype=np.float64
    )  # the mean of the expression itself crashes
    residual = (1 / (1 + blosc2.exp(-z)) - y).compute()
    slope = blosc2.tensordot(residual, x, axes=([0], [0]))[:] / x.shape[0]
    return {"value": value, "gradient": slope}
