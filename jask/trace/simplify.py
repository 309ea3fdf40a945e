"""Equations whose result is one of their operands, exactly.

One function per primitive says which operand the result equals bit for bit, NaN and
signed zeros included, or None. `x + 0.0` stays: it turns -0.0 into 0.0.

`COMPOSED` holds the primitives of which two in a row are one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jask.trace.ir import Atom, Equation, Literal, Var

type Params = Mapping[str, Any]
type Simplifier = Callable[[Params, Sequence[Atom]], Atom | None]

type Composed = tuple[Params, Atom]
"""The parameters and the operand of the one equation that replaces two."""


def constant_of(atom: Atom) -> np.ndarray[Any, Any] | None:
    """Return the value that every element of an atom has, if that is known."""
    if isinstance(atom, Literal):
        return atom.value
    eqn = atom.producer
    if eqn is not None and eqn.name == "broadcast_in_dim":
        operand = eqn.inputs[0]
        return operand.value if isinstance(operand, Literal) else None
    return None


def producer_of(atom: Atom, *names: str) -> Equation | None:
    """Return the equation that makes an atom if it is one of these primitives."""
    eqn = atom.producer if isinstance(atom, Var) else None
    return eqn if eqn is not None and eqn.name in names else None


def _has(atom: Atom, value: float) -> bool:
    """Return whether each element is this real number, its sign included."""
    found = constant_of(atom)
    if found is None or found.dtype.kind == "c":
        return False
    if found.dtype.kind in "biu":
        return bool(found == value)
    number = float(found)
    return number == value and np.signbit(number) == np.signbit(value)


def _is_integer(atom: Atom) -> bool:
    return np.dtype(atom.dtype).kind in "iu"


def _beside(operands: Sequence[Atom], unit: Callable[[Atom], bool]) -> Atom | None:
    """Return the operand beside a unit, if it has the shape of the result."""
    first, second = operands
    if unit(second) and first.ndim >= second.ndim and _covers(first, second):
        return first
    if unit(first) and second.ndim >= first.ndim and _covers(second, first):
        return second
    return None


def _covers(atom: Atom, other: Atom) -> bool:
    """Return whether an elementwise result has the shape of `atom`."""
    return not other.shape or atom.shape == other.shape


def _mul(_: Params, operands: Sequence[Atom]) -> Atom | None:
    return _beside(operands, lambda a: _has(a, 1))


def _div(_: Params, operands: Sequence[Atom]) -> Atom | None:
    x, y = operands
    return x if _has(y, 1) and _covers(x, y) else None


def _add(_: Params, operands: Sequence[Atom]) -> Atom | None:
    zero = 0 if _is_integer(operands[0]) else -0.0
    return _beside(operands, lambda a: _has(a, zero))


def _sub(_: Params, operands: Sequence[Atom]) -> Atom | None:
    x, y = operands
    return x if _has(y, 0.0) and _covers(x, y) else None


def _least(atom: Atom) -> float:
    return np.iinfo(atom.dtype).min if _is_integer(atom) else -np.inf


def _greatest(atom: Atom) -> float:
    return np.iinfo(atom.dtype).max if _is_integer(atom) else np.inf


def _max(_: Params, operands: Sequence[Atom]) -> Atom | None:
    if np.dtype(operands[0].dtype).kind == "b":
        return None
    return _beside(operands, lambda a: _has(a, _least(a)))


def _min(_: Params, operands: Sequence[Atom]) -> Atom | None:
    if np.dtype(operands[0].dtype).kind == "b":
        return None
    return _beside(operands, lambda a: _has(a, _greatest(a)))


def _and(_: Params, operands: Sequence[Atom]) -> Atom | None:
    return _beside(operands, lambda a: a.dtype == bool and _has(a, 1))


def _or(_: Params, operands: Sequence[Atom]) -> Atom | None:
    return _beside(operands, lambda a: _has(a, 0))


def _select_n(_: Params, operands: Sequence[Atom]) -> Atom | None:
    which, *cases = operands
    if all(c is cases[0] for c in cases):
        return cases[0]
    known = constant_of(which)
    return None if known is None else cases[int(known)]


def _convert(params: Params, operands: Sequence[Atom]) -> Atom | None:
    return operands[0] if operands[0].dtype == params["new_dtype"] else None


def _transpose(params: Params, operands: Sequence[Atom]) -> Atom | None:
    axes = params["permutation"]
    return operands[0] if tuple(axes) == tuple(range(len(axes))) else None


def _reshape(params: Params, operands: Sequence[Atom]) -> Atom | None:
    same = operands[0].shape == tuple(params["new_sizes"])
    return operands[0] if same and params["dimensions"] is None else None


def _broadcast(params: Params, operands: Sequence[Atom]) -> Atom | None:
    same = operands[0].shape == tuple(params["shape"])
    return operands[0] if same and len(operands) == 1 else None


def _no_dimensions(params: Params, operands: Sequence[Atom]) -> Atom | None:
    return operands[0] if not params["dimensions"] else None


def _no_axes(params: Params, operands: Sequence[Atom]) -> Atom | None:
    return operands[0] if not params["axes"] else None


def _slice(params: Params, operands: Sequence[Atom]) -> Atom | None:
    x = operands[0]
    whole = (
        not any(params["start_indices"])
        and tuple(params["limit_indices"]) == x.shape
        and set(params["strides"] or ()) <= {1}
    )
    return x if whole else None


def _dynamic_slice(params: Params, operands: Sequence[Atom]) -> Atom | None:
    same = operands[0].shape == tuple(params["slice_sizes"])
    return operands[0] if same else None


def _pad(params: Params, operands: Sequence[Atom]) -> Atom | None:
    none = all(not any(p) for p in params["padding_config"])
    return operands[0] if none else None


def _concatenate(_: Params, operands: Sequence[Atom]) -> Atom | None:
    return operands[0] if len(operands) == 1 else None


def _integer_pow(params: Params, operands: Sequence[Atom]) -> Atom | None:
    return operands[0] if params["y"] == 1 else None


def _twice(name: str) -> Simplifier:
    """Return the simplifier of a function that is its own inverse."""

    def simplifier(_: Params, operands: Sequence[Atom]) -> Atom | None:
        eqn = producer_of(operands[0], name)
        return None if eqn is None else eqn.inputs[0]

    return simplifier


SIMPLIFIERS: Mapping[str, Simplifier] = {
    "mul": _mul,
    "div": _div,
    "add": _add,
    "add_any": _add,
    "sub": _sub,
    "max": _max,
    "min": _min,
    "and": _and,
    "or": _or,
    "select_n": _select_n,
    "convert_element_type": _convert,
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast_in_dim": _broadcast,
    "squeeze": _no_dimensions,
    "rev": _no_dimensions,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "integer_pow": _integer_pow,
    "neg": _twice("neg"),
    "not": _twice("not"),
    "reduce_sum": _no_axes,
    "reduce_prod": _no_axes,
    "reduce_max": _no_axes,
    "reduce_min": _no_axes,
    "reduce_and": _no_axes,
    "reduce_or": _no_axes,
}
"""Which operand the result of a primitive is, by its name."""


def _transposes(params: Params, eqn: Equation) -> Composed:
    inner = eqn.params["permutation"]
    axes = tuple(inner[axis] for axis in params["permutation"])
    return {**params, "permutation": axes}, eqn.inputs[0]


def _reshapes(params: Params, eqn: Equation) -> Composed | None:
    if params["dimensions"] is not None or eqn.params["dimensions"] is not None:
        return None
    return params, eqn.inputs[0]


def _broadcasts(params: Params, eqn: Equation) -> Composed | None:
    if len(eqn.inputs) != 1:
        return None
    outer = params["broadcast_dimensions"]
    axes = tuple(outer[axis] for axis in eqn.params["broadcast_dimensions"])
    return {**params, "broadcast_dimensions": axes}, eqn.inputs[0]


COMPOSED: Mapping[str, Callable[[Params, Equation], Composed | None]] = {
    "transpose": _transposes,
    "reshape": _reshapes,
    "broadcast_in_dim": _broadcasts,
}
"""How two equations of one primitive in a row become one, by its name."""
