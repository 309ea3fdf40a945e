"""Random keys as operands and results: what an operation sees of them is numbers.

A key stays in memory; it is a few numbers, which enter an operation as any array does
and are made a key again for the function. So a program is the same for all keys. A key
that is a result is computed at the call: it is the one kind of result that is not lazy.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jask._jax import generator
from jask.trace.keys import is_key, numbers_of

__all__ = ["Generators", "Keyed", "Numbers", "among", "apart", "key_of"]

type Generators = tuple[Any, ...]
"""Per operand or result what its keys are for; None: it is no key."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Keyed:
    """A function of keys as a function of their numbers."""

    fn: Callable[..., Any]
    """Takes its operands flat."""

    generators: Generators
    """What is known of its operands."""

    def __call__(self, *leaves: Any) -> Any:
        """Apply it to operands, of the keys the numbers."""
        pairs = zip(leaves, self.generators, strict=True)
        return self.fn(*(x if g is None else key_of(x, g) for x, g in pairs))

    def shown(self) -> dict[str, Any]:
        """Return what a jaxpr prints beside the name."""
        found: dict[str, Any] = getattr(self.fn, "shown", dict)()
        return found


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Numbers:
    """A function that returns keys as one that returns their numbers."""

    fn: Callable[..., Any]
    """Takes its operands flat."""

    def __call__(self, *leaves: Any) -> Any:
        """Apply it, of keys that it returns take the numbers."""
        return jax.tree.map(numbers_of, self.fn(*leaves))

    def shown(self) -> dict[str, Any]:
        """Return what a jaxpr prints beside the name."""
        found: dict[str, Any] = getattr(self.fn, "shown", dict)()
        return found


def among(results: Sequence[Any]) -> Generators | None:
    """Return what the keys among results are for; None if there are none.

    Examples
    --------
    >>> among([jax.random.key(0), jax.numpy.ones(3)])
    ('threefry2x32', None)
    """
    if not any(is_key(x.dtype) for x in results):
        return None
    return tuple(generator(x.dtype).name if is_key(x.dtype) else None for x in results)


def key_of(numbers: Any, impl: Any) -> Any:
    """Return the keys that are made of these numbers."""
    return jax.random.wrap_key_data(numbers, impl=impl)


def apart(leaves: Sequence[Any]) -> tuple[Sequence[Any], Generators | None]:
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
