"""Kernels of `x.at[key].method(values)`: pure functions of in-memory arrays."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jask.numpy._kernels import full_key
from jask.numpy._keys import Basic

type Value = Any

_COMBINE: dict[str, Callable[..., Any]] = {
    "add": jnp.add,
    "subtract": jnp.subtract,
    "multiply": jnp.multiply,
    "divide": jnp.divide,
    "power": jnp.power,
    "min": jnp.minimum,
    "max": jnp.maximum,
}


def combined(x: Value, values: Value, method: str) -> Value:
    """Return `x` and values of its shape combined, in the dtype of `x`."""
    if method == "set":
        return values.astype(x.dtype)
    return _COMBINE[method](x, values).astype(x.dtype)


def promoted(x: Value, values: Value, method: str) -> Value:
    """Return values in the dtype in which they meet those of `x`.

    A Python number takes that of `x`, before it is broadcast and looks like an array.
    """
    values = jnp.asarray(values)
    return values.astype(x.dtype if method == "set" else jnp.result_type(x, values))


def sliced(x: Value, values: Value, *, part: Basic, method: str) -> Value:
    """Return `x` updated where a key without arrays selects.

    The values are spread to the shape of `x` by padding; what the key selects comes
    from them and the rest from `x`.
    """
    values = jnp.broadcast_to(promoted(x, values, method), part.shape)
    values = lax.reshape(values, part.taken)
    if part.backwards:
        values = lax.rev(values, part.backwards)
    if 0 in part.taken:
        return x
    rows = zip(part.start, part.limit, part.stride, x.shape, strict=True)
    edges = [(low, n - high, step - 1) for low, high, step, n in rows]
    spread = lax.pad(values, jnp.zeros((), values.dtype), edges)
    return jnp.where(_selected(part, x.shape), combined(x, spread, method), x)


def _selected(part: Basic, shape: tuple[int, ...]) -> Value:
    """Return where a key without arrays selects, in the shape of the array."""
    mask = jnp.ones(shape, bool)
    rows = zip(part.start, part.limit, part.stride, shape, strict=True)
    for axis, (low, high, step, n) in enumerate(rows):
        if (low, high, step) == (0, n, 1):
            continue
        i = lax.broadcasted_iota(jnp.int64, shape, axis)
        mask &= (i >= low) & (i < high)
        if step > 1:
            mask &= (i - low) % step == 0
    return mask


def masked(x: Value, mask: Value, values: Value, *, method: str) -> Value:
    """Return `x` updated where a mask of its leading axes is true."""
    mask = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))
    values = jnp.broadcast_to(promoted(x, values, method), x.shape)
    return jnp.where(jnp.broadcast_to(mask, x.shape), combined(x, values, method), x)


def scattered(
    x: Value,
    values: Value,
    arrays: tuple[Value, ...],
    *,
    key: tuple[Any, ...],
    method: str,
    options: tuple[tuple[str, Any], ...] = (),
) -> Value:
    """Return `x` updated at index arrays."""
    dtype = x.dtype
    if method in ("set", "min", "max"):
        values = promoted(x, values, method)
        x = x.astype(values.dtype)
    update = getattr(x.at[full_key(key, arrays)], method)
    return update(values, **dict(options)).astype(dtype)


def applied(
    x: Value,
    arrays: tuple[Value, ...],
    *,
    key: tuple[Any, ...],
    function: Any,
    options: tuple[tuple[str, Any], ...] = (),
) -> Value:
    """Return `x` with a function applied to the elements at a key."""
    return x.at[full_key(key, arrays)].apply(function, **dict(options))


@functools.wraps(jnp.put_along_axis)
def put_along_axis(
    arr: Value,
    indices: Value,
    values: Value,
    axis: int | None,
    inplace: bool = True,  # noqa: FBT001, FBT002 - jax.numpy's signature
    *,
    mode: str | None = None,
) -> Value:
    """Return `arr` with values at one index for each line along an axis.

    Mapped over the lines, so that a tile needs its own indices only; `jax.numpy`
    numbers the lines, which could be any.
    """
    if inplace or axis is None or not _meets(arr, indices, values, axis):
        return jnp.put_along_axis(arr, indices, values, axis, inplace, mode=mode)
    lines, places = jnp.moveaxis(arr, axis, -1), jnp.moveaxis(indices, axis, -1)
    shape = list(arr.shape)
    shape[axis] = places.shape[-1]
    values = jnp.moveaxis(jnp.broadcast_to(values, shape), axis, -1)
    places = jnp.broadcast_to(places, values.shape)

    def put(line: Value, places: Value, values: Value) -> Value:
        return line.at[places].set(values, mode=mode)

    for _ in range(arr.ndim - 1):
        put = jax.vmap(put)
    return jnp.moveaxis(put(lines, places, values.astype(arr.dtype)), -1, axis)


def _meets(arr: Value, indices: Value, values: Value, axis: int) -> bool:
    """Return whether there is such an axis, and indices broadcast along the others."""
    given = jnp.shape(values)
    if jnp.broadcast_shapes(given, indices.shape) != indices.shape:
        return False
    if indices.ndim != arr.ndim or not -arr.ndim <= axis < arr.ndim:
        return False
    if not jnp.issubdtype(indices.dtype, jnp.integer):
        return False
    pairs = zip(indices.shape, arr.shape, strict=True)
    others = [a in (1, b) for a, b in pairs]
    others[axis] = True
    return all(others)
