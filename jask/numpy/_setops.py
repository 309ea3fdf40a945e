"""`unique` and the set operations of `jax.numpy`, of arrays larger than memory.

Each returns NotImplemented where the operands fit memory easily, or for what is asked
so seldom that it is done there: `jax.numpy` then has them.

1. `unique` and `union1d` are the distinct elements of a sort (`_unique.py`).
2. `intersect1d` and `setdiff1d` choose from the distinct elements of the first array
   those that are, or are not, in the second.
3. `setxor1d` chooses what occurs once in the distinct elements of both.
"""

from typing import Any

import jax.numpy as jnp

from jask.numpy._engine import concrete, fits_easily, takes_much
from jask.numpy._select import masked
from jask.numpy._table import Array, Operand, call, check_operand, is_array, shape_of
from jask.numpy._unique import Distinct
from jask.numpy.manipulation import ravel
from jask.numpy.sets import isin

__all__ = ["intersect1d", "setdiff1d", "setxor1d", "union1d", "unique"]


def _is_large(name: str, *operands: Operand) -> bool:
    """Return whether sorting operands in memory might not fit; they have values."""
    known = list(filter(is_array, [check_operand(name, x) for x in operands]))
    concrete(name, *known)
    sized = [x for x in known if 0 not in shape_of(x)]
    return bool(sized) and not fits_easily(*sized * 4)


def unique(
    ar: Operand,
    return_index: Any = False,  # noqa: FBT002 - jax.numpy's signature
    return_inverse: Any = False,  # noqa: FBT002 - the same
    return_counts: Any = False,  # noqa: FBT002 - the same
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    **options: Any,
) -> Any:
    """Return the distinct elements in order, and what else is asked for."""
    if axis is not None or any(v is not None for v in _beyond(options).values()):
        return NotImplemented
    if not _is_large("unique", ar):
        return NotImplemented
    beside = bool(return_index or return_inverse)
    found = Distinct(ar, positions=beside, equal_nan=equal_nan)
    parts = [found.values()]
    parts += [found.indices()] if return_index else []
    parts += [found.inverse()] if return_inverse else []
    parts += [found.counts()] if return_counts else []
    return tuple(parts) if len(parts) > 1 else parts[0]


def _beyond(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that change the values; whether they are sorted does not."""
    return {k: v for k, v in options.items() if k != "sorted"}


def _distinct(x: Operand) -> Array:
    return Distinct(x, positions=False, equal_nan=True).values()


def _joined(x: Operand, y: Operand) -> Array:
    return call(_concatenated, x, y, name="concatenate")


def _concatenated(x: Any, y: Any) -> Any:
    dtype = jnp.result_type(x, y)
    return jnp.concatenate([jnp.ravel(v).astype(dtype) for v in (x, y)])


def union1d(ar1: Operand, ar2: Operand, **_: Any) -> Any:
    """Return the distinct elements of both."""
    if not _is_large("union1d", ar1, ar2):
        return NotImplemented
    return _distinct(_joined(ar1, ar2))


def intersect1d(
    ar1: Operand,
    ar2: Operand,
    assume_unique: Any = False,  # noqa: FBT002 - jax.numpy's signature
    return_indices: Any = False,  # noqa: FBT002 - the same
    **_: Any,
) -> Any:
    """Return the distinct elements that are in both."""
    del assume_unique
    if return_indices or not _is_large("intersect1d", ar1, ar2):
        return NotImplemented
    dtype = call(_concatenated, ar1, ar2, name="concatenate").dtype
    values = _distinct(call(_cast, ar1, name="astype", dtype=dtype))
    return masked(values, isin(values, ar2, method=_how(ar2)))


def _cast(x: Any, *, dtype: Any) -> Any:
    return jnp.asarray(x).astype(dtype)


def _how(line: Operand) -> str:
    """Return how to look in an array: what is long is sorted, as the other one is."""
    return "sort" if takes_much(line) else "auto"


def setdiff1d(
    ar1: Operand,
    ar2: Operand,
    assume_unique: Any = False,  # noqa: FBT002 - jax.numpy's signature
    **_: Any,
) -> Any:
    """Return the distinct elements of the first array that are not in the second."""
    if not _is_large("setdiff1d", ar1, ar2):
        return NotImplemented
    values = ravel(ar1) if assume_unique else _distinct(ar1)
    return masked(values, isin(values, ar2, invert=True, method=_how(ar2)))


def setxor1d(ar1: Operand, ar2: Operand, *_: Any, **__: Any) -> Any:
    """Return the distinct elements that are in one of the arrays."""
    if not _is_large("setxor1d", ar1, ar2):
        return NotImplemented
    both = Distinct(_joined(_distinct(ar1), _distinct(ar2)), positions=False)
    return masked(both.values(), both.counts() == 1)
