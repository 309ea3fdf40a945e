"""Kernels of running results: pure functions of in-memory arrays.

What JAX makes of the derivative of a running product (or maximum, ...) is a tree of
slices. Here it is a linear recurrence, which streams: with `y[k] = f(y[k - 1], x[k])`,

    dy[k] = f1(y[k - 1], x[k]) * dy[k - 1] + f2(y[k - 1], x[k]) * dx[k]

where `f1` and `f2` are the partial derivatives of the function that is accumulated, as
JAX has them. A zero among the factors, or a tie of maxima, is no special case.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jask._primitives import linear_recurrence, previous

__all__ = ["FUNCTIONS", "cumprod", "cumulative", "nancumprod", "running"]

type Value = Any

FUNCTIONS: dict[str, tuple[Callable[..., Value], Callable[[Value, int], Value]]] = {
    "logaddexp": (jnp.logaddexp, lax.cumlogsumexp),
    "maximum": (jnp.maximum, lax.cummax),
    "minimum": (jnp.minimum, lax.cummin),
    "multiply": (lax.mul, lax.cumprod),
}
"""Functions of two elements, and what accumulates them."""


def running(name: str, x: Value, axis: int) -> Value:
    """Return what one of the functions makes of each element and those before it."""
    if jnp.issubdtype(x.dtype, jnp.inexact):
        return _running(name, x, axis)
    return FUNCTIONS[name][1](x, axis)


@partial(jax.custom_jvp, nondiff_argnums=(0, 2))
def _running(name: str, x: Value, axis: int) -> Value:
    return FUNCTIONS[name][1](x, axis)


@_running.defjvp
def _moved(name: str, axis: int, primals: Any, tangents: Any) -> tuple[Value, Value]:
    """Return the running result and its tangent, by the recurrence."""
    (x,), (dx,) = primals, tangents
    y = _running(name, x, axis)
    before, function = previous(y, axis), FUNCTIONS[name][0]
    _, factor = jax.jvp(lambda b: function(b, x), (before,), (jnp.ones_like(x),))
    _, own = jax.jvp(lambda x: function(before, x), (x,), (dx,))
    follows = previous(jnp.ones(x.shape, bool), axis)  # False for the first
    factor = jnp.where(follows, factor, jnp.zeros_like(x))
    own = jnp.where(follows, own, dx)
    return y, linear_recurrence(factor, own, axis)


@wraps(jnp.cumprod)
def cumprod(
    a: Value, axis: int | None = None, dtype: Any = None, out: None = None
) -> Value:
    return _product(jnp.cumprod, a, axis=axis, dtype=dtype, out=out)


@wraps(jnp.nancumprod)
def nancumprod(
    a: Value, axis: int | None = None, dtype: Any = None, out: None = None
) -> Value:
    return _product(jnp.nancumprod, a, axis=axis, dtype=dtype, out=out)


def _product(model: Any, a: Value, *, axis: int | None, **options: Any) -> Value:
    """Return running products, of the dtype that `jax.numpy`'s function returns."""
    made = jax.eval_shape(partial(model, axis=axis, **options), a)
    if not jnp.issubdtype(made.dtype, jnp.inexact):
        return model(a, axis=axis, **options)
    if model is jnp.nancumprod:
        a = jnp.where(jnp.isnan(a), jnp.ones((), a.dtype), a)
    a = a.astype(made.dtype)
    if axis is None or a.ndim == 0:
        a, axis = a.reshape(-1), 0
    return running("multiply", a, axis % a.ndim)


def cumulative(
    x: Value, *, axis: int, dtype: Any, include_initial: bool, product: bool
) -> Value:
    """Return running sums or products, in the default integer for small integers."""
    x = x.astype(dtype)
    out = running("multiply", x, axis) if product else jnp.cumsum(x, axis=axis)
    if include_initial:
        shape = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
        first = jnp.full(shape, 1 if product else 0, dtype)
        out = jnp.concatenate([first, out], axis=axis)
    return out
