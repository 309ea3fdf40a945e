"""`asarray` and its kin: an array from anything that holds numbers.

A DiskArray stays what it is; a tracer or a JAX array is used as it is (JAX arrays do
not change). NumPy data are copied, so that later changes do not show, but for read-only
mappings of files, which are read where they are. Other libraries' arrays come through
DLPack; nested lists become NumPy arrays first.
"""

import operator
from itertools import batched, chain
from typing import Any

import jax
import numpy as np

from jask.numpy import _kernels
from jask.numpy._engine import (
    alias,
    fetch,
    is_at_hand,
    is_disk,
    is_forced,
    to_disk,
)
from jask.numpy._table import (
    Array,
    as_dtype,
    call,
    check_device,
    default_dtype,
    dtype_or_none,
    is_wide,
    ndim_of,
)
from jask.numpy.dtypes import result_type
from jask.numpy.manipulation import reshape


def asarray(
    obj: Any,
    /,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
) -> Array:
    """Make an array from anything that holds numbers.

    Parameters
    ----------
    obj : array, scalar, nested sequence or buffer
        A DiskArray, a JAX or NumPy array, an array of another library (through
        DLPack), a Python scalar, nested lists of them, or an object with the buffer
        protocol.
    dtype : dtype, optional
        The dtype of the result; default: that of `obj`, or JAX's default for Python
        numbers.
    order : {"C", "K", "A"}, optional
        For compatibility; arrays have one layout.
    device : device, optional
        Must be the one device there is.
    copy : bool, optional
        False: raise ValueError where the values would have to be copied.

    Returns
    -------
    array
        In memory where `obj` is; a DiskArray stays lazy.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.asarray([[1, 2], [3, 4]]))
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    check_device("asarray", device)
    _check_order("asarray", order)
    target = dtype_or_none(dtype)
    if copy is False and not (is_disk(obj) or isinstance(obj, jax.Array)):
        msg = f"asarray: a {type(obj).__name__} must be copied; copy=False was given."
        raise ValueError(msg)
    value = to_disk(_in_memory(obj, target))
    if target is None or value.dtype == target:
        return alias(value) if copy else value
    if copy is False:
        msg = f"asarray: {value.dtype} to {target} must copy; copy=False was given."
        raise ValueError(msg)
    return call(
        _kernels.astype, value, name="astype", wide=is_wide(target), dtype=target
    )


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
) -> Array:
    """Make an array; `asarray` by NumPy's older name.

    Parameters
    ----------
    object : array, scalar, nested sequence or buffer
        What `asarray` takes.
    dtype : dtype, optional
        The dtype of the result.
    copy : bool, optional
        As for `asarray`.
    order : {"C", "K", "A"}, optional
        For compatibility; arrays have one layout.
    ndmin : int
        The least number of axes; those that are missing come first, with length one.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        In memory where `object` is; a DiskArray stays lazy.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.array([1.5, 2.5], ndmin=2))
    Array([[1.5, 2.5]], dtype=float32)
    """
    check_device("array", device)
    _check_order("array", order)
    made = asarray(object, dtype, copy=copy)
    missing = operator.index(ndmin) - ndim_of(made)
    return reshape(made, (1,) * missing + made.shape) if missing > 0 else made


def _check_order(name: str, order: str | None) -> None:
    """Raise for an order in memory that arrays cannot have, as `jax.numpy` does."""
    if order in (None, "C", "K", "A"):
        return
    msg = f"{name}: the order must be 'C', 'K', 'A' or None; got {order!r}."
    raise NotImplementedError(msg) if order == "F" else ValueError(msg)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Make an array from another library's array, through DLPack.

    Parameters
    ----------
    x : object with `__dlpack__`
        The array to take.
    device : device, optional
        Must be the one device there is.
    copy : bool, optional
        False: raise ValueError, since the values are always copied.

    Returns
    -------
    array
        An array in memory.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> import numpy as np
    >>> jask.materialize(jnp.from_dlpack(np.arange(3, dtype=np.int32)))
    Array([0, 1, 2], dtype=int32)
    """
    check_device("from_dlpack", device)
    if not hasattr(x, "__dlpack__"):
        msg = f"from_dlpack: an array must have __dlpack__; got {type(x).__name__}."
        raise TypeError(msg)
    if is_disk(x):
        return x
    if copy is False:
        msg = "from_dlpack: values are always copied; copy=False was given."
        raise ValueError(msg)
    return to_disk(np.array(np.from_dlpack(x), copy=True))


def _in_memory(obj: Any, dtype: Any) -> Any:
    """Return a DiskArray, a JAX array or a NumPy array that nobody else changes."""
    if is_disk(obj) or isinstance(obj, jax.Array):
        return obj
    if isinstance(obj, np.memmap):
        return to_disk(obj)
    if isinstance(obj, (np.ndarray, np.generic)):
        return _canonical(_native(np.array(obj, copy=True)), dtype)
    if hasattr(obj, "__dlpack__"):
        return np.array(np.from_dlpack(obj), copy=True)
    if isinstance(obj, (list, tuple)) and _holds_arrays(obj):
        known = _at_hand(obj)
        return _stacked(obj) if known is None else known
    return _from_python(obj, dtype)


