"""`gather` by NumPy: elements chosen at run-time places, bit by bit as by XLA.

1. Each axis of the operand gets the first element of every window, from the places.
2. A window that sticks out is pushed inside; or, in mode "fill", counts as missing.
3. One fancy index takes all windows at once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import lax

from jask.trace.ir import Equation

__all__ = ["gather"]

type Array = np.ndarray[Any, Any]


def gather(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    """Return what a `gather` equation chooses."""
    value, places = operands
    numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    shape, windows = eqn.outputs[0].shape, tuple(numbers.offset_dims)
    dropped = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    axes = iter(windows)
    inside = np.ones(places.shape[:-1], bool)
    index: list[Array] = []
    for d, (n, size) in enumerate(zip(value.shape, sizes, strict=True)):
        first = _first(numbers, d, places)
        inside &= (first >= 0) & (first <= n - size)
        start = np.expand_dims(np.clip(first, 0, n - size).astype(np.int64), windows)
        if d not in dropped:
            axis = next(axes)
            along = [-1 if k == axis else 1 for k in range(len(shape))]
            start = start + np.arange(size).reshape(along)
        index.append(start)
    found = np.broadcast_to(value[tuple(index)], shape)
    if eqn.params["mode"] != lax.GatherScatterMode.FILL_OR_DROP:
        return [found]
    return [np.where(np.expand_dims(inside, windows), found, _filler(eqn))]


def _first(numbers: Any, d: int, places: Array) -> Array:
    """Return where the windows start along one axis of the operand."""
    if d in numbers.start_index_map:
        return places[..., numbers.start_index_map.index(d)]
    batch = places.shape[:-1]
    if d not in numbers.operand_batching_dims:
        return np.zeros(batch, np.int64)
    axis = numbers.start_indices_batching_dims[numbers.operand_batching_dims.index(d)]
    along = [-1 if k == axis else 1 for k in range(len(batch))]
    return np.broadcast_to(np.arange(batch[axis]).reshape(along), batch)


def _filler(eqn: Equation) -> Array:
    """Return what stands for a missing element."""
    dtype, given = eqn.outputs[0].dtype, eqn.params["fill_value"]
    if given is None:
        given = {
            "b": lambda: True,
            "i": lambda: np.iinfo(dtype).min,
            "u": lambda: np.iinfo(dtype).max,
        }.get(dtype.kind, lambda: np.nan)()
    return np.asarray(given, dtype)
