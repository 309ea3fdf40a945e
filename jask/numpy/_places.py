"""Insertion at a few places of an axis: the slices between them are joined.

`jax.numpy` scatters what is inserted and what was there by the indices of either: as
many as the result is long. Where the places are known at the call, none are needed.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.numpy._checked import FEW, length_along
from jask.numpy._table import Operand, call, shape_of

type Insert = Callable[..., Any]


def inserting(insert: Insert) -> Insert:
    """Return `insert` that joins slices where the places are few and known."""

    @functools.wraps(insert)
    def joined(arr: Operand, obj: Any, values: Operand, axis: Any = None) -> Any:
        places = _known_places(shape_of(arr), obj, axis)
        if places is None:
            return insert(arr, obj, values, axis)
        alone = np.ndim(obj) == 0
        return call(
            _with, arr, values, name="insert", places=places, axis=axis, alone=alone
        )

    return joined


def _known_places(
    shape: tuple[int, ...], obj: Any, axis: Any
) -> tuple[int, ...] | None:
    """Return a few integers counted from the front; None for anything else."""
    known = isinstance(obj, int | np.integer | np.ndarray | jax.Array)
    if not known or isinstance(obj, jax.core.Tracer):
        return None
    places = np.asarray(obj)
    if places.dtype.kind not in "iu" or places.ndim > 1 or not 0 < places.size <= FEW:
        return None
    length = length_along(shape, axis)
    if length is None:
        return None
    counted = (int(i) + length * (i < 0) for i in places.ravel())
    return tuple(min(max(i, 0), length) for i in counted)


def _with(
    x: Any, values: Any, *, places: tuple[int, ...], axis: int | None, alone: bool
) -> Any:
    """Return the slices between places of an axis, and values before each of them."""
    x, axis = (jnp.ravel(x), 0) if axis is None else (x, axis % x.ndim)
    values = jnp.array(values, ndmin=x.ndim, dtype=x.dtype, copy=False)
    if alone:
        values = jnp.moveaxis(values, 0, axis)
    count = values.shape[axis] if len(places) == 1 else len(places)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    values = jnp.broadcast_to(values, shape)
    parts, last, each = [], 0, count // len(places)
    for k in sorted(range(len(places)), key=places.__getitem__):
        parts.append(lax.slice_in_dim(x, last, places[k], axis=axis))
        inserted = slice(k * each, (k + 1) * each)
        parts.append(values[(slice(None),) * axis + (inserted,)])
        last = places[k]
    parts.append(lax.slice_in_dim(x, last, x.shape[axis], axis=axis))
    return jnp.concatenate(parts, axis=axis)
