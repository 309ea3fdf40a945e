"""What may be an operand, and how it becomes a disk array.

1. Whether an operation is traced with 64-bit types is decided from the user's flag and
   the operands that are 64-bit already (disk arrays, JAX arrays and tracers).
2. Python scalars become weakly typed run-time operands, so promotion is JAX's.
3. Concrete arrays become lazy nodes at once: read-only mappings of files are read where
   they are, NumPy's other arrays copied. Tracers are bound with `Dematerialize`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jask.config import current
from jask.hijax.materialize import Dematerialize
from jask.hijax.type import DiskArrayType, is_disk, make_value
from jask.stores._dtypes import is_computable
from jask.stores.mapped import MappedStore, is_lent, require_small
from jask.trace.graph import Dense, Source
from jask.trace.keys import is_key

__all__ = ["Operand", "as_operands", "from_memmap", "is_64_bit"]

_SCALARS = (bool, int, float, complex)


@dataclass(frozen=True, slots=True)
class Operand:
    """A disk array, or a tracer of one, that an operation takes."""

    value: Any
    """The array."""

    aval: DiskArrayType
    """Its type."""

    weak: bool = False
    """Whether it stands for a Python scalar."""

    @property
    def is_64_bit(self) -> bool:
        """Whether it makes the operation a 64-bit one."""
        return not self.weak and is_64_bit(self.aval.dtype)


def as_operands(
    leaves: Sequence[Any], *, x64: bool = False
) -> tuple[list[Operand], bool]:
    """Return operands for the leaves, and whether to trace with 64-bit types."""
    leaves = [from_memmap(x) if is_lent(x) else x for x in leaves]
    wide = x64 or bool(jax.config.jax_enable_x64) or any(map(_forces_x64, leaves))
    return [_as_operand(x, x64=wide) for x in leaves], wide


def from_memmap(pages: Any) -> Any:
    """Return a disk array that reads a read-only mapping where it is."""
    _require_number(pages.dtype, pages)
    store = MappedStore(pages)
    return make_value(Source(store.shape, store.dtype, store))


def is_64_bit(dtype: Any) -> bool:
    """Return whether JAX holds this type only with 64-bit types on."""
    return np.dtype(dtype) in _WIDE


_WIDE = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))


def _forces_x64(x: Any) -> bool:
    if is_disk(x):
        return is_64_bit(x.dtype)
    if isinstance(x, jax.Array) and not is_key(x.dtype):
        return not x.weak_type and is_64_bit(x.dtype)
    return False


def _as_operand(x: Any, *, x64: bool) -> Operand:
    if is_disk(x):
        return Operand(x, DiskArrayType(tuple(x.shape), np.dtype(x.dtype)))
    if isinstance(x, jax.Array):
        _require_number(x.dtype, x)
    if isinstance(x, jax.core.Tracer):
        aval = jax.typeof(x)
        value = Dematerialize.of(x)
        return Operand(value, jax.typeof(value), weak=bool(aval.weak_type))
    if isinstance(x, jax.Array):
        return _dense(x, weak=bool(x.weak_type))
    if isinstance(x, np.ndarray | np.generic):
        require_small(x, current().memory_budget)
        array = np.array(x)  # a copy: later changes are not seen
        _require_number(array.dtype, x)
        array = array.astype(_canonical(array.dtype, x64=x64), copy=False)
        return _dense(array, weak=False)
    if isinstance(x, _SCALARS):
        return _dense(_scalar(x, x64=x64), weak=True)
    msg = (
        f"An operand must be a DiskArray, an array or a number; got "
        f"{type(x).__name__}: {x!r:.80}."
    )
    raise TypeError(msg)


def _require_number(dtype: Any, x: Any) -> None:
    if jax.numpy.issubdtype(dtype, jax.dtypes.prng_key):
        msg = (
            f"An operand must not be a random key; got {dtype}. Draw the numbers "
            "with jax.random outside, and pass them."
        )
        raise TypeError(msg)
    if not is_computable(dtype):
        msg = f"An operand must be numeric or boolean; got dtype {dtype}: {x!r:.80}."
        raise TypeError(msg)


def _dense(value: Any, *, weak: bool) -> Operand:
    node = Dense(tuple(value.shape), np.dtype(value.dtype), value)
    return Operand(make_value(node), DiskArrayType(node.shape, node.dtype), weak=weak)


def _canonical(dtype: Any, *, x64: bool) -> Any:
    native = dtype.newbyteorder("=") if dtype.byteorder in "<>" else dtype
    with jax.enable_x64(x64):
        return jax.dtypes.canonicalize_dtype(native)


def _scalar(x: Any, *, x64: bool) -> np.ndarray[Any, Any]:
    kind = next(k for k in _SCALARS if isinstance(x, k))
    if kind is bool:
        return np.asarray(x)
    narrow = {int: np.int32, float: np.float32, complex: np.complex64}
    wide = {int: np.int64, float: np.float64, complex: np.complex128}
    with np.errstate(over="ignore"):
        return np.asarray(x, (wide if x64 else narrow)[kind])
