"""Where the facade meets the rest of jask: the only file here that knows its names."""

from typing import Any

import jax
from jask.array import DiskArray, from_numpy
from jask.hijax.apply import apply
from jask.hijax.materialize import dematerialize, materialize
from jask.hijax.type import DiskArrayType

import numpy as np

__all__ = ["DiskArray", "apply", "fetch", "is_disk", "is_traced", "to_disk"]


def is_traced(x: Any) -> bool:
    """Return whether `x` is a tracer, of an in-memory or of a disk array."""
    return isinstance(x, jax.core.Tracer)


def is_disk(x: Any) -> bool:
    """Return whether `x` is a DiskArray or a tracer of one."""
    return isinstance(x, DiskArray) or (
        is_traced(x) and isinstance(jax.typeof(x), DiskArrayType)
    )


def to_disk(x: Any) -> Any:
    """Return an in-memory array as a DiskArray; a DiskArray is returned as it is."""
    if is_disk(x):
        return x
    return from_numpy(x) if isinstance(x, np.ndarray) else dematerialize(x)


def fetch(name: str, *arrays: Any) -> list[np.ndarray[Any, Any]]:
    """Evaluate arrays now, in one go; MemoryBudgetError if they do not fit.

    Under a trace there is nothing to evaluate: JAX's concretization error.
    """
    for x in arrays:
        if is_traced(x):
            raise jax.errors.ConcretizationTypeError(
                x, f"{name}: the shape of the result depends on values."
            )
    disk = [x for x in arrays if is_disk(x)]
    values = iter(_evaluated(disk))
    return [next(values) if is_disk(x) else np.asarray(x) for x in arrays]


def _evaluated(arrays: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Return the values of DiskArrays with their own dtypes."""
    if not arrays:
        return []
    found = materialize(*arrays)
    found = found if isinstance(found, (tuple, list)) else [found]
    return [np.asarray(v) for v in found]


def in_memory_value(x: Any) -> np.ndarray[Any, Any] | None:
    """Return the values of an array that is already in memory; None for others."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x)
    if is_traced(x):
        return None
    if isinstance(x, jax.Array):
        return np.asarray(x)
    return None
