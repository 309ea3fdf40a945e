"""What a jitted training step costs on a file of 256 kB: 1000 steps, so ms a step.

A step is `jax.jit` of value_and_grad and a descent; the data of the expert, who runs
the same step with jax.numpy, are in memory. The difference is jask's overhead.
"""

from functools import cache

import numpy as np
from expert import NpyIn

TITLE = "1000 jitted steps of logistic regression on 1000 x 64"
RTOL = 1e-3
STEPS = 1000
ROWS, COLUMNS = 1000, 64
RATE = np.float32(0.5)


def shapes(_size):
    return {"x": (ROWS, COLUMNS), "label": (ROWS,)}


def least(_shapes):
    return STEPS * 4 * ROWS * (COLUMNS + 1), 0


def reference(paths):
    x, y = (np.load(paths[n]).astype(np.float64) for n in ("x", "label"))
    w, value = np.zeros(COLUMNS), 0.0
    for _ in range(STEPS):
        z = x @ w
        value = (np.logaddexp(0, z) - y * z).mean()
        w = w - np.float64(RATE) * ((1 / (1 + np.exp(-z)) - y) @ x) / ROWS
    return {"value": np.float64(value), "weights": w}


def _descent(loss):
    import jax

    @jax.jit
    def step(w, x, y):
        value, slope = jax.value_and_grad(loss)(w, x, y)
        return value, w - RATE * slope

    return step


def _run(step, x, y):
    import jax

    w = jax.numpy.zeros(COLUMNS, "float32")
    for _ in range(STEPS):
        value, w = step(w, x, y)
    return {"value": np.asarray(value), "weights": np.asarray(w)}


@cache
def _in_memory():
    import jax.numpy as jnp

    def loss(w, x, y):
        z = x @ w
        return jnp.mean(jnp.logaddexp(z, 0.0) - y * z)

    return _descent(loss)


def expert(paths, out):
    import jax

    arrays = []
    for name, shape in shapes(0).items():
        values = np.empty(shape, np.float32)
        source = NpyIn(paths[name])
        source.read(values, 0)
        source.close()
        arrays.append(jax.numpy.asarray(values))
    return _run(_in_memory(), *arrays)


@cache
def _on_disk():
    import jask
    import jask.numpy as jnp

    def loss(w, x, y):
        z = x @ w
        return jask.materialize(jnp.mean(jnp.logaddexp(z, 0.0) - y * z))

    return _descent(loss)


def jask(paths, out):
    import jask

    return _run(_on_disk(), jask.open(paths["x"]), jask.open(paths["label"]))