def _native(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return numbers in native byte order; anything else is a TypeError."""
    as_dtype(value.dtype)
    return value.astype(value.dtype.newbyteorder("="), copy=False)


def _canonical(value: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """Return 64-bit values in 32 bits while 64-bit types are off and no dtype is given.

    Integers that do not fit are an OverflowError.
    """
    if dtype is not None:
        return value
    target = np.dtype(jax.dtypes.canonicalize_dtype(value.dtype))
    if target != value.dtype and target.kind in "iu" and value.size:
        _check_range(value, target)
    return value.astype(target, copy=False)


def _holds_arrays(obj: Any) -> bool:
    """Return whether nested lists hold DiskArrays or JAX arrays."""
    if isinstance(obj, (list, tuple)):
        return any(map(_holds_arrays, obj))
    return is_disk(obj) or isinstance(obj, jax.Array)


AT_ONCE = 64
"""Elements of nested lists that share a plan."""


def _at_hand(obj: Any) -> np.ndarray[Any, Any] | None:
    """Return nested lists of small arrays in memory as one; None for all others.

    A program of hundreds of scalars would be as many equations. What is small is
    evaluated alone; where blocks are forced, and all is planned, some share a plan.
    """
    leaves, _ = jax.tree.flatten(obj, is_leaf=is_disk)
    first = getattr(leaves[0], "dtype", None)
    if not all(is_at_hand(x) and x.dtype == first for x in leaves):
        return None
    parts = batched(leaves, AT_ONCE if is_forced() else 1)
    values = chain.from_iterable(fetch("asarray", *part) for part in parts)
    return np.array(jax.tree.map(lambda _: next(values), obj, is_leaf=is_disk))


def _stacked(obj: Any) -> Any:
    """Return nested lists that hold arrays as one array, lazily."""
    if isinstance(obj, (list, tuple)):
        return call(_kernels.stack, [_stacked(o) for o in obj], name="stack", axis=0)
    return obj


def _from_python(obj: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return Python numbers, nested lists or a buffer as a NumPy array.

    Python numbers take JAX's default dtypes beside each other, and that of other
    elements beside those. What does not fit the dtype is an OverflowError, and an
    imaginary part that has no place a TypeError.
    """
    try:
        value = np.array(obj)
    except ValueError as error:
        msg = f"asarray: nested sequences must be rectangular: {error}"
        raise ValueError(msg) from error
    if not isinstance(obj, (bool, int, float, complex, list, tuple, range)):
        return _canonical(_native(value), dtype)
    fixed, kind = _kinds([*obj] if isinstance(obj, range) else obj)
    if dtype is not None:
        return _fitted(value, kind if not fixed else None, dtype)
    if not fixed:
        target = default_dtype(kind)
    elif kind is None:
        target = result_type(*fixed)
    else:
        target = result_type(*fixed, kind(0))
    return _canonical(_fitted(value, kind, target).astype(target), None)


def _kinds(obj: Any) -> tuple[set[np.dtype[Any]], Any]:
    """Return the dtypes of arrays in nested lists, and the widest Python type."""
    order = (bool, int, float, complex)
    fixed: set[np.dtype[Any]] = set()
    best, stack = -1, [obj]
    while stack:
        item = stack.pop()
        if isinstance(item, (list, tuple)):
            stack.extend(item)
        elif isinstance(item, (np.ndarray, np.generic)):
            fixed.add(as_dtype(item.dtype))
        elif type(item) in order:
            best = max(best, order.index(type(item)))
        else:
            msg = f"asarray: must be given numbers or bools; got {type(item).__name__}."
            raise TypeError(msg)
    if best < 0:
        return fixed, None if fixed else float
    return fixed, order[best]


def _fitted(
    value: np.ndarray[Any, Any], kind: Any, target: np.dtype[Any]
) -> np.ndarray[Any, Any]:
    """Return Python numbers that fit a dtype; raise for those that do not."""
    if kind is complex and target.kind not in "cb":
        msg = f"asarray: complex numbers have no place in {target}; give their parts."
        raise TypeError(msg)
    if kind is int and target.kind in "iu" and value.size:
        _check_range(value, target)
    huge = value.dtype == object and kind in (int, float)
    return value.astype(np.float64) if huge else _native(value)


def _check_range(value: np.ndarray[Any, Any], target: np.dtype[Any]) -> None:
    """Raise OverflowError where integers do not fit a dtype."""
    limits = np.iinfo(target)
    if value.min() < limits.min or value.max() > limits.max:
        msg = f"asarray: an integer does not fit {target}; give another dtype=."
        raise OverflowError(msg)


__all__ = [
    "array", "asarray", "from_dlpack",
]  # fmt: skip
