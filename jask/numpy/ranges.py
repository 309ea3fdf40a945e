"""Creation functions of evenly spaced values."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jask.numpy import _kernels
from jask.numpy._table import (
    Array,
    Operand,
    axis_index,
    call,
    check_device,
    check_operand,
    default_dtype,
    dtype_or_none,
    ndim_of,
)
from jask.numpy.dtypes import result_type

type ShapeLike = int | Sequence[int]


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: Any = None,
) -> Array:
    """Evenly spaced values in the half-open interval [start, stop).

    Parameters
    ----------
    start, stop, step : int or float
        Python numbers; with one number only it is the stop and the start is 0.
    dtype : dtype, optional
        Default: the default integer, or the default float if a number is a float.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        One axis of length ceil((stop - start) / step), or 0. Lazy; takes no memory.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.arange(7, -1, -3))
    Array([7, 4, 1], dtype=int32)
    """
    check_device("arange", device)
    first, last = (0, start) if stop is None else (start, stop)
    by = 1 if step is None else step
    numbers = [_number("arange", n) for n in (first, last, by)]
    if numbers[2] == 0:
        msg = "arange: the step must not be zero."
        raise ValueError(msg)
    count = max(0, math.ceil((numbers[1] - numbers[0]) / numbers[2]))
    if all(isinstance(n, int) for n in numbers):
        count = len(range(*numbers))
    target = dtype_or_none(dtype) or default_dtype(
        int if all(isinstance(n, int) for n in numbers) else float
    )
    _check_fits("arange", target, numbers, count)
    operands = [_operand(numbers[0], target), _operand(numbers[2], target)]
    return call(
        _kernels.arange, *operands, name="arange", wide=True, count=count, dtype=target
    )


def _number(name: str, value: Any) -> Any:
    """Return a Python int or float."""
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if hasattr(value, "__index__") and not isinstance(value, float):
        return operator.index(value)
    if isinstance(value, (int, float)):
        return value
    if hasattr(value, "dtype") and not isinstance(value, jax.core.Tracer):
        return value.item() if hasattr(value, "item") else float(value)
    msg = f"{name}: bounds must be concrete real numbers; got {type(value).__name__}."
    raise TypeError(msg)


def _check_fits(
    name: str, dtype: np.dtype[Any], numbers: list[Any], count: int
) -> None:
    """Raise OverflowError where an integer range leaves its dtype."""
    if dtype.kind not in "iu" or not count:
        return
    last = numbers[0] + (count - 1) * numbers[2]
    limits = np.iinfo(dtype)
    for n in (numbers[0], last):
        if not limits.min <= n <= limits.max:
            msg = f"{name}: {n} does not fit {dtype}; give another dtype=."
            raise OverflowError(msg)


def _operand(number: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a Python number as a 64-bit operand."""
    if dtype.kind == "u":
        return np.asarray(number % 2**64, np.uint64)
    if dtype.kind in "ib":
        return np.asarray(int(number), np.int64)
    return np.asarray(number, np.float64)


def linspace(  # noqa: PLR0917 - the order of jax.numpy
    start: Operand,
    stop: Operand,
    /,
    num: int = 50,
    endpoint: Any = True,  # noqa: FBT002 (NumPy's signature)
    retstep: Any = False,  # noqa: FBT002 (NumPy's signature)
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Array:
    """Evenly spaced values in [start, stop]; the last is exactly `stop`.

    Parameters
    ----------
    start, stop : scalar or array
        The ends.
    num : int
        How many values.
    endpoint : bool
        False: leave `stop` out.
    retstep : bool
        Return the spacing too.
    dtype : dtype, optional
        Default: the default float, or complex if an end is complex.
    axis : int
        Where the new axis goes when the ends are arrays.
    device : device, optional
        Must be the one device there is.

    Returns
    -------
    array
        `num` values, computed in float64 and rounded once. Lazy; takes no memory.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.linspace(0, 1, 5))
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    check_device("linspace", device)
    count = operator.index(num)
    if count < 0:
        msg = f"linspace: num must not be negative; got {count}."
        raise ValueError(msg)
    ends = [check_operand("linspace", e) for e in (start, stop)]
    target = dtype_or_none(dtype) or _inexact(result_type(*ends))
    ndim = max(map(ndim_of, ends)) + 1
    ends = [e if hasattr(e, "dtype") else np.asarray(e, _widest(e)) for e in ends]
    options = {"num": count, "endpoint": operator.truth(endpoint), "dtype": target}
    out = call(
        _kernels.linspace,
        *ends,
        name="linspace",
        wide=True,
        axis=axis_index(axis, ndim),
        **options,
    )
    if not retstep:
        return out
    gaps = count - 1 if endpoint else count
    about: dict[str, Any] = {"name": "linspace_step", "wide": True, "gaps": gaps}
    narrow = np.dtype(np.float64 if target.itemsize == 8 else np.float32)
    inexact = target if target.kind in "fcV" else narrow
    return out, call(_kernels.spacing, *ends, dtype=inexact, **about)


def _inexact(dtype: Any) -> np.dtype[Any]:
    """Return a dtype if it has fractions; the default float for integers."""
    known: np.dtype[Any] = result_type(dtype)
    inexact = jnp.issubdtype(known, jnp.inexact)
    return known if inexact else result_type(known, default_dtype(float))


def _widest(number: Any) -> Any:
    """Return the 64-bit dtype of a Python number."""
    return np.complex128 if isinstance(number, complex) else np.float64


__all__ = [
    "arange", "linspace",
]  # fmt: skip
