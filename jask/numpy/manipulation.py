"""Manipulation functions of the standard: other shapes and orders of values."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jask.numpy import _kernels
from jask.numpy._table import (
    Array,
    Axis,
    Operand,
    axes_tuple,
    axis_index,
    call,
    check_operand,
    ndim_of,
    shape_of,
)
from jask.numpy.creation import ShapeLike, shape_tuple


def broadcast_arrays(*arrays: Operand) -> tuple[Array, ...]:
    """Repeat arrays along axes of length one until their shapes agree.

    Parameters
    ----------
    *arrays : array
        Their shapes must broadcast.

    Returns
    -------
    tuple of arrays
        Lazy; nothing is copied.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> x, y = jnp.broadcast_arrays(jnp.zeros((3, 1)), jnp.zeros(4))
    >>> x.shape, y.shape
    ((3, 4), (3, 4))
    """
    shape = broadcast_shapes(*map(shape_of, arrays))
    return tuple(broadcast_to(x, shape) for x in arrays)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to.

    Parameters
    ----------
    *shapes : tuple of ints
        Aligned at their ends; lengths must agree or be one.

    Returns
    -------
    tuple of ints
        The common shape.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    return tuple(np.broadcast_shapes(*shapes))


def broadcast_to(x: Operand, /, shape: ShapeLike) -> Array:
    """Repeat an array along axes of length one and new leading axes.

    Parameters
    ----------
    x : array
        The operand.
    shape : tuple of ints
        The target.

    Returns
    -------
    array
        Lazy; nothing is copied.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.broadcast_to(jnp.zeros(4), (3, 4)).shape
    (3, 4)
    """
    target = shape_tuple("broadcast_to", shape)
    return call(jnp.broadcast_to, x, name="broadcast_to", shape=target)


def expand_dims(x: Operand, /, axis: Axis) -> Array:
    """Add axes of length one.

    Parameters
    ----------
    x : array
        The operand.
    axis : int or tuple of ints
        Where they are in the result.

    Returns
    -------
    array
        Lazy; nothing is copied.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.expand_dims(jnp.zeros((3, 4)), axis=1).shape
    (3, 1, 4)
    """
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    where = axes_tuple(axis, ndim_of(x) + count)
    return call(jnp.expand_dims, x, name="expand_dims", axis=where)


def flip(x: Operand, /, axis: Axis = None) -> Array:
    """Reverse the order along axes.

    Parameters
    ----------
    x : array
        The operand.
    axis : int, tuple of ints or None
        Which axes; None: all.

    Returns
    -------
    array
        The shape and dtype of `x`.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.flip(jnp.asarray([1, 2, 3])))
    Array([3, 2, 1], dtype=int32)
    """
    return call(jnp.flip, x, name="flip", axis=axes_tuple(axis, ndim_of(x)))


def moveaxis(x: Operand, source: Axis, destination: Axis, /) -> Array:
    """Move axes to other places; the rest keep their order.

    Parameters
    ----------
    x : array
        The operand.
    source, destination : int or tuple of ints
        Where axes are and where they go.

    Returns
    -------
    array
        Lazy; nothing is copied.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    ndim = ndim_of(x)
    from_, to = axes_tuple(source, ndim) or (), axes_tuple(destination, ndim) or ()
    if len(from_) != len(to):
        msg = f"moveaxis: as many destinations as sources; got {source}, {destination}."
        raise ValueError(msg)
    return call(jnp.moveaxis, x, name="moveaxis", source=from_, destination=to)


