"""What a lazy graph computes, by value: the key under which plans are cached.

1. Calls and leaves below the targets are numbered in the order of a depth-first walk.
2. Each call becomes (operation, operand numbers), each leaf (shape, dtype, place).
3. Calls that are equal by value get one number.

Leaf k is written `-1 - k`; result `i` of call `c` is written `c * WIDTH + i`. The key
holds no node and no store, so a cache of keys keeps no file open.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np

from jask.trace.graph import Call, Dense, Node, Operation, Result, Source, as_leaf

type Place = Literal["disk", "memory"]

WIDTH = 1 << 16
"""More results than any one call has."""


class LeafSpec(NamedTuple):
    """What a plan needs to know of a leaf."""

    shape: tuple[int, ...]
    """Number of elements along each axis."""

    dtype: np.dtype[Any]
    """Element type."""

    place: Place
    """Whether reading it costs I/O."""


class Key:
    """A graph by value; equal keys have equal programs. The hash is computed once."""

    __slots__ = ("_hash", "calls", "leaves", "targets")

    calls: tuple[tuple[Operation, tuple[int, ...]], ...]
    """Operation and operand references of each call, operands first."""

    leaves: tuple[LeafSpec, ...]
    """What is known of each leaf."""

    targets: tuple[int, ...]
    """References to what was asked for."""

    def __init__(
        self,
        calls: tuple[tuple[Operation, tuple[int, ...]], ...],
        leaves: tuple[LeafSpec, ...],
        targets: tuple[int, ...],
    ) -> None:
        self.calls, self.leaves, self.targets = calls, leaves, targets
        self._hash = hash((calls, leaves, targets))

    def __hash__(self) -> int:
        """Return the hash of the parts."""
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compare by value, the hashes first."""
        if not isinstance(other, Key):
            return NotImplemented
        return self is other or (
            self._hash == other._hash
            and self.targets == other.targets
            and self.leaves == other.leaves
            and self.calls == other.calls
        )


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """A graph split into what is computed and what it is computed from."""

    key: Key
    """The computation, by value."""

    leaves: tuple[Node, ...]
    """The nodes without operands, in the order of `key.leaves`."""

    results: tuple[tuple[Result, int], ...] = ()
    """The nodes that calls make, where used, each with its reference."""

    where: tuple[str, ...] = ()
    """The user's line of each call, for messages."""

    def __hash__(self) -> int:
        """Return the hash of the key."""
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        """Compare the keys: other files of the same shape are the same structure."""
        return isinstance(other, Structure) and self.key == other.key


class _Numbering:
    """The numbers given so far."""

    __slots__ = (
        "by_value",
        "calls",
        "kept",
        "leaves",
        "nodes",
        "overlap",
        "parts",
        "results",
        "stores",
        "where",
    )

    def __init__(self, *, kept: bool, parts: bool) -> None:
        self.kept, self.parts = kept, parts
        self.stores: set[int] = set()
        self.overlap = False
        self.leaves: dict[Hashable, int] = {}
        self.nodes: list[Node] = []
        self.results: list[tuple[Result, int]] = []
        self.calls: dict[int, int] = {}
        self.where: list[str] = []
        self.by_value: dict[tuple[Operation, tuple[int, ...]], int] = {}

    def reference(self, node: Node) -> int:
        """Return the number of a node whose call has been numbered."""
        if self.is_made(node):
            found = self.calls[id(node.call)] * WIDTH + node.index
            self.results.append((node, found))
            return found
        same = _identity(node)
        number = self.leaves.get(same)
        if number is None:
            self._note_store(node)
            number = self.leaves[same] = -1 - len(self.nodes)
            self.nodes.append(_leaf(node))
        return number

    def _note_store(self, node: Node) -> None:
        """Note whether one store is read as two leaves: some of it would be twice."""
        if isinstance(node, Source):
            store = node.store
        elif isinstance(node, Result) and node.part is not None:
            store = node.part.whole
        else:
            return
        self.overlap = self.overlap or id(store) in self.stores
        self.stores.add(id(store))

    def is_made(self, node: Node) -> TypeGuard[Result]:
        """Return whether a call makes a node, rather than that it is a leaf.

        A leaf is what has a kept value, or lies in a store in one piece.
        """
        if type(node) is not Result or (self.kept and node.value is not None):
            return False
        return node.part is None or not self.parts

    def visit(self, root: Call) -> None:
        """Give numbers to a call and all calls below it, without recursion."""
        calls, stack = self.calls, [root]
        while stack:
            call = stack[-1]
            if id(call) in calls:
                stack.pop()
                continue
            waiting = [
                n.call
                for n in call.operands
                if self.is_made(n) and id(n.call) not in calls
            ]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            value = (call.operation, tuple(map(self.reference, call.operands)))
            calls[id(call)] = self.by_value.setdefault(value, len(self.by_value))
            if len(self.where) < len(self.by_value):
                self.where.append(call.where)


def _identity(node: Node) -> Hashable:
    """Return what two leaves that hold the same array have in common."""
    if isinstance(node, Source):
        return id(node.store)
    if isinstance(node, Dense):
        return id(node.value), node.shape, node.dtype
    return id(node)


def _leaf(node: Node) -> Node:
    """Return a leaf that stands for a node: for a result, its value or its part."""
    leaf = as_leaf(node)
    if isinstance(leaf, Result) and leaf.part is not None:
        return Source(leaf.shape, leaf.dtype, leaf.part.store)
    return leaf


def _spec(node: Node) -> LeafSpec:
    memory = isinstance(node, Dense) or (
        isinstance(node, Source) and not node.store.on_disk
    )
    return LeafSpec(node.shape, node.dtype, "memory" if memory else "disk")


def _numbered(
    targets: Sequence[Node], *, kept: bool, parts: bool
) -> tuple[_Numbering, tuple[int, ...]]:
    numbering = _Numbering(kept=kept, parts=parts)
    for target in targets:
        if numbering.is_made(target):
            numbering.visit(target.call)
    return numbering, tuple(map(numbering.reference, targets))


def structure(targets: Sequence[Node], *, kept: bool = False) -> Structure:
    """Return what the targets compute, by value, and the leaves it is computed from.

    Uses of one leaf, sources with the same store, and in-memory leaves that hold the
    same object are one leaf. With `kept`, so is a result whose value was kept.
    A part of a store in one piece is a leaf too, if nothing else reads that store: the
    plan is then the same for every such part.

    Examples
    --------
    >>> import numpy as np
    >>> from jask.trace.graph import Call, Dense, Operation, Result
    >>> def product():
    ...     x = Dense((3,), np.dtype("f4"), np.ones(3))
    ...     dot = Operation(np.dot, "dot", x64=False)
    ...     return Result((), x.dtype, Call(dot, (x, x)), 0)
    >>> structure([product()]) == structure([product()])
    True
    """
    numbering, references = _numbered(targets, kept=kept, parts=True)
    if numbering.overlap:
        numbering, references = _numbered(targets, kept=kept, parts=False)
    specs = tuple(map(_spec, numbering.nodes))
    key = Key(tuple(numbering.by_value), specs, references)
    results, where = tuple(numbering.results), tuple(numbering.where)
    return Structure(key, tuple(numbering.nodes), results, where)
