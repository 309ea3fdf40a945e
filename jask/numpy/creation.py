"""Creation functions of the standard. All lazy: a zeros of a terabyte is free.

Shapes are static. Values such as a fill or the bounds of a range are run-time
operands, so that another value traces nothing again.
"""

import operator
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from jask.numpy import _kernels
from jask.numpy._table import (
    Array,
    Operand,
    call,
    check_device,
    check_operand,
    default_dtype,
    dtype_or_none,
    is_wide,
    ndim_of,
    shape_of,
)

type ShapeLike = int | Sequence[int]


def shape_tuple(name: str, shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple of ints; negative lengths are a ValueError."""
    entries = shape if isinstance(shape, (tuple, list)) else (shape,)
    found = tuple(operator.index(n) for n in entries)
    if any(n < 0 for n in found):
        msg = f"{name}: lengths must not be negative; got {found}."
        raise ValueError(msg)
    return found


def full(
    shape: ShapeLike, fill_value: Operand, dtype: Any = None, *, device: Any = None
) -> Array:
    """Return an array of one repeated value.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape.
    fill_value : scalar or array
        The value; an array must broadcast to `shape`.
    dtype : dtype, optional
        Default: that of the value; JAX's default for a Python number.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        Lazy; takes no memory and no disk.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.full((2, 2), 7))
    Array([[7, 7],
           [7, 7]], dtype=int32)
    """
    check_device("full", device)
    value = check_operand("full", fill_value)
    target = dtype_or_none(dtype)
    if target is None and not hasattr(value, "dtype"):
        target = default_dtype(type(value))
    if type(value) is complex and target is not None and target.kind not in "cb":
        msg = f"full: a complex number has no place in {target}."
        raise TypeError(msg)
    wide = is_wide(target)
    where = shape_tuple("full", shape)
    return call(_kernels.full, value, name="full", wide=wide, shape=where, dtype=target)


def zeros(shape: ShapeLike, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array of zeros.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape.
    dtype : dtype, optional
        Default: the default float.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        Lazy; takes no memory and no disk.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.sum(jnp.zeros((10, 10))))
    Array(0., dtype=float32)
    """
    return full(shape, 0, float if dtype is None else dtype, device=device)


def ones(shape: ShapeLike, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array of ones.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape.
    dtype : dtype, optional
        Default: the default float.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        Lazy; takes no memory and no disk.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.sum(jnp.ones((10, 10))))
    Array(100., dtype=float32)
    """
    return full(shape, 1, float if dtype is None else dtype, device=device)


def empty(shape: ShapeLike, dtype: Any = None, *, device: Any = None) -> Array:
    """Return an array whose values do not matter: zeros, as in JAX.

    Parameters
    ----------
    shape : int or tuple of ints
        The shape.
    dtype : dtype, optional
        Default: the default float.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        Lazy; takes no memory and no disk.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.empty((10, 10)).shape
    (10, 10)
    """
    return zeros(shape, dtype, device=device)


def full_like(
    x: Operand,
    /,
    fill_value: Operand,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
) -> Array:
    """Return an array of one repeated value with the shape and dtype of another.

    Parameters
    ----------
    x : array
        Gives the shape and the dtype; its values are not read.
    fill_value : scalar or array
        The value.
    dtype, shape : optional
        Instead of those of `x`.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        Lazy; takes no memory and no disk.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.full_like(jnp.asarray([1, 2]), 7))
    Array([7, 7], dtype=int32)
    """
    known = check_operand("full_like", x)
    default = known.dtype if hasattr(known, "dtype") else default_dtype(type(known))
    return full(
        shape_of(known) if shape is None else shape,
        fill_value,
        default if dtype is None else dtype,
        device=device,
    )


def zeros_like(
    x: Operand, /, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Array:
    """Return an array of zeros with the shape and dtype of another.

    Parameters
    ----------
    x : array
        Gives the shape and the dtype; its values are not read.
    dtype, shape : optional
        Instead of those of `x`.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        Lazy; takes no memory and no disk.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.zeros_like(jnp.asarray([1, 2])))
    Array([0, 0], dtype=int32)
    """
    return full_like(x, 0, dtype, shape, device=device)


def ones_like(
    x: Operand, /, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Array:
    """Return an array of ones with the shape and dtype of another.

    Parameters
    ----------
    x : array
        Gives the shape and the dtype; its values are not read.
    dtype, shape : optional
        Instead of those of `x`.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        Lazy; takes no memory and no disk.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.ones_like(jnp.asarray([1, 2])))
    Array([1, 1], dtype=int32)
    """
    return full_like(x, 1, dtype, shape, device=device)


def empty_like(
    x: Operand, /, dtype: Any = None, shape: Any = None, *, device: Any = None
) -> Array:
    """Return an array whose values do not matter, with the shape and dtype of another.

    Parameters
    ----------
    x : array
        Gives the shape and the dtype; its values are not read.
    dtype, shape : optional
        Instead of those of `x`.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        Lazy; takes no memory and no disk.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.empty_like(jnp.asarray([1, 2])).shape
    (2,)
    """
    return full_like(x, 0, dtype, shape, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Array:
    """Return A matrix with ones on one diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows, n_cols : int
        The shape; default: square.
    k : int
        Which diagonal; positive: above the main one.
    dtype : dtype, optional
        Default: the default float.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        Lazy; takes no memory and no disk.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.eye(2, 3, k=1, dtype=jnp.int8))
    Array([[0, 1, 0],
           [0, 0, 1]], dtype=int8)
    """
    check_device("eye", device)
    rows, columns = shape_tuple("eye", (n_rows, n_rows if n_cols is None else n_cols))
    target = dtype_or_none(float if dtype is None else dtype)
    return call(
        _kernels.eye,
        np.asarray(max(-rows, min(operator.index(k), columns)), np.int64),
        name="eye",
        wide=True,
        shape=(rows, columns),
        dtype=target,
    )


def _triangle(name: str, x: Operand, k: int) -> Array:
    """Return `x` with one triangle of its last two axes zeroed."""
    if ndim_of(x) < 2:
        msg = f"{name}: needs at least two axes; got {ndim_of(x)}."
        raise ValueError(msg)
    rows, columns = shape_of(x)[-2:]
    limit = np.asarray(max(-rows - 1, min(operator.index(k), columns + 1)), np.int64)
    return call(_kernels.triangle, x, limit, name=name, wide=True, upper=name == "triu")


def tril(x: Operand, /, k: int = 0) -> Array:
    """Return the lower triangle of the last two axes; zeros above the diagonal `k`.

    Parameters
    ----------
    x : array
        At least two axes.
    k : int
        Which diagonal; positive: above the main one.

    Returns
    -------
    array
        The shape and dtype of `x`.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.tril(jnp.asarray([[1, 2], [3, 4]])))
    Array([[1, 0],
           [3, 4]], dtype=int32)
    """
    return _triangle("tril", x, k)


def triu(x: Operand, /, k: int = 0) -> Array:
    """Return the upper triangle of the last two axes; zeros below the diagonal `k`.

    Parameters
    ----------
    x : array
        At least two axes.
    k : int
        Which diagonal; positive: above the main one.

    Returns
    -------
    array
        The shape and dtype of `x`.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.triu(jnp.asarray([[1, 2], [3, 4]])))
    Array([[1, 2],
           [0, 4]], dtype=int32)
    """
    return _triangle("triu", x, k)


def meshgrid(
    *arrays: Operand, indexing: str = "xy", sparse: Any = False, copy: Any = True
) -> tuple[Array, ...]:
    """Coordinate arrays of a grid from one axis of coordinates each.

    Parameters
    ----------
    *arrays : array
        One-axis arrays of one dtype.
    indexing : {"xy", "ij"}
        Cartesian or matrix order of the first two axes.
    sparse : bool
        Leave the other axes at length one.
    copy : bool
        For compatibility; arrays are immutable.

    Returns
    -------
    tuple of arrays
        As many as were given. Lazy.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> x, y = jnp.meshgrid(jnp.asarray([1, 2, 3]), jnp.asarray([4, 5]))
    >>> jask.materialize(y)
    Array([[4, 4, 4],
           [5, 5, 5]], dtype=int32)
    """
    if indexing not in ("xy", "ij"):
        msg = f"meshgrid: indexing must be 'xy' or 'ij'; got {indexing!r}."
        raise ValueError(msg)
    options: dict[str, Any] = {"indexing": indexing, "sparse": operator.truth(sparse)}
    del copy
    return tuple(call(jnp.meshgrid, *arrays, name="meshgrid", **options))


__all__ = [
    "empty", "empty_like", "eye", "full", "full_like", "meshgrid", "ones",
    "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip
