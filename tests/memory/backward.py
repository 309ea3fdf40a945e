"""Backward passes over large files, for the memory tests: gradients by name.

Each takes the vector that is the file and returns lazy gradients: of the file, or of a
part of it, and of parameters.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import jask
import jask.numpy as jnp

__all__ = ["FAMILIES"]

WIDTH = 256
RNG = np.random.default_rng(0)


def _rows(x: Any) -> Any:
    return jnp.reshape(x, (-1, WIDTH))


def _weights(*shape: int) -> Any:
    return jask.from_numpy(RNG.normal(size=shape).astype("float32") / shape[0])


def _perceptron(x: Any) -> Any:
    def loss(v: Any, u: Any, rows: Any) -> Any:
        return jnp.mean(jnp.square(jnp.tanh(rows @ v) @ u - 1))

    return jax.grad(loss, (0, 1, 2))(_weights(WIDTH, 32), _weights(32), _rows(x))


def _cross_entropy(x: Any) -> Any:
    classes = np.arange(16, dtype="float32")
    log_softmax = jask.lift(jax.nn.log_softmax)

    def loss(v: Any, rows: Any) -> Any:
        wanted = rows[:, :1] == classes
        return -jnp.mean(jnp.where(wanted, log_softmax(rows @ v), 0))

    return jax.grad(loss, (0, 1))(_weights(WIDTH, 16), _rows(x))


def _product(x: Any) -> Any:
    side = int((x.size // 2) ** 0.5) // 16 * 16
    tall = jnp.reshape(x[: side * side // 16], (side, side // 16))
    wide = jnp.reshape(x[: side * side // 32], (side // 16, side // 2))

    def loss(a: Any, b: Any) -> Any:
        return jnp.sum(jnp.square(a @ b))

    return jax.grad(loss, (0, 1))(tall, wide)


def _bend(x: Any) -> Any:
    return jnp.sum(jnp.square(x[2:] - 2 * x[1:-1] + x[:-2]))


def _sorted(x: Any) -> Any:
    return jnp.sum(jnp.sort(_rows(x), axis=1) * np.arange(WIDTH, dtype="float32"))


def _taken(x: Any) -> Any:
    return jnp.sum(jnp.square(_rows(x)[np.arange(0, 250, 7)] + 1))


def _scattered(x: Any) -> Any:
    rows = _rows(x)
    places = np.arange(0, 250, 7)
    sums = jnp.zeros((256, WIDTH), dtype="float32").at[places].add(rows[: len(places)])
    return jnp.sum(jnp.square(sums)) + jnp.sum(jnp.square(x))


def _carried(x: Any) -> Any:
    last, _ = jax.lax.scan(
        lambda z, _: (jnp.tanh(z + 1) * np.float32(0.5), None), x, None, length=3
    )
    return jnp.sum(last)


def _checkpointed(x: Any) -> Any:
    step = jax.checkpoint(lambda z: jnp.sin(jnp.sin(z) * z))
    return jnp.sum(step(step(x)))


def _walked(x: Any) -> Any:
    def step(mean: Any, row: Any) -> Any:
        mean = mean * np.float32(0.9) + row
        return mean, None

    last, _ = jask.scan(step, jax.numpy.zeros(WIDTH, "float32"), _rows(x))
    return jnp.sum(jnp.square(last))


def _chained(x: Any) -> Any:
    n = 1200 if x.size > 6 * 1200**2 else 80
    a, *others = (jnp.reshape(x[k * n * n : (k + 1) * n * n], (n, n)) for k in range(6))
    for b in others:
        a = a @ b
    return jnp.sum(jnp.sin(a))


FAMILIES: dict[str, Callable[[Any], Any]] = {
    "back: perceptron": _perceptron,
    "back: softmax cross entropy": _cross_entropy,
    "back: product of two files": _product,
    "back: cumulative sum": jax.grad(
        lambda x: jnp.sum(jnp.square(jnp.cumulative_sum(_rows(x), axis=0)))
    ),
    "back: cumulative product": jax.grad(
        lambda x: jnp.sum(jnp.square(jnp.cumulative_prod(_rows(x) + 1, axis=0)))
    ),
    "back: maxima so far": jax.grad(
        lambda x: jnp.sum(jnp.square(jnp.maximum.accumulate(_rows(x), 0)))
    ),
    "back: sort of rows": jax.grad(_sorted),
    "back: stencil": jax.grad(_bend),
    "back: products of rows": jax.grad(lambda x: jnp.sum(jnp.prod(_rows(x), axis=1))),
    "back: maxima of columns": jax.grad(lambda x: jnp.sum(jnp.max(_rows(x), axis=0))),
    "back: rows by an index array": jax.grad(_taken),
    "back: rows added by an index array": jax.grad(_scattered),
    "back: a carry on disk": jax.grad(_carried),
    "back: chain of products": jax.grad(_chained),
    "back: checkpoint": jax.grad(_checkpointed),
    "back: scan of rows": jax.grad(_walked),
    "back: second order": lambda x: jax.jvp(
        jax.grad(lambda x: jnp.sum(jnp.tanh(x) * x)), (x,), (x,)
    )[1],
}
