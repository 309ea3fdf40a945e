"""Linear algebra functions of the main namespace."""

import operator
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from jask.numpy._table import (
    Array,
    Operand,
    axis_index,
    call,
    dtype_or_none,
    is_wide,
    ndim_of,
    shape_of,
)

type Axes = int | tuple[Sequence[int], Sequence[int]]


def matmul(
    x1: Operand,
    x2: Operand,
    /,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Matrix product over the last two axes; leading axes broadcast.

    Parameters
    ----------
    x1, x2 : array
        At least one axis each; a single axis is a row on the left, a column on the
        right.
    precision, preferred_element_type : optional
        As in `jax.numpy.matmul`.

    Returns
    -------
    array
        The promoted dtype. Streams square tiles of both operands.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.matmul(jnp.asarray([[1, 2], [3, 4]]), jnp.asarray([1, 1])))
    Array([3, 7], dtype=int32)
    """
    options = _options(precision, preferred_element_type)
    return call(jnp.matmul, x1, x2, name="matmul", **options)


def _options(precision: Any, element_type: Any) -> dict[str, Any]:
    """Return what products have in common; 64 bits that are asked for are given."""
    return {
        "precision": precision,
        "preferred_element_type": element_type,
        "wide": is_wide(dtype_or_none(element_type)),
    }


def matrix_transpose(x: Operand, /) -> Array:
    """Exchange the last two axes.

    Parameters
    ----------
    x : array
        At least two axes.

    Returns
    -------
    array
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.matrix_transpose(jnp.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    if ndim_of(x) < 2:
        msg = f"matrix_transpose: needs at least two axes; got shape {shape_of(x)}."
        raise ValueError(msg)
    return call(jnp.matrix_transpose, x, name="matrix_transpose")


def tensordot(
    x1: Operand,
    x2: Operand,
    /,
    axes: Axes = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Sum of products over chosen axes.

    Parameters
    ----------
    x1, x2 : array
        The operands.
    axes : int or pair of sequences of ints
        How many last axes of `x1` meet as many first ones of `x2`, or which meet.
    precision, preferred_element_type : optional
        As in `jax.numpy.tensordot`.

    Returns
    -------
    array
        The free axes of `x1`, then those of `x2`; the promoted dtype. Streams.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.tensordot(jnp.zeros((2, 3, 4)), jnp.zeros((3, 4, 5))).shape
    (2, 5)
    """
    options = _options(precision, preferred_element_type)
    return call(
        jnp.tensordot,
        x1,
        x2,
        name="tensordot",
        axes=_contracted(axes, ndim_of(x1), ndim_of(x2)),
        **options,
    )


def _contracted(axes: Axes, left: int, right: int) -> Any:
    """Return the axes of a tensordot, counted from the front."""
    if not isinstance(axes, (tuple, list)):
        return operator.index(axes)
    first, second = (a if isinstance(a, (tuple, list)) else (a,) for a in axes)
    return (
        tuple(axis_index(a, left) for a in first),
        tuple(axis_index(a, right) for a in second),
    )


def vecdot(
    x1: Operand,
    x2: Operand,
    /,
    *,
    axis: int = -1,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Array:
    """Dot product along an axis; the first operand is conjugated.

    Parameters
    ----------
    x1, x2 : array
        Their shapes must broadcast apart from the axis, whose lengths must agree.
    axis : int
        Which, counted from the end (-1: the last).
    precision, preferred_element_type : optional
        As in `jax.numpy.vecdot`.

    Returns
    -------
    array
        The broadcast shape without the axis; the promoted dtype. Streams.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.vecdot(jnp.asarray([1, 2]), jnp.asarray([3, 4])))
    Array(11, dtype=int32)
    """
    for x in (x1, x2):
        axis_index(axis, ndim_of(x))
    a, b = shape_of(x1)[axis], shape_of(x2)[axis]
    if a != b:
        msg = f"vecdot: the axis {axis} must have one length in both; got {a} and {b}."
        raise ValueError(msg)
    options = _options(precision, preferred_element_type)
    return call(jnp.vecdot, x1, x2, name="vecdot", axis=axis, **options)


__all__ = [
    "matmul", "matrix_transpose", "tensordot", "vecdot",
]  # fmt: skip
