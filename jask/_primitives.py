"""Primitives of our own, beside JAX's: each streams as one step of a pass.

1. `keyed_gamma` is our form, on numbers, of JAX's `random_gamma`.
2. `linear_recurrence` is what running products and their like become when they are
   differentiated. JAX makes trees of slices of them, which are programs of hundreds of
   kilobytes for a long axis and do not stream.
"""

from typing import Any

import jax.numpy as jnp
from jax import lax

from jask._jax import Primitive, ShapedArray, ad, batching, mlir

__all__ = ["keyed_gamma", "linear_recurrence", "previous"]

keyed_gamma = Primitive("keyed_gamma")
"""Draws from gamma distributions, each by a key of its own."""


def _keyed_gamma_type(keys: Any, a: Any, **_: Any) -> Any:  # noqa: ARG001 (it does not matter for the type)
    return ShapedArray(a.shape, a.dtype)


keyed_gamma.def_abstract_eval(_keyed_gamma_type)


linear_recurrence_p = Primitive("linear_recurrence")
"""The primitive of `linear_recurrence`."""


def linear_recurrence(a: Any, b: Any, axis: int, *, reverse: bool = False) -> Any:
    """Return `s` with `s[k] = a[k] * s[k - 1] + b[k]` along an axis; `s[-1]` is zero.

    `a` and `b` have one shape and one float or complex dtype, as the result has.
    `reverse` starts at the other end: `s[k] = a[k] * s[k + 1] + b[k]`.
    """
    return linear_recurrence_p.bind(a, b, axis=axis, reverse=reverse)


def _type(a: Any, b: Any, **_: Any) -> Any:
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    return ShapedArray(b.shape, b.dtype)


def _walked(a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    """Compute it in memory."""

    def step(s: Any, row: Any) -> Any:
        s = row[0] * s + row[1]
        return s, s

    rows = jnp.moveaxis(a, axis, 0), jnp.moveaxis(b, axis, 0)
    first = jnp.full(rows[1].shape[1:], -0.0, b.dtype)  # adding it changes no zero
    return jnp.moveaxis(lax.scan(step, first, rows, reverse=reverse)[1], 0, axis)


def _moved(primals: Any, tangents: Any, *, axis: int, reverse: bool) -> Any:
    """Differentiate: `ds[k] = a[k] * ds[k - 1] + (db[k] + da[k] * s[k - 1])`."""
    (a, b), (da, db) = primals, tangents
    s = linear_recurrence(a, b, axis, reverse=reverse)
    db = ad.instantiate_zeros(db)
    if not isinstance(da, ad.Zero):
        db = db + da * previous(s, axis, reverse=reverse)
    return s, linear_recurrence(a, db, axis, reverse=reverse)


def _transposed(ct: Any, a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    """Transpose in `b`: `c[k] = a[k + 1] * c[k + 1] + ct[k]`."""
    if isinstance(ct, ad.Zero):
        return None, ad.Zero(b.aval)
    next_a = previous(a, axis, reverse=not reverse)
    return None, linear_recurrence(next_a, ct, axis, reverse=not reverse)


def _batched(operands: Any, axes: Any, *, axis: int, reverse: bool) -> Any:
    size = next(
        x.shape[d] for x, d in zip(operands, axes, strict=True) if d is not None
    )
    a, b = (
        jnp.broadcast_to(x, (size, *x.shape)) if d is None else jnp.moveaxis(x, d, 0)
        for x, d in zip(operands, axes, strict=True)
    )
    return linear_recurrence(a, b, axis + 1, reverse=reverse), 0


def previous(x: Any, axis: int, *, reverse: bool = False) -> Any:
    """Return the element before each along an axis (after it, reversed); first, 0."""
    edges = [(0, 0, 0)] * x.ndim
    edges[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
    return lax.pad(x, jnp.zeros((), x.dtype), edges)


linear_recurrence_p.def_impl(_walked)
linear_recurrence_p.def_abstract_eval(_type)
ad.primitive_jvps[linear_recurrence_p] = _moved
ad.primitive_transposes[linear_recurrence_p] = _transposed
batching.primitive_batchers[linear_recurrence_p] = _batched
mlir.register_lowering(
    linear_recurrence_p, mlir.lower_fun(_walked, multiple_results=False)
)
