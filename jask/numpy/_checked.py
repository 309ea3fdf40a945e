"""Functions that look at values of an argument at the call, as NumPy does.

What is looked at is small or reduced to one number: nothing else is evaluated. Under a
trace there are no values: JAX's concretization error, with the remedy in its text.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

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
        return delete(arr, what, axis, **options)

    return evaluated
