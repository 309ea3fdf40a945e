"""Distinct elements of arrays larger than memory, from sorts.

1. The elements are sorted beside their positions, into scratch; the sort is stable.
2. An element is new where it differs from the one before it. What is new is chosen as
   by a mask: the values, and the positions where they occur first.
3. Counts are the distances between the places of what is new.
4. How many are new up to a place is the number of its value; sorted back by position,
   that is the inverse. It is lazy: it is sorted when it is asked for.

Numbers that XLA compares as equal are one: subnormal numbers are zeros.
"""

from typing import Any

import jax.numpy as jnp
from jax import lax

from jask.numpy._engine import from_store, stored
from jask.numpy._kernels import index_dtype
from jask.numpy._ordered import is_new
from jask.numpy._select import masked, nonzero
from jask.numpy._table import Array, call, shape_of
from jask.numpy.manipulation import reshape

__all__ = ["Distinct"]


class Distinct:
    """The distinct elements of an array; each NaN is distinct unless `equal_nan`."""

    def __init__(
        self, x: Array, *, positions: bool = True, equal_nan: bool = False
    ) -> None:
        self._shape = shape_of(x)
        kernel = _sorted_beside if positions else _sorted
        made = call(kernel, reshape(x, (-1,)), name="unique", wide=True)
        lines = [from_store(s) for s in stored(list(made))]
        self._sorted, self._order = lines[0], lines[-1]
        self._new = call(is_new, self._sorted, name="is_new", equal_nan=equal_nan)

    def values(self) -> Array:
        """Return them in ascending order."""
        return masked(self._sorted, self._new)

    def indices(self) -> Array:
        """Return where each occurs first."""
        return masked(self._order, self._new)

    def counts(self) -> Array:
        """Return how often each occurs."""
        (starts,) = nonzero(self._new)
        length = shape_of(self._sorted)[0]
        return call(_distances, starts, name="counts", wide=True, length=length)

    def inverse(self) -> Array:
        """Return which of them each element is."""
        flat = call(_numbers, self._order, self._new, name="inverse", wide=True)
        return reshape(flat, self._shape)


def _sorted(x: Any) -> tuple[Any]:
    return (lax.sort(x),)


def _sorted_beside(x: Any) -> Any:
    """Return the elements in order, and where each was."""
    return lax.sort((x, lax.iota(index_dtype(), x.shape[0])), num_keys=1)


def _distances(starts: Any, *, length: int) -> Any:
    stops = jnp.concatenate([starts[1:], jnp.full((1,), length, starts.dtype)])
    return stops - starts


def _numbers(order: Any, new: Any) -> Any:
    """Return the number of each element's value, in the order of the elements."""
    number = jnp.cumsum(new, dtype=index_dtype()) - 1
    return lax.sort((order, number), num_keys=1)[1]
