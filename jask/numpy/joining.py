"""Manipulation functions that join, split and repeat arrays."""

import operator
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jask.numpy import _kernels
from jask.numpy._engine import fetch
from jask.numpy._table import (
    Array,
    Operand,
    axis_index,
    call,
    check_arrays,
    check_out,
    ndim_of,
    shape_of,
)
from jask.numpy.creation import shape_tuple
from jask.numpy.manipulation import reshape


def concat(arrays: Sequence[Operand], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis they have.

    Parameters
    ----------
    arrays : tuple or list of arrays
        Their other axes must agree. They are promoted first.
    axis : int or None
        Where to join; None: flatten each first.

    Returns
    -------
    array
        The promoted dtype.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.concat([jnp.asarray([1, 2]), jnp.asarray([3])]))
    Array([1, 2, 3], dtype=int32)
    """
    known = check_arrays("concat", arrays)
    if axis is None:
        known = [reshape(x, (-1,)) for x in known]
    where = axis_index(0 if axis is None else axis, ndim_of(known[0]))
    return call(_kernels.concat, known, name="concat", axis=where)


def concatenate(
    arrays: Sequence[Operand], axis: int | None = 0, dtype: Any = None
) -> Array:
    """Join arrays along an axis they have; `concat` by NumPy's name.

    Parameters
    ----------
    arrays : tuple or list of arrays
        Their other axes must agree. They are promoted first.
    axis : int or None
        Where to join; None: flatten each first.
    dtype : dtype, optional
        Of the result.

    Returns
    -------
    array
        The promoted dtype.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.concatenate([jnp.asarray([1, 2]), jnp.asarray([3])]))
    Array([1, 2, 3], dtype=int32)
    """
    out = concat(arrays, axis=axis)
    return out if dtype is None else out.astype(dtype)


def stack(
    arrays: Sequence[Operand],
    /,
    axis: int = 0,
    dtype: Any = None,
    *,
    out: None = None,
) -> Array:
    """Join arrays along a new axis.

    Parameters
    ----------
    arrays : tuple or list of arrays
        Of one shape. They are promoted first.
    axis : int
        Where the new axis is in the result.
    dtype : dtype, optional
        Of the result.
    out : None
        For compatibility: arrays are immutable.

    Returns
    -------
    array
        The promoted dtype.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.stack([jnp.zeros(3), jnp.ones(3)]).shape
    (2, 3)
    """
    check_out("stack", out)
    known = check_arrays("stack", arrays)
    where = axis_index(axis, ndim_of(known[0]) + 1)
    found = call(_kernels.stack, known, name="stack", axis=where)
    return found if dtype is None else found.astype(dtype)


def unstack(x: Operand, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices along an axis, which the results no longer have.

    Parameters
    ----------
    x : array
        The operand.
    axis : int
        Which.

    Returns
    -------
    tuple of arrays
        Lazy; nothing is copied.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> [y.shape for y in jnp.unstack(jnp.zeros((2, 3)))]
    [(3,), (3,)]
    """
    where = axis_index(axis, ndim_of(x))
    return tuple(call(_kernels.unstack, x, name="unstack", axis=where))


def repeat(
    x: Operand,
    repeats: Operand,
    /,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
) -> Array:
    """Repeat each element.

    Parameters
    ----------
    x : array
        The operand.
    repeats : int or array
        How often each; an array of counts is evaluated at the call.
    axis : int or None
        Where; None: flatten first.
    total_repeat_length : int, optional
        The length of the result, fixed, so that counts need not be known: cut off, or
        filled up with the last element.

    Returns
    -------
    array
        The dtype of `x`.
        Reads nothing until a value is asked for; then streams for one count.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.repeat(jnp.asarray([1, 2]), 2))
    Array([1, 1, 2, 2], dtype=int32)
    """
    value = x if axis is not None and ndim_of(x) else reshape(x, (-1,))
    where = axis_index(0 if axis is None else axis, ndim_of(value))
    if total_repeat_length is not None:
        length = operator.index(total_repeat_length)
        counts = np.asarray(repeats) if isinstance(repeats, (list, tuple)) else repeats
        kernel = _kernels.repeat_to
        return call(kernel, value, counts, name="repeat", axis=where, length=length)
    if not hasattr(repeats, "shape") and not isinstance(repeats, (list, tuple)):
        count = operator.index(repeats)
        if count < 0:
            msg = f"repeat: counts must not be negative; got {count}."
            raise ValueError(msg)
        return call(_kernels.repeat, value, name="repeat", count=count, axis=where)
    counts = np.asarray(repeats) if isinstance(repeats, (list, tuple)) else repeats
    (known,) = fetch("repeat", counts)
    length = shape_of(value)[where]
    _check_counts(known, length)
    order = np.repeat(np.arange(length), np.broadcast_to(known, (length,)))
    return call(_kernels.take, value, order, name="repeat", axis=where)


def _check_counts(counts: np.ndarray[Any, Any], length: int) -> None:
    """Raise for counts that are not non-negative integers, one per element."""
    if counts.dtype.kind not in "iub":
        msg = f"repeat: counts must be integers; got {counts.dtype}."
        raise TypeError(msg)
    if counts.ndim > 1 or counts.size not in (1, length):
        msg = f"repeat: needs one count or {length}; got shape {counts.shape}."
        raise ValueError(msg)
    if (counts < 0).any():
        msg = "repeat: counts must not be negative."
        raise ValueError(msg)


def tile(x: Operand, repetitions: int | Sequence[int], /) -> Array:
    """Repeat an array as a whole along its axes.

    Parameters
    ----------
    x : array
        The operand.
    repetitions : int or tuple of ints
        How often along each axis, aligned at the end.

    Returns
    -------
    array
        The dtype of `x`.
        Reads nothing until a value is asked for; then streams.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.tile(jnp.zeros((2, 3)), (2, 1)).shape
    (4, 3)
    """
    times = shape_tuple("tile", repetitions)
    return call(jnp.tile, x, name="tile", reps=times)


__all__ = [
    "concat", "concatenate", "repeat", "stack", "tile", "unstack",
]  # fmt: skip