def permute_dims(x: Operand, /, axes: Sequence[int]) -> Array:
    """Put the axes in another order.

    Parameters
    ----------
    x : array
        The operand.
    axes : tuple of ints
        Which axis of `x` each axis of the result is.

    Returns
    -------
    array
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.permute_dims(jnp.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    order = axes_tuple(tuple(axes), ndim_of(x)) or ()
    if len(order) != ndim_of(x):
        msg = f"permute_dims: must name each of {ndim_of(x)} axes; got {tuple(axes)}."
        raise ValueError(msg)
    return call(jnp.transpose, x, name="permute_dims", axes=order)


def transpose(x: Operand, /, axes: Sequence[int] | None = None) -> Array:
    """Put the axes in another order, by default the reverse.

    Parameters
    ----------
    x : array
        The operand.
    axes : tuple of ints, optional
        Which axis of `x` each axis of the result is.

    Returns
    -------
    array
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.transpose(jnp.zeros((2, 3, 4))).shape
    (4, 3, 2)
    """
    return permute_dims(x, range(ndim_of(x))[::-1] if axes is None else axes)


def swapaxes(x: Operand, axis1: int, axis2: int) -> Array:
    """Exchange two axes.

    Parameters
    ----------
    x : array
        The operand.
    axis1, axis2 : int
        Which.

    Returns
    -------
    array
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.swapaxes(jnp.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    ndim = ndim_of(x)
    order = list(range(ndim))
    a, b = axis_index(axis1, ndim), axis_index(axis2, ndim)
    order[a], order[b] = b, a
    return permute_dims(x, order)


def reshape(
    x: Operand, /, shape: ShapeLike, order: str = "C", *, copy: Any = None
) -> Array:
    """Return the same elements in the same order, in another shape.

    Parameters
    ----------
    x : array
        The operand.
    shape : int or tuple of ints
        The target; one length may be -1 and is worked out.
    order : {"C", "F", "A", "K"}
        Which index runs fastest, of both shapes: the last ("C"; "A" and "K" are the
        same here) or the first ("F").
    copy : bool, optional
        For compatibility; arrays are immutable.

    Returns
    -------
    array
        The dtype of `x`.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.reshape(jnp.zeros((3, 4)), (2, -1)).shape
    (2, 6)
    """
    del copy
    if order not in ("C", "F", "A", "K"):
        msg = f"reshape: the order must be 'C', 'F', 'A' or 'K'; got {order!r}."
        raise ValueError(msg)
    target = _resolved(shape_of(check_operand("reshape", x)), shape)
    if order == "F":
        turned = reshape(transpose(x), target[::-1])
        return transpose(turned)
    return call(_kernels.reshape, x, name="reshape", shape=target)


def _resolved(old: tuple[int, ...], shape: ShapeLike) -> tuple[int, ...]:
    """Return a shape without -1; ValueError where the counts do not agree."""
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    new = [operator.index(n) for n in entries]
    size = math.prod(old)
    known = math.prod(n for n in new if n != -1)
    if new.count(-1) == 1 and known and size % known == 0:
        new[new.index(-1)] = size // known
    if min(new, default=0) < 0 or math.prod(new) != size:
        msg = (
            f"reshape: cannot make {tuple(entries)} of {size} elements of shape {old}."
        )
        raise ValueError(msg)
    return tuple(new)


def ravel(x: Operand, /, order: str = "C") -> Array:
    """All elements along one axis.

    Parameters
    ----------
    x : array
        The operand.
    order : {"C", "F", "A", "K"}
        As for `reshape`.

    Returns
    -------
    array
        The dtype of `x`.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.ravel(jnp.zeros((3, 4))).shape
    (12,)
    """
    return reshape(x, (-1,), order)


def roll(x: Operand, /, shift: int | Sequence[int], axis: Axis = None) -> Array:
    """Move elements along axes; what leaves at the end enters at the start.

    Parameters
    ----------
    x : array
        The operand.
    shift : int or tuple of ints
        How far, per axis.
    axis : int, tuple of ints or None
        Which axes; None: flatten, roll, and restore the shape.

    Returns
    -------
    array
        The shape and dtype of `x`.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.roll(jnp.asarray([1, 2, 3]), 1))
    Array([3, 1, 2], dtype=int32)
    """
    shifts = tuple(shift) if isinstance(shift, (tuple, list)) else (shift,)
    by = tuple(operator.index(s) for s in shifts)
    if axis is None:
        flat = call(_kernels.roll, ravel(x), name="roll", shift=(sum(by),), axis=(0,))
        return reshape(flat, shape_of(x))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    where = tuple(axis_index(a, ndim_of(x)) for a in axes)
    if len(by) == 1:
        by *= len(where)
    if len(where) == 1:
        by = (sum(by),)
    if len(by) != len(where):
        msg = f"roll: needs one shift per axis; got {shift} for {axis}."
        raise ValueError(msg)
    return call(_kernels.roll, x, name="roll", shift=by, axis=where)


def squeeze(x: Operand, /, axis: Axis = None) -> Array:
    """Drop axes of length one.

    Parameters
    ----------
    x : array
        The operand.
    axis : int, tuple of ints or None
        Which; None: all of them. An axis of another length is a ValueError.

    Returns
    -------
    array
        Lazy; nothing is copied.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.squeeze(jnp.zeros((3, 1, 4)), axis=1).shape
    (3, 4)
    """
    shape = shape_of(x)
    if axis is None:
        where = tuple(k for k, n in enumerate(shape) if n == 1)
    else:
        where = axes_tuple(axis, len(shape)) or ()
    if any(shape[a] != 1 for a in where):
        msg = f"squeeze: the axes {axis} of shape {shape} must have length one."
        raise ValueError(msg)
    return call(jnp.squeeze, x, name="squeeze", axis=where)


__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "expand_dims", "flip",
    "moveaxis", "permute_dims", "ravel", "reshape", "roll", "squeeze", "swapaxes",
    "transpose",
]  # fmt: skip
