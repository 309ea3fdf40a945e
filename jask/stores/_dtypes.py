"""Which element types and shapes a store may have.

Those that JAX computes with: bool, integers of 1 to 8 bytes, floats of 2 to 8 bytes,
complex of 8 and 16 bytes, and the small types of `ml_dtypes`.
"""

import operator
from collections.abc import Iterable
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

_SIZES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
_MOST_BYTES = 2**63 - 1
_MOST_AXES = 64  # as NumPy

SMALL_TYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(getattr(ml_dtypes, name))
    for name in (
        "bfloat16",
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn",
        "int2",
        "int4",
        "uint2",
        "uint4",
    )
    if hasattr(ml_dtypes, name)
}
"""The types of `ml_dtypes`, which NumPy's file format has no name for."""


def is_small(dtype: np.dtype[Any]) -> bool:
    """Return whether this is a type of `ml_dtypes`.

    Examples
    --------
    >>> is_small(SMALL_TYPES["bfloat16"]), is_small(np.dtype("f4"))
    (True, False)
    """
    return dtype.name in SMALL_TYPES


def is_computable(dtype: np.dtype[Any]) -> bool:
    """Return whether JAX has this type, in either byte order.

    Examples
    --------
    >>> is_computable(np.dtype(">f8")), is_computable(np.dtype("M8[s]"))
    (True, False)
    """
    return is_small(dtype) or dtype.itemsize in _SIZES.get(dtype.kind, ())


def checked_dtype(dtype: Any) -> np.dtype[Any]:
    """Return the dtype that the user named, or raise TypeError.

    Examples
    --------
    >>> checked_dtype("bfloat16").itemsize, checked_dtype(">i4").str
    (2, '>i4')
    """
    if dtype is None:
        raise TypeError("dtype must be given; got None.")
    if isinstance(dtype, str) and dtype in SMALL_TYPES:
        return SMALL_TYPES[dtype]
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError) as error:
        msg = f"dtype must name an element type; got {dtype!r}."
        raise TypeError(msg) from error
    if not is_computable(found):
        msg = f"dtype must be bool, integer, float or complex, as in JAX; got {found}."
        raise TypeError(msg)
    return found


def checked_shape(shape: Any, itemsize: int = 1) -> tuple[int, ...]:
    """Return the shape as a tuple of ints, or raise ValueError or TypeError.

    Examples
    --------
    >>> checked_shape(3), checked_shape([2, 3])
    ((3,), (2, 3))
    """
    entries = shape if isinstance(shape, Iterable) else (shape,)
    try:
        found = tuple(map(operator.index, entries))
    except TypeError as error:
        msg = f"shape must be a tuple of ints; got {shape!r}."
        raise TypeError(msg) from error
    if any(n < 0 for n in found):
        msg = f"shape must not have negative entries; got {found}."
        raise ValueError(msg)
    if len(found) > _MOST_AXES:
        msg = f"shape must not have more than {_MOST_AXES} axes; got {len(found)}."
        raise ValueError(msg)
    if prod(max(n, 1) for n in found) * itemsize > _MOST_BYTES:
        msg = f"shape must not have more than 2**63 - 1 bytes; got {found}."
        raise ValueError(msg)
    return found
