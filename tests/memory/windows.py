"""Families of `child.py`: convolutions, pooling, and their gradients."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np

import jask
import jask.numpy as jnp


def _images(x: Any) -> Any:
    return jax.numpy.reshape(x[: x.size // 65_536 * 65_536], (-1, 4, 128, 128))


def _convolved(x: Any) -> Any:
    w = jax.numpy.ones((4, 4, 3, 3), "float32")
    return jax.lax.conv_general_dilated(_images(x), w, (1, 1), "SAME")


def _kernel_gradient(x: Any) -> Any:
    def loss(w: Any) -> Any:
        out = jax.lax.conv_general_dilated(_images(x), w, (1, 1), "SAME")
        return jax.numpy.mean(out * out)

    return jax.grad(loss)(jax.numpy.ones((4, 4, 3, 3), "float32"))


def _pooled(x: Any) -> Any:
    size, strides = (1, 1, 3, 3), (1, 1, 2, 2)
    return jax.lax.reduce_window(
        _images(x), -np.inf, jax.lax.max, size, strides, "SAME"
    )


FAMILIES: dict[str, Callable[[Any], Any]] = {
    "convolution": jask.lift(_convolved),
    "convolution, gradient of the kernel": jask.lift(_kernel_gradient),
    "convolution of a line": lambda x: jnp.convolve(x, np.ones(9, "float32")),
    "pooling": jask.lift(_pooled),
    "pooling, gradient": jask.lift(jax.grad(lambda x: jax.numpy.mean(_pooled(x)))),
}
