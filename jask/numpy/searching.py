"""Searching functions of the standard. Indices are int64 always."""

from collections.abc import Callable
from math import prod
from typing import Any

import jax.numpy as jnp

from jask.numpy import _kernels, _ordered, _select
from jask.numpy._engine import takes_much
from jask.numpy._table import (
    Array,
    Axis,
    Operand,
    axes_tuple,
    axis_index,
    call,
    check_operand,
    check_out,
    documented_reduction,
    finish,
    ndim_of,
    shape_of,
)
from jask.numpy.statistical import check_not_empty


def _position(
    name: str, kernel: Callable[..., Any], summary: str, example: str
) -> Callable[..., Array]:
    """Return argmax or argmin."""

    def function(
        x: Operand,
        /,
        axis: int | None = None,
        *,
        keepdims: bool = False,
        out: None = None,
    ) -> Array:
        check_operand(name, x)
        check_out(name, out)
        where = None if axis is None else axis_index(axis, ndim_of(x))
        check_not_empty(name, x, where)
        return call(
            kernel, x, name=name, wide=True, axis=where, keepdims=keepdims is True
        )

    doc = documented_reduction(function, name, summary, "int64", example)
    return finish(function, name, __name__, doc)


argmax = _position(
    "argmax",
    _kernels.argmax,
    "Index of the first largest element",
    "[1.0, 5.0, 2.0] -> Array(1, dtype=int32)",
)
argmin = _position(
    "argmin",
    _kernels.argmin,
    "Index of the first smallest element",
    "[1.0, 5.0, 0.0] -> Array(2, dtype=int32)",
)


def count_nonzero(x: Operand, /, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """How many elements are not zero.

    Parameters
    ----------
    x : array
        The operand.
    axis : int, tuple of ints or None
        Axes to reduce; None: all.
    keepdims : bool
        Keep the reduced axes with length one.

    Returns
    -------
    array
        The shape of `x` without the reduced axes; int64.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> int(jnp.count_nonzero(jnp.asarray([1.0, 0.0, 2.0])))
    2
    """
    return call(
        _kernels.count_nonzero,
        check_operand("count_nonzero", x),
        name="count_nonzero",
        wide=True,
        axis=axes_tuple(axis, ndim_of(x)),
        keepdims=keepdims is True,
    )


def nonzero(
    x: Operand, /, *, size: int | None = None, fill_value: Operand = None
) -> tuple[Array, ...]:
    """Return indices of the elements that are not zero, one array per axis, in C order.

    Parameters
    ----------
    x : array
        At least one axis.
    size : int, optional
        The length of the result, fixed; needed under a trace.
    fill_value : scalar, optional
        With `size`: the index that fills up.

    Returns
    -------
    tuple of arrays
        int64. Without `size` it is evaluated at the call: in two passes, into scratch,
        if `x` is large.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> (found,) = jnp.nonzero(jnp.asarray([0, 7, 0, 9]))
    >>> found.shape
    (2,)
    """
    if ndim_of(x) == 0:
        msg = "nonzero: needs at least one axis; use reshape(x, (1,))."
        raise ValueError(msg)
    if size is not None:
        options = {"size": size, "fill_value": fill_value}
        return tuple(call(_kernels.nonzero, x, name="nonzero", wide=True, **options))
    return _select.nonzero(x)


def where(
    condition: Operand,
    x1: Operand = None,
    x2: Operand = None,
    /,
    *,
    size: int | None = None,
    fill_value: Operand = None,
) -> Any:
    """Elements of `x1` where the condition holds and of `x2` elsewhere.

    Parameters
    ----------
    condition : array
        Bool.
    x1, x2 : array or scalar
        What to choose from; all three broadcast. Without them: `nonzero`.
    size, fill_value : optional
        As for `nonzero`, for the form with the condition only.

    Returns
    -------
    array
        The broadcast shape; the promoted dtype of `x1` and `x2`.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.where(jnp.asarray([True, False]), 1.0, 2.0))
    Array([1., 2.], dtype=float32)
    """
    if x1 is None and x2 is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x1 is None or x2 is None:
        msg = "where: give both x1 and x2, or neither."
        raise ValueError(msg)
    return call(jnp.where, condition, x1, x2, name="where")


def searchsorted(
    x1: Operand,
    x2: Operand,
    /,
    side: str = "left",
    sorter: Operand = None,
    *,
    method: str = "scan",
) -> Array:
    """Where each of `x2` would be inserted to keep `x1` sorted.

    Parameters
    ----------
    x1 : array
        One axis, sorted ascending (through `sorter`, if given); NaN are last.
    x2 : array or scalar
        The values to look for.
    side : {"left", "right"}
        Before or behind equal elements.
    sorter : array, optional
        Indices that sort `x1`.
    method : {"scan", "scan_unrolled", "compare_all", "sort"}
        How to look: by halves ("scan": unless comparing is faster), by comparing with
        every element, or by sorting both.

    Returns
    -------
    array
        The shape of `x2`; int64. Streams `x2`. If `x1` takes over a quarter of the
        memory budget, all are compared where `x1.size * x2.size` is at most 2**33;
        else, if it takes over half of it, both are sorted. With a `sorter` it must fit.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> x = jnp.searchsorted(jnp.asarray([1.0, 3.0, 3.0]), jnp.asarray([3.0, 4.0]))
    >>> [int(i) for i in x]
    [1, 3]
    """
    if side not in ("left", "right"):
        msg = f"searchsorted: side must be 'left' or 'right'; got {side!r}."
        raise ValueError(msg)
    if len(shape_of(x1)) != 1:
        msg = f"searchsorted: x1 must have one axis; got shape {shape_of(x1)}."
        raise ValueError(msg)
    if method not in _METHODS:
        msg = f"searchsorted: the method must be one of {_METHODS}; got {method!r}."
        raise ValueError(msg)
    if method == "scan" and sorter is None:
        method = method_for(x1, x2) or "scan"
    if method == "sort" and sorter is None:
        kernel, options = _ordered.searched, {"side": side}
        return call(kernel, x1, x2, name="searchsorted", wide=True, **options)
    options = {"side": side, "method": method}
    return call(
        _kernels.searchsorted, x1, x2, sorter, name="searchsorted", wide=True, **options
    )


MOST_PAIRS = 2**33
"""Comparisons that are made, at most, to keep on disk what is searched: ten seconds."""


def method_for(line: Operand, queries: Operand) -> str | None:
    """Return how to look in a line that is better kept on disk; None for others."""
    pairs = prod(shape_of(line) + shape_of(queries))
    if takes_much(line) and pairs <= MOST_PAIRS:
        return "compare_all"
    return "sort" if takes_much(line, 2) else None


_METHODS = ("scan", "scan_unrolled", "compare_all", "sort")
"""How `searchsorted` may look."""


__all__ = [
    "argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where",
]  # fmt: skip
