"""Scalars computed while a program is built.

Arithmetic that NumPy rounds as XLA does is done by NumPy; the rest is evaluated once
by JAX and remembered.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jask.trace.flatten import Step
from jask.trace.ir import Literal

type Scalar = np.ndarray[Any, Any]

_NUMPY: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "is_finite": np.isfinite,
}

_folded: dict[Hashable, Scalar] = {}

MOST_REMEMBERED = 4096
"""How many scalars are remembered before all are forgotten."""


def literal_key(literal: Literal) -> Hashable:
    """Return a scalar by value, so that 0.0 and -0.0 differ and NaN equals itself."""
    return ("scalar", literal.value.dtype, literal.value.tobytes())


def _by_numpy(name: str, values: Sequence[Scalar], dtype: Any) -> Scalar | None:
    kinds = {v.dtype.kind for v in values}
    if any(v.dtype.itemsize < 4 and v.dtype.kind == "f" for v in values):
        return None
    if name == "div" and kinds == {"f"}:
        return np.asarray(np.divide(*values), dtype)
    if name == "convert_element_type" and kinds <= set("biuf"):
        wide = not (kinds == {"f"} and np.dtype(dtype).kind in "iu")
        return np.asarray(values[0]).astype(dtype) if wide else None
    if name in _NUMPY and kinds <= set("iuf"):
        return np.asarray(_NUMPY[name](*values), dtype)
    return None


def _by_jax(step: Step, values: Sequence[Scalar]) -> Scalar:
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):  # noqa: FBT003 (JAX's own signature)
        operands = [jax.numpy.asarray(v) for v in values]
        return np.asarray(step.primitive.bind(*operands, **step.params))


def _is_number(shape: tuple[int, ...], dtype: Any) -> bool:
    """Return whether a result is one number, not an array and not a random key."""
    return not shape and isinstance(dtype, np.dtype)


def fold(step: Step, operands: Sequence[Any]) -> Literal | None:
    """Return the scalar that a step computes, if all its operands are scalars."""
    literals = [a for a in operands if isinstance(a, Literal)]
    if not literals or len(literals) < len(operands) or step.frozen is None:
        return None
    if step.primitive.multiple_results or not _is_number(*step.results[0]):
        return None
    key = (step.name, step.frozen, *map(literal_key, literals))
    value = _folded.get(key)
    if value is None:
        values = [a.value for a in literals]
        with np.errstate(all="ignore"):
            value = _by_numpy(step.name, values, step.results[0][1])
        if value is None:
            value = _by_jax(step, values)
        if len(_folded) >= MOST_REMEMBERED:
            _folded.clear()
        _folded[key] = value
    return Literal(value)
