"""Kernels of the methods of ufuncs: pure functions of in-memory arrays.

`model` is a `jax.numpy.ufunc`. Its own methods do; where one is a loop over elements
and `lax` has a scan that streams, that is taken instead.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.numpy._cumulative import FUNCTIONS, running
from jask.numpy._kernels import full_key

type Value = Any


def called(*operands: Value, model: Any) -> Value:
    """Return what a function of scalars makes of arrays."""
    return model(*operands)


def reduced(
    a: Value, initial: Value, where: Value, *, model: Any, **more: Any
) -> Value:
    """Return elements along an axis combined."""
    if model is jnp.logaddexp and initial is not None:  # whose reduce wants its dtype
        initial = jnp.asarray(initial).astype(_made(model, a))
    return model.reduce(a, initial=initial, where=where, **more)


def _made(model: Any, a: Value) -> Any:
    """Return the dtype of a function of two elements."""
    one = jnp.ones((), a.dtype)
    return jax.eval_shape(model, one, one).dtype


def outer(a: Value, b: Value, *, model: Any) -> Value:
    """Return the function of all pairs."""
    a, b = jnp.asarray(a), jnp.asarray(b)
    return model(a.reshape(a.shape + (1,) * b.ndim), b)


def reduced_at(a: Value, indices: Value, *, model: Any, **more: Any) -> Value:
    """Return elements combined between indices."""
    return model.reduceat(a, indices, **more)


def updated(
    a: Value,
    arrays: tuple[Value, ...],
    values: tuple[Value, ...],
    *,
    model: Any,
    key: tuple[Any, ...],
) -> Value:
    """Return `a` with the function applied where indices say, one after another."""
    where = full_key(key, arrays)
    if arrays:
        return model.at(a, where, *values, inplace=False)
    made = model(jnp.asarray(a)[where], *values)  # each element once
    return jnp.asarray(a).astype(made.dtype).at[where].set(made)


def accumulated(a: Value, *, model: Any, axis: int, dtype: Any) -> Value:
    """Return what combining gives up to each element."""
    made = _made(model, a) if dtype is None else np.dtype(dtype)
    truth = made == np.bool_
    table = _OF_TRUTHS if truth else _OF_NUMBERS
    if jnp.issubdtype(made, jnp.complexfloating):
        table = _OF_COMPLEX
    scan = table.get(model.__name__)
    if scan is None:
        return model.accumulate(a, axis=axis, dtype=dtype)
    if truth:
        a = a != jnp.zeros((), a.dtype)
    found = scan(a.astype(np.int8 if truth else made), axis)
    return found.astype(made)


def _logarithm_of_sums_2(a: Value, axis: int) -> Value:
    """Return `logaddexp2` of what goes before and the element."""
    scale = np.log(2.0)
    return running("logaddexp", a * scale, axis) / scale


def _parity(a: Value, axis: int) -> Value:
    """Return whether the number of ones up to an element is odd.

    Their sum may wrap, which leaves its parity as it is.
    """
    return lax.cumsum(a, axis) % 2


_OF_NUMBERS: dict[str, Callable[[Value, int], Value]] = {
    **{name: partial(running, name) for name in FUNCTIONS},
    "logaddexp2": _logarithm_of_sums_2,
}
"""Scans in the place of the models' loops, of numbers that are not complex."""

_OF_COMPLEX = {"multiply": _OF_NUMBERS["multiply"]}
"""Scans of complex numbers: of them JAX has no other."""

_OF_TRUTHS: dict[str, Callable[[Value, int], Value]] = {
    "logical_and": lax.cummin,
    "logical_or": lax.cummax,
    "logical_xor": _parity,
    "maximum": lax.cummax,
    "minimum": lax.cummin,
}
"""Scans of truth values, as ones and zeros."""
