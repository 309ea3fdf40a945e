"""Sorting functions of the standard. Sorts are stable always."""

from typing import Any

from jask.numpy import _kernels
from jask.numpy._table import (
    Array,
    Operand,
    as_dtype,
    axis_index,
    call,
    check_operand,
    ndim_of,
)


def sort(
    x: Operand,
    /,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    descending: Any = False,
    stable: Any = True,
) -> Array:
    """Elements in order along an axis; NaN are largest.

    Parameters
    ----------
    x : array
        At least one axis.
    axis : int or None
        Where to sort; None: all elements, as one line.
    kind, order : None
        For compatibility; anything else is a TypeError.
    descending : bool
        Largest first.
    stable : bool
        For compatibility; sorts are stable always.

    Returns
    -------
    array
        The shape and dtype of `x`. An axis that does not fit memory is sorted in
        scratch, in two readings and writings.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.sort(jnp.asarray([4, 7, 1])))
    Array([1, 4, 7], dtype=int32)
    """
    del stable
    _check_none("sort", kind=kind, order=order)
    where = _where("sort", axis, x)
    return call(
        _kernels.sort, x, name="sort", axis=where, descending=descending is True
    )


def argsort(
    x: Operand,
    /,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    descending: Any = False,
    stable: Any = True,
    dtype: Any = None,
) -> Array:
    """Return indices that sort an axis; equal elements keep their order.

    Parameters
    ----------
    x : array
        At least one axis.
    axis : int or None
        Where to sort; None: all elements, as one line.
    kind, order : None
        For compatibility; anything else is a TypeError.
    descending : bool
        Largest first; equal elements keep their order all the same.
    stable : bool
        For compatibility; sorts are stable always.
    dtype : dtype, optional
        Of the indices; default: int64.

    Returns
    -------
    array
        The shape of `x`; int64, unless `dtype` is given. An axis that does not fit
        memory is sorted in scratch, in two readings and writings.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> order = jnp.argsort(jnp.asarray([4, 7, 4]), descending=True)
    >>> [int(i) for i in order]
    [1, 0, 2]
    """
    del stable
    _check_none("argsort", kind=kind, order=order)
    options: dict[str, Any] = {"axis": _where("argsort", axis, x)}
    options["descending"] = descending is True
    if dtype is not None:
        options["dtype"] = as_dtype(dtype)
    return call(_kernels.argsort, x, name="argsort", wide=True, **options)


def _check_none(name: str, **options: Any) -> None:
    """Raise TypeError for options of NumPy's that `jax.numpy` refuses too."""
    for key, value in options.items():
        if value is not None:
            msg = f"{name}: {key} must be None, sorts are stable; got {value!r}."
            raise TypeError(msg)


def _where(name: str, axis: int | None, x: Operand) -> int | None:
    ndim = ndim_of(check_operand(name, x))
    return None if axis is None else axis_index(axis, ndim)


__all__ = [
    "argsort", "sort",
]  # fmt: skip
