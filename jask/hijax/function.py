"""What an operation is: a function, its static arguments and how it was derived.

1. `Function` is a user's function with static arguments, as a value.
2. `Pullback`, `Pushforward`, `Transposed` and `Batched` wrap one of these; the chain of
   wrappers is the derivative path.
3. All are frozen and compared by value, never by closure: the gradient of the same
   operation is the same operation in every step of a loop, and nothing is traced twice.

They run under `jax.eval_shape` and when a program is traced; arguments are flat.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = [
    "Batched",
    "Frozen",
    "Function",
    "Pullback",
    "Pushforward",
    "Transposed",
    "freeze",
    "shaped",
    "thaw",
]

type Mask = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Frozen:
    """A static argument as a value: equal only to one of the same type and content."""

    kind: type
    """Its type, so that 1, 1.0 and True differ."""

    key: Any
    """What is compared: the value itself, or its text where equality is not enough."""

    value: Any = field(compare=False)
    """The argument, or the frozen parts of a container."""


class _Integers:
    """The kind of a tuple of plain integers: it is frozen as it is."""


def freeze(value: Any) -> Frozen:
    """Return a hashable value that stands for a static argument.

    Examples
    --------
    >>> freeze([1, 2]) == freeze([1, 2]), freeze(1) == freeze(1.0)
    (True, False)
    """
    kind = type(value)
    if kind is tuple and set(map(type, value)) == {int}:  # shapes, and what is sliced
        return Frozen(_Integers, value, value)
    if isinstance(value, Mapping):
        parts = tuple((k, freeze(v)) for k, v in value.items())
        return Frozen(kind, frozenset(parts), parts)
    if kind in {list, tuple}:
        items = tuple(map(freeze, value))
        return Frozen(kind, items, items)
    if kind is slice:
        items = tuple(map(freeze, (value.start, value.stop, value.step)))
        return Frozen(kind, items, items)
    if isinstance(value, float | complex | np.inexact):
        return Frozen(kind, repr(value), value)  # tells -0.0 from 0.0, equates NaN
    try:
        hash(value)
    except TypeError:
        msg = (
            f"A static argument must be hashable, or a list, dict or slice of such; "
            f"got {kind.__name__}. Pass arrays as operands."
        )
        raise TypeError(msg) from None
    return Frozen(kind, value, value)


def thaw(frozen: Frozen) -> Any:
    """Return the argument that was frozen.

    Examples
    --------
    >>> thaw(freeze({"axis": [0, 1]}))
    {'axis': [0, 1]}
    """
    if issubclass(frozen.kind, Mapping):
        return {k: thaw(v) for k, v in frozen.value}
    if frozen.kind in {list, tuple}:
        return frozen.kind(map(thaw, frozen.value))
    if frozen.kind is slice:
        return slice(*map(thaw, frozen.value))
    return frozen.value


_shaped: set[Callable[..., Any]] = set()


def shaped[F: Callable[..., Any]](fn: F) -> F:
    """Say that a function of one array returns one of its dtype, of the given `shape`.

    It is not traced when it is applied: tracing takes longer than all the rest, and is
    done anew for each index of a loop.
    """
    _shaped.add(fn)
    return fn


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Function:
    """A pure function of arrays with static arguments.

    Examples
    --------
    >>> leaves, tree = jax.tree.flatten((jnp.ones((2, 3)),))
    >>> Function(jnp.sum, tree, freeze({"axis": 1}))(*leaves).shape
    (2,)
    """

    fn: Callable[..., Any]
    """Takes the operands as it was called with them."""

    tree: Any
    """How the flat operands make up the arguments."""

    static: Frozen
    """Keyword arguments, a frozen dict."""

    def __call__(self, *leaves: Any) -> Any:
        """Apply it to flat operands."""
        return self.fn(*jax.tree.unflatten(self.tree, leaves), **thaw(self.static))

    def result(self, given: Sequence[Any]) -> jax.ShapeDtypeStruct | None:
        """Return shape and dtype of the result, if they are known without tracing."""
        if self.fn not in _shaped:
            return None
        return jax.ShapeDtypeStruct(thaw(self.static)["shape"], given[0].dtype)

    def shown(self) -> dict[str, Any]:
        """Return what a jaxpr prints beside the name."""
        static: dict[str, Any] = thaw(self.static)
        return static


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Pullback:
    """The cotangents of some operands, recomputed from all of them.

    Operands: those of `inner`, then the given cotangents.
    """

    inner: Any
    """The operation that is differentiated."""

    wanted: Mask
    """Which operands get a cotangent."""

    given: Mask
    """Which results have one; the others' is zero."""

    @property
    def pulled(self) -> Mask:
        """Of which operands the results are cotangents."""
        return self.wanted

    def __call__(self, *leaves: Any) -> Any:
        """Return the cotangents of the wanted operands."""
        n = len(self.wanted)
        chosen, partial = _split(self.inner, self.wanted, leaves[:n])
        out, pull = jax.vjp(partial, *chosen)
        return pull(_cotangents(out, self.given, leaves[n:]))

    def shown(self) -> dict[str, Any]:
        """Return what a jaxpr prints beside the name."""
        return shown(self.inner)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Pushforward:
    """The tangents of the results with a float type.

    Operands: those of `inner`, then the tangents of the moving ones.
    """

    inner: Any
    """The operation that is differentiated."""

    moving: Mask
    """Which operands have a tangent."""

    def __call__(self, *leaves: Any) -> Any:
        """Return the tangents, leaving out results of integer type."""
        n = len(self.moving)
        chosen, partial = _split(self.inner, self.moving, leaves[:n])
        out = jax.jvp(partial, tuple(chosen), tuple(leaves[n:]))[1]
        return [t for t in jax.tree.leaves(out) if t.dtype != jax.dtypes.float0]

    def shown(self) -> dict[str, Any]:
        """Return what a jaxpr prints beside the name."""
        return shown(self.inner)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Transposed:
    """The transpose with respect to the operands in which `inner` is linear.

    Operands: the others of `inner`, then the given cotangents.
    """

    inner: Any
    """The operation that is transposed."""

    linear: Mask
    """In which operands it is linear."""

    avals: tuple[jax.ShapeDtypeStruct, ...]
    """Shape and dtype of those."""

    given: Mask
    """Which results have a cotangent; the others' is zero."""

    @property
    def pulled(self) -> Mask:
        """Of which operands the results are cotangents, as under `jax.checkpoint`.

        There a pullback is the transpose of a pushforward in its tangents.
        """
        if not isinstance(self.inner, Pushforward):
            return ()
        n = len(self.inner.moving)
        tangents = iter(self.linear[n:])
        wanted = tuple(m and next(tangents) for m in self.inner.moving)
        return () if any(self.linear[:n]) else wanted

    def __call__(self, *leaves: Any) -> Any:
        """Return the cotangents of the linear operands."""
        n = self.linear.count(False)
        known, given = leaves[:n], leaves[n:]

        def partial(*chosen: Any) -> Any:
            return self.inner(*_merge(self.linear, chosen, known))

        out = jax.eval_shape(partial, *self.avals)
        pull = jax.linear_transpose(partial, *self.avals)
        return pull(_cotangents(out, self.given, given))

    def shown(self) -> dict[str, Any]:
        """Return what a jaxpr prints beside the name."""
        return shown(self.inner)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Batched:
    """`inner` over one more axis of some operands, which leads in every result."""

    inner: Any
    """The operation for one element."""

    axes: tuple[int | None, ...]
    """Where the axis is in each operand."""

    size: int
    """Its length."""

    def __call__(self, *leaves: Any) -> Any:
        """Apply it to all elements."""
        return jax.vmap(self.inner, in_axes=self.axes, axis_size=self.size)(*leaves)

    def shown(self) -> dict[str, Any]:
        """Return what a jaxpr prints beside the name."""
        return shown(self.inner)


