"""Masks and positions of elements that are not zero, evaluated at the call.

Their shapes depend on values. Operands that fit the memory budget easily are evaluated
in memory; larger ones stream, and the results go to scratch (`algorithms.select`).
"""

from math import prod
from typing import Any

import numpy as np

from jask.numpy import _kernels
from jask.numpy._engine import (
    concrete,
    current,
    fetch,
    fits_easily,
    from_store,
    is_stored,
    place,
    positions,
    select,
    stored,
    to_disk,
)
from jask.numpy._table import (
    Array,
    Operand,
    axis_index,
    call,
    check_operand,
    ndim_of,
    shape_of,
)
from jask.numpy.manipulation import moveaxis, ravel, reshape


def masked(x: Array, mask: Array) -> Array:
    """Return `x[mask]` of a mask that has the first axes of `x`."""
    concrete("boolean indexing", x, mask)
    if fits_easily(x, mask):
        value, chosen = fetch("boolean indexing", x, mask)
        return to_disk(value[chosen])
    shape, axes = shape_of(x), ndim_of(mask)
    length, width = prod(shape[:axes]), prod(shape[axes:])
    rows, flat = _stored((x, (length, width)), (mask, (length,)))
    found = from_store(select(rows, flat, current()))
    return reshape(found, (shape_of(found)[0], *shape[axes:]))


def placed(x: Array, mask: Array, values: Array) -> Array:
    """Return `x` with values, one for each place where a mask holds, in those places.

    The mask has the first axes of `x`; `values` one axis for them, the others, and the
    dtype of `x`. Evaluated at the call.
    """
    shape, axes = shape_of(x), ndim_of(mask)
    length, width = prod(shape[:axes]), prod(shape[axes:])
    flat = (shape_of(values)[0], width)
    rows, holds, new = _stored((x, (length, width)), (mask, (length,)), (values, flat))
    return reshape(from_store(place(rows, holds, new, current())), shape)


def nonzero(x: Operand) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero, one array per axis."""
    x = check_operand("nonzero", x)
    concrete("nonzero", x)
    if fits_easily(x, *[_Index(shape_of(x))] * ndim_of(x)):
        (value,) = fetch("nonzero", x)
        return tuple(to_disk(i.astype(np.int64)) for i in np.nonzero(value))
    shape = shape_of(x)
    holds = call(_kernels.is_nonzero, x, name="is_nonzero")
    (flat,) = _stored((x if is_stored(x) else holds, (prod(shape),)))
    return tuple(map(from_store, positions(flat, shape, current())))


def _stored(*wanted: tuple[Array, tuple[int, ...]]) -> list[Any]:
    """Return stores of arrays in other shapes; what is lazy is evaluated."""
    arrays = [x if is_stored(x) else reshape(x, shape) for x, shape in wanted]
    pairs = zip(stored(arrays), wanted, strict=True)
    return [s if s.shape == shape else s.reshaped(shape) for s, (_, shape) in pairs]


class _Index:
    """Stands for the longest index array that there can be."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.nbytes = 8 * prod(shape)


def flatnonzero(a: Operand, **_: Any) -> Array:
    """Return the positions of what is not zero, counted in C order."""
    return nonzero(ravel(a))[0]


def argwhere(a: Operand, **_: Any) -> Array:
    """Return the indices of what is not zero, a row each."""
    found = nonzero(reshape(a, (1,)) if ndim_of(a) == 0 else a)
    length = shape_of(found[0])[0]
    if ndim_of(a) == 0:
        return to_disk(np.zeros((length, 0), np.int64))
    return call(_kernels.stack, list(found), name="argwhere", axis=1)


def compress(
    condition: Operand, a: Operand, axis: int | None = None, **_: Any
) -> Array:
    """Return the places of an axis where a condition holds."""
    if ndim_of(condition) != 1:
        msg = f"compress: the condition must have one axis; got {ndim_of(condition)}."
        raise ValueError(msg)
    rows = ravel(a) if axis is None else a
    where = axis_index(0 if axis is None else axis, ndim_of(rows))
    rows = moveaxis(rows, where, 0)
    holds = call(_kernels.astype, condition, name="astype", dtype=np.dtype(bool))
    length = min(shape_of(holds)[0], shape_of(rows)[0])
    if shape_of(holds)[0] > length and bool(holds[length:].any()):
        msg = f"compress: the condition chooses beyond the {length} places there are."
        raise ValueError(msg)
    return moveaxis(masked(rows[:length], holds[:length]), 0, where)


def extract(condition: Operand, arr: Operand, **_: Any) -> Array:
    """Return the elements where a condition holds, in C order."""
    return compress(ravel(condition), ravel(arr))
