"""What NumPy computes with the very bits of XLA: moving, counting, joining bits.

XLA flushes subnormal floats to zero, so even a comparison or a sum of floats may
differ between the two. The table holds what cannot: primitives that copy elements, and
reductions of integers and booleans, which wrap around in both.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from jask.execute.host_gather import gather
from jask.trace.ir import Equation

__all__ = ["is_exact", "run_exactly"]

type Array = np.ndarray[Any, Any]
type Runner = Callable[[Equation, Sequence[Array]], Sequence[Array]]


def is_exact(eqn: Equation) -> bool:
    """Return whether NumPy computes the results of this equation bit by bit."""
    if eqn.name in _REDUCTIONS:
        return eqn.inputs[0].dtype.kind in "biu"
    return eqn.name in _MOVES


def run_exactly(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    """Return the results of an equation that `is_exact`; they may share memory."""
    if eqn.name in _REDUCTIONS:
        return [_reduced(eqn, operands[0])]
    return _MOVES[eqn.name](eqn, operands)


# ---- moves


def _reshape(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    order = eqn.params.get("dimensions")
    value = operands[0] if order is None else operands[0].transpose(order)
    return [value.reshape(eqn.outputs[0].shape)]


def _squeeze(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    return [operands[0].reshape(eqn.outputs[0].shape)]


def _transpose(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    return [operands[0].transpose(eqn.params["permutation"])]


def _broadcast(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    shape = eqn.outputs[0].shape
    stretched = [1] * len(shape)
    axes = eqn.params["broadcast_dimensions"]
    for n, d in zip(operands[0].shape, axes, strict=True):
        stretched[d] = n
    return [np.broadcast_to(operands[0].reshape(stretched), shape)]


def _slice(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    starts, stops = eqn.params["start_indices"], eqn.params["limit_indices"]
    strides = eqn.params["strides"] or (1,) * len(starts)
    return [operands[0][tuple(map(slice, starts, stops, strides))]]


def _rev(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    return [np.flip(operands[0], tuple(eqn.params["dimensions"]))]


def _concatenate(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    return [np.concatenate(list(operands), eqn.params["dimension"])]


def _stack(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    return [np.stack(list(operands), eqn.params["axis"])]


def _unstack(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    return list(np.moveaxis(operands[0], eqn.params["axis"], 0))


def _tile(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    return [np.tile(operands[0], eqn.params["reps"])]


def _pad(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    value, filler = operands
    out = np.full(eqn.outputs[0].shape, filler, value.dtype)
    taken: list[slice] = []
    places: list[slice] = []
    for n, size, (low, _, between) in zip(
        value.shape, out.shape, eqn.params["padding_config"], strict=True
    ):
        step = between + 1
        first = max(0, -(low // step))  # ceil(-low / step)
        stop = max(first, min(n, (size - 1 - low) // step + 1))
        taken.append(slice(first, stop))
        begin = low + first * step
        places.append(slice(begin, begin + (stop - first) * step, step))
    out[tuple(places)] = value[tuple(taken)]
    return [out]


def _iota(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:  # noqa: ARG001 (every primitive's signature)
    out, axis = eqn.outputs[0], eqn.params["dimension"]
    count = np.arange(out.shape[axis], dtype=np.int64).astype(out.dtype)
    along = [1] * out.ndim
    along[axis] = -1
    return [np.broadcast_to(count.reshape(along), out.shape)]


def _empty(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:  # noqa: ARG001 (every primitive's signature)
    return [np.zeros(eqn.outputs[0].shape, eqn.outputs[0].dtype)]


def _starts(operand: Array, size: Sequence[int], starts: Sequence[Array]) -> Any:
    """Return where a rectangle lies, pushed inside as XLA does."""
    return tuple(
        slice(at, at + m)
        for n, m, s in zip(operand.shape, size, starts, strict=True)
        for at in [min(max(int(s), 0), n - m)]
    )


def _dynamic_slice(eqn: Equation, operands: Sequence[Array]) -> Sequence[Array]:
    value, *starts = operands
    return [value[_starts(value, eqn.outputs[0].shape, starts)]]


def _dynamic_update_slice(
    eqn: Equation,  # noqa: ARG001 (every primitive's signature)
    operands: Sequence[Array],
) -> Sequence[Array]:
    value, update, *starts = operands
    out = value.copy()
    out[_starts(value, update.shape, starts)] = update
    return [out]


_MOVES: Mapping[str, Runner] = MappingProxyType(
    {
        "reshape": _reshape,
        "squeeze": _squeeze,
        "transpose": _transpose,
        "broadcast_in_dim": _broadcast,
        "slice": _slice,
        "rev": _rev,
        "concatenate": _concatenate,
        "stack": _stack,
        "unstack": _unstack,
        "tile": _tile,
        "pad": _pad,
        "iota": _iota,
        "gather": gather,
        "empty": _empty,
        "empty2": _empty,
        "dynamic_slice": _dynamic_slice,
        "dynamic_update_slice": _dynamic_update_slice,
    }
)


# ---- reductions of integers and booleans


def _reduced(eqn: Equation, value: Array) -> Array:
    function, start = _REDUCTIONS[eqn.name]
    axes, dtype = tuple(eqn.params["axes"]), value.dtype
    return np.asarray(function.reduce(value, axes, dtype=dtype, initial=start(dtype)))


def _least(dtype: np.dtype[Any]) -> Any:
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _most(dtype: np.dtype[Any]) -> Any:
    return True if dtype.kind == "b" else np.iinfo(dtype).max


def _all_bits(dtype: np.dtype[Any]) -> Any:
    return -1 if dtype.kind == "i" else _most(dtype)


_REDUCTIONS: Mapping[str, tuple[np.ufunc, Callable[[Any], Any]]] = MappingProxyType(
    {
        "reduce_sum": (np.add, lambda _: 0),
        "reduce_prod": (np.multiply, lambda _: 1),
        "reduce_max": (np.maximum, _least),
        "reduce_min": (np.minimum, _most),
        "reduce_and": (np.bitwise_and, _all_bits),
        "reduce_or": (np.bitwise_or, lambda _: 0),
        "reduce_xor": (np.bitwise_xor, lambda _: 0),
    }
)