def shown(function: Any) -> dict[str, Any]:
    """Return the static arguments that a jaxpr prints for an operation."""
    found: dict[str, Any] = getattr(function, "shown", dict)()
    return found


def _merge(mask: Mask, chosen: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
    a, b = iter(chosen), iter(rest)
    return [next(a) if m else next(b) for m in mask]


def _split(
    inner: Any, mask: Mask, leaves: Sequence[Any]
) -> tuple[list[Any], Callable[..., Any]]:
    """Return the chosen operands, and `inner` as a function of these alone."""
    chosen = [x for x, m in zip(leaves, mask, strict=True) if m]
    rest = [x for x, m in zip(leaves, mask, strict=True) if not m]
    return chosen, lambda *moving: inner(*_merge(mask, moving, rest))


def _cotangents(out: Any, given: Mask, values: Sequence[Any]) -> Any:
    """Return a cotangent for every result, zeros where none is given."""
    leaves, tree = jax.tree.flatten(out)
    rest = iter(values)
    pairs = zip(leaves, given, strict=True)
    return jax.tree.unflatten(tree, [next(rest) if g else _zero(o) for o, g in pairs])


def _zero(out: Any) -> Any:
    if jnp.issubdtype(out.dtype, jnp.inexact):
        return jnp.zeros(out.shape, out.dtype)
    return np.zeros(out.shape, jax.dtypes.float0)
