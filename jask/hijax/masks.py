"""Which of several values are meant: masks."""

from collections.abc import Iterable, Sequence
from typing import Any

from jask._jax import Zero
from jask.hijax.type import is_inexact

__all__ = ["chosen", "filled", "is_given"]


def is_given(tangent: Any) -> bool:
    """Return whether a tangent or cotangent is more than a symbolic zero."""
    return not isinstance(tangent, Zero) and is_inexact(tangent.dtype)


def chosen(mask: Sequence[bool], values: Sequence[Any]) -> list[Any]:
    """Return the values that the mask marks."""
    return [v for v, m in zip(values, mask, strict=True) if m]


def filled(
    mask: Sequence[bool], found: Iterable[Any], others: Sequence[Any]
) -> list[Any]:
    """Return the others, with what was found where the mask marks them.

    Examples
    --------
    >>> filled([True, False], ["found"], ["a", "b"])
    ['found', 'b']
    """
    rest = iter(found)
    return [next(rest) if m else o for o, m in zip(others, mask, strict=True)]
