"""Random keys as operands: what an operation takes of them is their numbers.

A key stays in memory; it is a few numbers, which enter an operation as any array does
and are made a key again for the function. So a program is the same for all keys.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jask.trace.keys import is_key, numbers_of

__all__ = ["Keyed", "apart"]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Keyed:
    """A function of keys as a function of their numbers."""

    fn: Callable[..., Any]
    """Takes its operands flat."""

    generators: tuple[Any, ...]
    """Per operand what its keys are for; None: it is no key."""

    def __call__(self, *leaves: Any) -> Any:
        """Apply it to operands, of the keys the numbers."""
        pairs = zip(leaves, self.generators, strict=True)
        made = [
            x if g is None else jax.random.wrap_key_data(x, impl=g) for x, g in pairs
        ]
        return self.fn(*made)

    def shown(self) -> dict[str, Any]:
        """Return what a jaxpr prints beside the name."""
        found: dict[str, Any] = getattr(self.fn, "shown", dict)()
        return found


def apart(leaves: Sequence[Any]) -> tuple[Sequence[Any], tuple[Any, ...] | None]:
    """Return operands, of keys their numbers, and what each key is for.

    Examples
    --------
    >>> apart([1.0, jax.random.key(0)])[1]
    (None, 'threefry2x32')
    >>> apart([1.0])
    ([1.0], None)
    """
    found = [isinstance(x, jax.Array) and is_key(x.dtype) for x in leaves]
    if not any(found):
        return leaves, None
    pairs = list(zip(leaves, found, strict=True))
    generators = tuple(jax.random.key_impl(x) if key else None for x, key in pairs)
    return [numbers_of(x) if key else x for x, key in pairs], generators
