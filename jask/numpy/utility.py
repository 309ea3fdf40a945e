"""Utility functions of the standard: all, any, diff."""

from collections.abc import Callable
from typing import Any

from jask.numpy import _kernels
from jask.numpy._table import (
    Array,
    Axis,
    Operand,
    axis_index,
    call,
    check_operand,
    documented_reduction,
    finish,
    ndim_of,
)
from jask.numpy.statistical import reduce


def _truth(
    name: str, kernel: Callable[..., Any], summary: str, example: str
) -> Callable[..., Array]:
    """Return all or any."""

    def function(
        x: Operand,
        /,
        axis: Axis = None,
        *,
        out: None = None,
        keepdims: bool = False,
        where: Operand = None,
    ) -> Array:
        return reduce(name, kernel, x, axis, keepdims, out=out, where=where)

    doc = documented_reduction(function, name, summary, "bool", example)
    return finish(function, name, __name__, doc)


all = _truth(
    "all",
    _kernels.all_true,
    "Whether every element is true",
    "[True, False] -> Array(False, dtype=bool)",
)
any = _truth(
    "any",
    _kernels.any_true,
    "Whether some element is true",
    "[True, False] -> Array(True, dtype=bool)",
)


def diff(
    x: Operand,
    /,
    n: int = 1,
    axis: int = -1,
    prepend: Operand = None,
    append: Operand = None,
) -> Array:
    """Differences between neighbours along an axis, taken `n` times.

    Parameters
    ----------
    x : array
        The operand.
    n : int
        How many times.
    axis : int
        Where to work.
    prepend, append : array, optional
        Put before and behind `x` first.

    Returns
    -------
    array
        `n` elements fewer along the axis; the dtype of `x`.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.diff(jnp.asarray([1, 4, 9])))
    Array([3, 5], dtype=int32)
    """
    ends = [e if e is None else check_operand("diff", e) for e in (prepend, append)]
    where = axis_index(axis, ndim_of(x))
    return call(_kernels.diff, x, *ends, name="diff", n=n, axis=where)


__all__ = [
    "all", "any", "diff",
]  # fmt: skip
