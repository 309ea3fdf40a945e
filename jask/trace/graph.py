"""The lazy graph: what a DiskArray holds until a value is asked for.

Nodes are immutable and know shape and dtype only; building them reads nothing. The
identity of a computation is its `Operation`, compared by value, so that the same
program on other files is traced, planned and compiled once.
"""

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeGuard

import numpy as np

type Shape = tuple[int, ...]


class Stored(Protocol):
    """What the graph knows of a store."""

    @property
    def shape(self) -> Shape:
        """Number of elements along each axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""

    @property
    def on_disk(self) -> bool:
        """Whether reading costs I/O."""

    def reshaped(self, shape: Shape) -> "Stored":
        """Return the same elements, in row-major order, as an array of this shape."""

    def check(self) -> None:
        """Raise SourceChangedError if the file is not the one that was opened."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A pure function of in-memory arrays, compared by value."""

    function: Callable[..., Any]
    """Takes the operands, returns a pytree of arrays; hashable, equal when it does
    the same (a frozen dataclass with static arguments and derivative path)."""

    name: str
    """Shown in jaxprs and plans."""

    x64: bool
    """Whether it is traced with 64-bit types on."""

    weak: tuple[bool, ...] = ()
    """Which operands are weakly typed Python scalars; empty: none."""

    _hash: int | None = field(default=None, init=False, compare=False, repr=False)

    def __hash__(self) -> int:
        """Return the hash of what is compared, computed once."""
        found = self._hash
        if found is None:
            found = hash((self.function, self.name, self.x64, self.weak))
            object.__setattr__(self, "_hash", found)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A lazy array."""

    shape: Shape
    """Number of elements along each axis."""

    dtype: np.dtype[Any]
    """Element type, in native byte order."""

    @property
    def nbytes(self) -> int:
        """Number of bytes of the whole array."""
        n = self.dtype.itemsize
        for k in self.shape:
            n *= k
        return n


@dataclass(frozen=True, slots=True, eq=False)
class Source(Node):
    """An array that lives in a store."""

    store: Stored
    """Where its elements are."""


@dataclass(frozen=True, slots=True, eq=False)
class Dense(Node):
    """An in-memory operand: a NumPy or JAX array, or a tracer while jit lowers."""

    value: Any
    """The array."""


@dataclass(frozen=True, slots=True, eq=False)
class Handle(Node):
    """Under jit: an int32 (a tracer while lowering) that names a live node."""

    value: Any
    """The handle."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An operation applied to nodes; its results are `Result` nodes."""

    operation: Operation
    """What is computed."""

    operands: tuple[Node, ...]
    """What it is computed from."""

    where: str = ""
    """The user's line, `file:line`, for messages; no part of the identity."""

    def read_from(self, operands: tuple[Node, ...]) -> None:
        """Take other nodes for the operands, which stand for the same arrays."""
        object.__setattr__(self, "operands", operands)


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Consecutive elements of a store, as a store of their own."""

    store: Stored
    """The elements."""

    whole: Stored
    """The store that they are a part of."""


@dataclass(frozen=True, slots=True, eq=False)
class Result(Node):
    """One result of a call."""

    call: Call
    """The call that makes it."""

    index: int
    """Which of its results, in pytree order."""

    value: np.ndarray[Any, Any] | None = None
    """Its elements, if they were computed and are few; see `keep`."""

    read: tuple[Stored, ...] = ()
    """The files that they were computed from: while these are the same, so are they."""

    part: "Part | None" = None
    """Where its elements lie in one piece, if it is a part of what is stored."""

    def keep(self, value: np.ndarray[Any, Any], read: tuple[Stored, ...] = ()) -> None:
        """Remember the elements: computing them again would give the same."""
        own = np.array(value, order="C")
        own.flags.writeable = False
        if read:
            object.__setattr__(self, "read", read)
        object.__setattr__(self, "value", own)

    def lies_in(self, part: "Part") -> None:
        """Remember where the elements lie: they need not be cut out of the whole."""
        object.__setattr__(self, "part", part)


TURNED = "turned"
"""The name of the operation that turns what a file in Fortran order holds."""


def is_turned(node: Node) -> TypeGuard[Result]:
    """Return whether a node stands for a file in Fortran order."""
    return isinstance(node, Result) and node.call.operation.name == TURNED


def kept_value(node: Result) -> np.ndarray[Any, Any] | None:
    """Return the elements that a result kept, if it did.

    SourceChangedError if a file that they were computed from was changed since.
    """
    for store in node.read:
        store.check()
    return node.value


def as_leaf(node: Node) -> Node:
    """Return a result whose value was kept as an operand that is in memory.

    What is computed from it does not hold on to what it was computed from: a loop that
    reads its state in every step leaves no chain of steps behind.
    """
    value = kept_value(node) if isinstance(node, Result) else None
    return node if value is None else Dense(node.shape, node.dtype, value)


_holders: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()


def hold(node: Node, holder: Any) -> None:
    """Note that an object stands for a node, which is its attribute `node`."""
    if isinstance(node, Result | Handle):
        _holders[id(node)] = holder


def pass_on(handle: Handle, node: Node) -> None:
    """Let an object that stands for a handle stand for the node that it names."""
    holder = _holders.get(id(handle))
    if holder is not None and holder.node is handle:
        holder.node = node
        hold(node, holder)


def is_held(node: Node) -> bool:
    """Return whether an object that stands for a node is alive."""
    holder = _holders.get(id(node))
    return holder is not None and holder.node is node


def walk(targets: Iterable[Node]) -> list[Node]:
    """Return every node the targets need, operands first, without recursion.

    Results of one call appear once each where they are used.
    """
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(t, False) for t in reversed(list(targets))]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        stack.append((node, True))
        if isinstance(node, Result):
            stack.extend((n, False) for n in reversed(node.call.operands))
    return order
