"""Set functions of the standard. Shapes depend on values: evaluated at the call.

Without `size=` the operand is evaluated at the call, in memory if it fits easily, and
otherwise sorted in scratch; under a trace that is JAX's concretization error.
"""

import operator
from typing import Any, NamedTuple

import numpy as np

from jask.numpy import _kernels, _ordered
from jask.numpy._engine import concrete, fetch, fits_easily, to_disk
from jask.numpy._table import Array, Operand, call, check_operand, shape_of
from jask.numpy._unique import Distinct
from jask.numpy.searching import method_for


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Array
    """The distinct elements, in ascending order."""

    indices: Array
    """Where each occurs first."""

    inverse_indices: Array
    """Which of them each element is."""

    counts: Array
    """How often each occurs."""


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Array
    """The distinct elements, in ascending order."""

    counts: Array
    """How often each occurs."""


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Array
    """The distinct elements, in ascending order."""

    inverse_indices: Array
    """Which of them each element is."""


def _unique(name: str, x: Operand, size: int | None, fill_value: Operand) -> UniqueAll:
    """Return everything about the distinct elements; each NaN is distinct."""
    if size is not None:
        length = operator.index(size)
        return UniqueAll(
            *call(_kernels.unique, x, fill_value, name=name, wide=True, size=length)
        )
    x = check_operand(name, x)
    concrete(name, x)
    if not (_is_simple(x) or fits_easily(x, x, x, x)):
        found = Distinct(x, positions=name not in {"unique_values", "unique_counts"})
        return _chosen(name, found)
    (value,) = fetch(name, x)
    flat = value.reshape(-1)
    values, indices, inverse, counts = np.unique(
        flat,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        equal_nan=False,
    )
    wide = np.int64
    return UniqueAll(
        to_disk(values),
        to_disk(indices.astype(wide)),
        to_disk(inverse.reshape(value.shape).astype(wide)),
        to_disk(counts.astype(wide)),
    )


def _is_simple(x: Operand) -> bool:
    """Return whether an operand is a Python number, or has no elements or axes."""
    shape = shape_of(x)
    return not shape or 0 in shape


def _chosen(name: str, found: Distinct) -> UniqueAll:
    """Return what a function of this name returns; the rest stays None."""
    every = name == "unique_all"
    return UniqueAll(
        found.values(),
        found.indices() if every else None,
        found.inverse() if every or name == "unique_inverse" else None,
        found.counts() if every or name == "unique_counts" else None,
    )


def unique_all(
    x: Operand, /, *, size: int | None = None, fill_value: Operand = None
) -> UniqueAll:
    """Distinct elements with first indices, inverse and counts.

    Parameters
    ----------
    x : array
        The operand; several axes are flattened.
    size : int, optional
        How many distinct elements the result has room for; needed under a trace.
    fill_value : scalar, optional
        With `size`: what fills up; the smallest element unless given.

    Returns
    -------
    UniqueAll
        `values`, `indices`, `inverse_indices` (in the shape of `x`), `counts`.
        Evaluated at the call, in scratch if `x` is large, unless `size` is given.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.unique_all(jnp.asarray([6, 2, 6])).values)
    Array([2, 6], dtype=int32)
    """
    return _unique("unique_all", x, size, fill_value)


def unique_counts(
    x: Operand, /, *, size: int | None = None, fill_value: Operand = None
) -> UniqueCounts:
    """Distinct elements with their counts.

    Parameters
    ----------
    x : array
        The operand; several axes are flattened.
    size : int, optional
        How many distinct elements the result has room for; needed under a trace.
    fill_value : scalar, optional
        With `size`: what fills up; the smallest element unless given.

    Returns
    -------
    UniqueCounts
        `values` and `counts`. Evaluated at the call, in scratch if `x` is large, unless
        `size` is given.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> [int(n) for n in jnp.unique_counts(jnp.asarray([6, 2, 6])).counts]
    [1, 2]
    """
    found = _unique("unique_counts", x, size, fill_value)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(
    x: Operand, /, *, size: int | None = None, fill_value: Operand = None
) -> UniqueInverse:
    """Distinct elements with the inverse.

    Parameters
    ----------
    x : array
        The operand; several axes are flattened.
    size : int, optional
        How many distinct elements the result has room for; needed under a trace.
    fill_value : scalar, optional
        With `size`: what fills up; the smallest element unless given.

    Returns
    -------
    UniqueInverse
        `values` and `inverse_indices` (in the shape of `x`). Evaluated at the call,
        in scratch if `x` is large, unless `size` is given.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jnp.unique_inverse(jnp.asarray([[6, 2], [6, 6]])).inverse_indices.shape
    (2, 2)
    """
    found = _unique("unique_inverse", x, size, fill_value)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(
    x: Operand, /, *, size: int | None = None, fill_value: Operand = None
) -> Array:
    """Distinct elements in ascending order.

    Parameters
    ----------
    x : array
        The operand; several axes are flattened.
    size : int, optional
        How many distinct elements the result has room for; needed under a trace.
    fill_value : scalar, optional
        With `size`: what fills up; the smallest element unless given.

    Returns
    -------
    array
        One axis; the dtype of `x`. Evaluated at the call, in scratch if `x` is large,
        unless `size` is given.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.unique_values(jnp.asarray([6, 2, 6])))
    Array([2, 6], dtype=int32)
    """
    return _unique("unique_values", x, size, fill_value).values


def isin(
    x1: Operand,
    x2: Operand,
    /,
    assume_unique: Any = False,  # noqa: FBT002 - jax.numpy's signature
    invert: Any = False,  # noqa: FBT002 - the same
    *,
    method: str = "auto",
) -> Array:
    """Whether each element of `x1` is among the elements of `x2`.

    Parameters
    ----------
    x1 : array or scalar
        What to look for.
    x2 : array or scalar
        Where to look.
    assume_unique : bool
        For compatibility; a hint.
    invert : bool
        Whether it is not.
    method : {"auto", "compare_all", "binary_search", "sort"}
        "compare_all": with every element of `x2`; "binary_search": `x2` is sorted, and
        must fit the memory budget; "sort": both are sorted. "auto": by comparing if
        `x2` has few elements, or takes over a quarter of the budget and
        `x1.size * x2.size` is at most 2**33; by sorting if it takes over half of it.

    Returns
    -------
    array
        The shape of `x1`; bool.
        Reads nothing until a value is asked for; then streams.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.isin(jnp.asarray([1, 2, 3]), jnp.asarray([2, 9])))
    Array([False,  True, False], dtype=bool)
    """
    del assume_unique
    if method not in _METHODS:
        msg = f"isin: the method must be one of {_METHODS}; got {method!r}."
        raise ValueError(msg)
    if method == "auto":
        method = method_for(x2, x1) or "auto"
    if method == "sort":
        kernel, options = _ordered.among, {"invert": invert is True}
        return call(kernel, x1, x2, name="isin", wide=True, **options)
    return call(
        _kernels.isin, x1, x2, name="isin", invert=invert is True, method=method
    )


_METHODS = ("auto", "compare_all", "binary_search", "sort")
"""How `isin` may look."""


__all__ = [
    "isin", "unique_all", "unique_counts", "unique_inverse", "unique_values",
]  # fmt: skip
