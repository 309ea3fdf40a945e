"""What several families of rules need: wide types, extreme values, run-time crops."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.trace.ir import Equation

type DType = np.dtype[Any]


def wide(dtype: DType) -> DType:
    """Return the type in which sums over blocks of this type are kept.

    Examples
    --------
    >>> wide(np.dtype("float32")), wide(np.dtype("float16")), wide(np.dtype("int8"))
    (dtype('float64'), dtype('float32'), dtype('int8'))
    """
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return np.dtype(np.complex128)
    if not jnp.issubdtype(dtype, jnp.floating):
        return dtype
    return np.dtype(np.float32 if dtype.itemsize < 4 else np.float64)


def at_least_single(dtype: DType) -> DType:
    """Return float32 for narrower floats, any other type as it is.

    Examples
    --------
    >>> at_least_single(np.dtype("float16")), at_least_single(np.dtype("int8"))
    (dtype('float32'), dtype('int8'))
    """
    narrow = jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize < 4
    return np.dtype(np.float32) if narrow else dtype


def lowest(dtype: DType) -> Any:
    """Return the identity of max, as a NumPy scalar of this type.

    Examples
    --------
    >>> lowest(np.dtype("int8")), lowest(np.dtype("float32")), lowest(np.dtype(bool))
    (np.int8(-128), np.float32(-inf), np.False_)
    """
    return _extreme(dtype, sign=-1)


def highest(dtype: DType) -> Any:
    """Return the identity of min, as a NumPy scalar of this type.

    Examples
    --------
    >>> highest(np.dtype("uint8")), highest(np.dtype("float32"))
    (np.uint8(255), np.float32(inf))
    """
    return _extreme(dtype, sign=1)


def _extreme(dtype: DType, *, sign: int) -> Any:
    if dtype == np.bool_:
        return np.bool_(sign > 0)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return dtype.type(complex(sign * np.inf, sign * np.inf))
    if jnp.issubdtype(dtype, jnp.floating):
        with np.errstate(all="ignore"):
            infinite = np.asarray(sign * np.inf).astype(dtype)
        if np.isinf(infinite.astype(np.float64)):
            return infinite[()]
        finite = jnp.finfo(dtype)  # float8 types without infinity
        return dtype.type(finite.max if sign > 0 else finite.min)
    whole = jnp.iinfo(dtype)
    return dtype.type(whole.max if sign > 0 else whole.min)


def extreme(block: Any, axes: Sequence[int], *, largest: bool) -> Any:
    """Return the largest or smallest elements along axes; NaN where there is one.

    XLA's own reductions on a CPU lose NaN in blocks of some shapes.

    Examples
    --------
    >>> extreme(jnp.array([[1.0, jnp.nan], [2.0, 3.0]]), (1,), largest=True).tolist()
    [nan, 3.0]
    """
    value = (lax.reduce_max if largest else lax.reduce_min)(block, tuple(axes))
    if not jnp.issubdtype(block.dtype, jnp.floating):
        return value

    def marked(block: Any, value: Any) -> Any:
        lost = (block != block).astype(np.int8)  # noqa: PLR0124 - true for NaN only
        lost = lax.reduce_max(lost, tuple(axes)) > 0  # bytes: faster than `reduce_or`
        return jnp.where(lost, jnp.full_like(value, jnp.nan), value)

    if block.dtype.itemsize < 4:
        return marked(block, value)
    total = lax.reduce_sum(block, tuple(axes))  # is NaN if any element is: a fast test
    suspect = jnp.any(total != total)  # noqa: PLR0124 (is it NaN?)
    return lax.cond(suspect, marked, lambda _, value: value, block, value)


def crop(block: Any, starts: Sequence[Any], shape: Sequence[int]) -> Any:
    """Cut a block of `shape` out of `block` at run-time starts.

    Examples
    --------
    >>> import jax
    >>> with jax.enable_x64(True):
    ...     crop(jnp.arange(5), [2], (3,)).tolist()
    [2, 3, 4]
    """
    if block.shape == tuple(shape):
        return block
    return lax.dynamic_slice(block, [jnp.asarray(s, np.int64) for s in starts], shape)


def crop_axis(block: Any, start: Any, size: int, axis: int) -> Any:
    """Cut `size` elements along one axis at a run-time start.

    Examples
    --------
    >>> import jax
    >>> with jax.enable_x64(True):
    ...     crop_axis(jnp.arange(6).reshape(2, 3), 1, 2, axis=1).tolist()
    [[1, 2], [4, 5]]
    """
    if block.shape[axis] == size:
        return block
    return lax.dynamic_slice_in_dim(block, jnp.asarray(start, np.int64), size, axis)


def boxed(eqn: Equation, boxes: Sequence[Box | None]) -> tuple[Box | None, ...]:
    """Return these boxes, one per operand, with None for operands without elements."""
    return tuple(
        None if 0 in atom.shape else box
        for atom, box in zip(eqn.inputs, boxes, strict=True)
    )


SCALAR = Box((), ())
"""The box of an operand without axes."""
