"""Data types of the standard and of JAX, and the functions about them."""

import builtins
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jask.numpy import _kernels, _table
from jask.numpy._engine import is_disk, is_lent
from jask.numpy._table import Array, Operand, as_dtype, call, is_array, is_wide

bool = jnp.bool_
bool_ = jnp.bool_
int8, int16, int32, int64 = jnp.int8, jnp.int16, jnp.int32, jnp.int64
uint8, uint16, uint32, uint64 = jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64
float16, float32, float64 = jnp.float16, jnp.float32, jnp.float64
bfloat16 = jnp.bfloat16
complex64, complex128 = jnp.complex64, jnp.complex128


@dataclass(frozen=True, slots=True)
class FloatInfo:
    """Limits of a floating-point type; the numbers are Python floats."""

    bits: int
    """Bits of one real number."""

    eps: float
    """Difference between 1.0 and the next number."""

    max: float
    """Largest finite number."""

    min: float
    """Smallest (most negative) finite number."""

    smallest_normal: float
    """Smallest positive normal number."""

    dtype: np.dtype[Any]
    """The real floating type."""

    tiny: float
    """Smallest positive normal number, by NumPy's name."""

    resolution: float
    """The decimal resolution, by NumPy's name."""

    nmant: int
    """Bits of the mantissa, by NumPy's name."""


@dataclass(frozen=True, slots=True)
class IntegerInfo:
    """Limits of an integer type; the numbers are Python integers."""

    bits: int
    """Bits of one number."""

    max: int
    """Largest number."""

    min: int
    """Smallest number."""

    dtype: np.dtype[Any]
    """The integer type."""


def _dtype_of(x: Any) -> np.dtype[Any]:
    """Return the dtype of an array, or the dtype that `x` names."""
    return as_dtype(x.dtype if is_array(x) else x)


def finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating-point type, of the parts for a complex one.

    Parameters
    ----------
    type : dtype or array
        What to describe.

    Returns
    -------
    FloatInfo
        `bits`, `eps`, `max`, `min`, `smallest_normal`, `dtype`.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.finfo(jnp.float32).bits, jnp.finfo(jnp.complex128).eps
    (32, 2.220446049250313e-16)
    """
    dtype = _dtype_of(type)
    if not jnp.issubdtype(dtype, jnp.inexact):
        msg = f"finfo: the type must be floating or complex; got {dtype}."
        raise ValueError(msg)
    known = jnp.finfo(dtype)
    return FloatInfo(
        bits=int(known.bits),
        eps=float(known.eps),
        max=float(known.max),
        min=float(known.min),
        smallest_normal=float(known.smallest_normal),
        dtype=np.dtype(known.dtype),
        tiny=float(known.tiny),
        resolution=float(known.resolution),
        nmant=int(known.nmant),
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer type.

    Parameters
    ----------
    type : dtype or array
        What to describe.

    Returns
    -------
    IntegerInfo
        `bits`, `max`, `min`, `dtype`.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.iinfo(jnp.int8).max
    127
    """
    dtype = _dtype_of(type)
    if not jnp.issubdtype(dtype, jnp.integer):
        msg = f"iinfo: the type must be an integer type; got {dtype}."
        raise ValueError(msg)
    known = jnp.iinfo(dtype)
    return IntegerInfo(int(known.bits), int(known.max), int(known.min), dtype)


_KINDS = {
    "bool": lambda d: d == np.bool_,
    "signed integer": lambda d: jnp.issubdtype(d, jnp.signedinteger),
    "unsigned integer": lambda d: jnp.issubdtype(d, jnp.unsignedinteger),
    "integral": lambda d: jnp.issubdtype(d, jnp.integer),
    "real floating": lambda d: jnp.issubdtype(d, jnp.floating),
    "complex floating": lambda d: jnp.issubdtype(d, jnp.complexfloating),
    "numeric": lambda d: jnp.issubdtype(d, jnp.number),
}


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        What to ask about.
    kind : str, dtype, or tuple of them
        "bool", "signed integer", "unsigned integer", "integral", "real floating",
        "complex floating", "numeric", or a dtype; a tuple: any of them.

    Returns
    -------
    bool
        The answer.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.isdtype(jnp.float32, ("integral", "real floating"))
    True
    """
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, k) for k in kind)
    found = np.dtype(dtype)
    if isinstance(kind, str) and kind in _KINDS:
        return _KINDS[kind](found)
    if isinstance(kind, str):
        msg = f"isdtype: a kind must be one of {sorted(_KINDS)}; got {kind!r}."
        raise ValueError(msg)  # noqa: TRY004 - as NumPy does
    return found == np.dtype(kind)


def can_cast(from_: Any, to: Any, /, casting: str = "safe") -> Any:
    """Whether values convert under a rule of casting.

    Parameters
    ----------
    from_ : dtype or array
        What to convert.
    to : dtype
        The target.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        What may be lost: nothing ("safe"), precision ("same_kind"), ...; as in NumPy.

    Returns
    -------
    bool
        Whether they do.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.can_cast(jnp.int8, jnp.int16), jnp.can_cast(jnp.int16, jnp.uint16)
    (True, False)
    """
    rule: Any = casting
    return builtins.bool(np.can_cast(_dtype_of(from_), _dtype_of(to), rule))


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the dtype that operands promote to; Python scalars give way to arrays.

    Parameters
    ----------
    *arrays_and_dtypes : array, dtype or Python scalar
        At least one.

    Returns
    -------
    dtype
        The promoted dtype.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.result_type(jnp.int8, jnp.uint8)
    dtype('int16')
    """
    if not arrays_and_dtypes:
        msg = "result_type: needs at least one array or dtype."
        raise ValueError(msg)
    known = [_known(x) for x in arrays_and_dtypes]
    kinds = [x for x in known if isinstance(x, (np.dtype, type))]
    wide = any(is_wide(as_dtype(x)) for x in kinds)
    with jax.enable_x64(wide or jax.config.jax_enable_x64):
        return np.dtype(jnp.result_type(*known))


def _known(x: Any) -> Any:
    """Return an array's dtype; NumPy's arrays, whose 64 bits need the flag, as is."""
    if isinstance(x, (np.ndarray, np.generic)) and not is_lent(x):
        return x
    return np.dtype(x.dtype) if is_array(x) else x


def astype(x: Operand, dtype: Any, /, *, copy: Any = True, device: Any = None) -> Array:
    """Values converted to another dtype.

    Parameters
    ----------
    x : array
        The operand.
    dtype : dtype
        The target, honoured whatever `jax_enable_x64` says.
    copy : bool
        False: return `x` itself where nothing has to be converted.
    device : device, optional
        Must be the device of `x`.

    Returns
    -------
    array
        The shape of `x`. Complex to real drops the imaginary part.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.astype(jnp.asarray([1.7, -1.7]), jnp.int32))
    Array([ 1, -1], dtype=int32)
    """
    _table.check_device("astype", device)
    _table.check_operand("astype", x)
    target = as_dtype(dtype)
    if not copy and is_disk(x) and x.dtype == target:
        return x
    return call(_kernels.astype, x, name="astype", wide=is_wide(target), dtype=target)


__all__ = [
    "astype",
    "bfloat16",
    "bool",
    "bool_",
    "can_cast",
    "complex64",
    "complex128",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]  # fmt: skip
