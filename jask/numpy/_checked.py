"""Functions that look at values of an argument at the call, as NumPy does.

What is looked at is small or reduced to one number: nothing else is evaluated. Under a
trace there are no values: JAX's concretization error, with the remedy in its text.
"""

import functools
from collections.abc import Callable
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.numpy._engine import concrete, fetch, is_disk
from jask.numpy._table import Operand, call, shape_of


def _inside(indices: Operand, length: int) -> Any:
    """Return whether all indices lie in an axis; lazy."""
    return call(_all_between, indices, name="is_inside", wide=True, length=length)


def _all_between(indices: Any, *, length: int) -> Any:
    """Return whether all indices lie in [0, length)."""
    return ((indices >= 0) & (indices < length)).all()


def check_inside(name: str, indices: Operand, length: int) -> None:
    """Raise ValueError unless every index is in [0, length); evaluates one number."""
    concrete(f"{name} with mode='raise'", indices)
    if not bool(fetch(name, _inside(indices, length))[0]):
        msg = (
            f"{name}: an index is out of range for {length} places; give mode='clip' "
            "or mode='wrap'."
        )
        raise ValueError(msg)


def choosing(choose: Callable[..., Any]) -> Callable[..., Any]:
    """Return `choose` whose mode='raise' checks the indices at the call."""

    @functools.wraps(choose)
    def checked(a: Operand, choices: Any, out: None = None, mode: str = "raise") -> Any:
        if mode == "raise":
            rows = isinstance(choices, (list, tuple))
            count = len(choices) if rows else shape_of(choices)[0]
            check_inside("choose", a, count)
            mode = "clip"
        return choose(a, choices, out=out, mode=mode)

    return checked


def raveling(ravel_multi_index: Callable[..., Any]) -> Callable[..., Any]:
    """Return `ravel_multi_index` whose mode='raise' checks the indices at the call."""

    @functools.wraps(ravel_multi_index)
    def checked(
        multi_index: Any, dims: Any, mode: str = "raise", order: str = "C"
    ) -> Any:
        if mode == "raise":
            for indices, length in zip(multi_index, dims, strict=True):
                check_inside("ravel_multi_index", indices, length)
            mode = "clip"
        return ravel_multi_index(multi_index, dims, mode=mode, order=order)

    return checked


def deleting(delete: Callable[..., Any]) -> Callable[..., Any]:
    """Return `delete` that evaluates what to delete: the shape depends on it."""

    @functools.wraps(delete)
    def evaluated(
        arr: Operand, obj: Any, axis: int | None = None, **options: Any
    ) -> Any:
        if is_disk(obj):
            (obj,) = fetch("delete", obj)
        what = np.asarray(obj) if hasattr(obj, "shape") else obj
        places = None if options else _few_places(shape_of(arr), what, axis)
        if places is None:
            return delete(arr, what, axis, **options)
        return call(_without, arr, name="delete", places=places, axis=axis)

    return evaluated


FEW = 64
"""Places that are left out by joining the slices between them."""


def _few_places(shape: tuple[int, ...], what: Any, axis: Any) -> tuple[int, ...] | None:
    """Return a few integers counted from the front; None for anything else."""
    known = isinstance(what, np.ndarray) and what.dtype.kind in "iu"
    if not known or not 0 < what.size <= FEW or not shape:
        return None
    length = length_along(shape, axis)
    if length is None or what.min() < -length or what.max() >= length:
        return None
    return tuple(sorted({int(i) % length for i in what.ravel()}))


def length_along(shape: tuple[int, ...], axis: Any) -> int | None:
    """Return the length of an axis, or of all of them in a row; None if it is none."""
    if axis is None:
        return prod(shape)
    known = type(axis) is int and -len(shape) <= axis < len(shape)
    return shape[axis] if known else None


def _without(x: Any, *, places: tuple[int, ...], axis: int | None) -> Any:
    """Return what lies between some places of an axis, joined."""
    x, axis = (jnp.ravel(x), 0) if axis is None else (x, axis)
    starts = (0, *(i + 1 for i in places))
    pairs = zip(starts, (*places, x.shape[axis]), strict=True)
    parts = [lax.slice_in_dim(x, a, b, axis=axis) for a, b in pairs]
    return jnp.concatenate(parts, axis=axis)
