"""Graphs whose leaves are known later: what a callback evaluates.

While JAX lowers, some leaves of a lazy graph are tracers. A `Template` is the same
graph with a numbered hole for each of them; a callback fills it with its values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from jask._jax import variable_of
from jask.hijax.handles import TABLE, Owed
from jask.hijax.rows import stack
from jask.trace.graph import Call, Dense, Handle, Node, Result, pass_on, walk

__all__ = ["Template", "named", "settled", "template", "traced_leaves"]


@dataclass(frozen=True, slots=True)
class Hole:
    """The place of a value that is not known yet."""

    index: int
    """Its position among the values."""


def named(handles: Any, like: Node) -> Node:
    """Return the node that a handle names, or the stack of those that several name."""
    numbers = np.asarray(handles)
    if not numbers.ndim:
        return TABLE.node(int(numbers))
    return stack([TABLE.node(int(h)) for h in numbers], like.shape, like.dtype)


def traced_leaves(nodes: Sequence[Node]) -> dict[Any, Any]:
    """Return the tracers among the leaves, by their variables, in order of use."""
    found: dict[Any, Any] = {}
    for node in walk(nodes):
        if isinstance(node, Handle | Dense) and isinstance(node.value, jax.core.Tracer):
            found.setdefault(variable_of(node.value), node.value)
    return found


@dataclass(frozen=True, slots=True)
class Template:
    """Nodes with holes."""

    nodes: tuple[Node, ...]
    """What is to be evaluated."""

    handles: tuple[int, ...]
    """The positions of the values that are handles."""

    order: tuple[Node, ...] = field(init=False)
    """All nodes below, operands first."""

    def __post_init__(self) -> None:
        """Walk the graph once."""
        object.__setattr__(self, "order", tuple(walk(self.nodes)))

    @classmethod
    def joined(cls, templates: Sequence["Template"]) -> "Template":
        """Return one template of all their nodes, in which what is equal is shared."""
        handles = dict.fromkeys(h for t in templates for h in t.handles)
        return cls(_shared([n for t in templates for n in t.nodes]), tuple(handles))

    def parents(self, values: Sequence[Any]) -> list[int]:
        """Return the handles among the values."""
        return [int(h) for i in self.handles for h in np.ravel(values[i])]

    def fill(self, values: Sequence[Any]) -> list[Node]:
        """Return the nodes with the holes filled."""

        def leaf(node: Node) -> Node:
            if isinstance(node, Handle) and isinstance(node.value, Hole):
                return named(values[node.value.index], node)
            if isinstance(node, Dense) and isinstance(node.value, Hole):
                value = np.asarray(values[node.value.index])
                return Dense(node.shape, node.dtype, value)
            return node

        return _rebuild(self.nodes, leaf, self.order)


def template(nodes: Sequence[Node], positions: dict[Any, int]) -> Template:
    """Return the template of nodes, its holes numbered by variable."""
    handles: dict[int, None] = {}

    def leaf(node: Node) -> Node:
        if not isinstance(node, Handle | Dense):
            return node
        if not isinstance(node.value, jax.core.Tracer):
            return node
        hole = Hole(positions[variable_of(node.value)])
        if isinstance(node, Handle):
            handles[hole.index] = None
        return type(node)(node.shape, node.dtype, hole)

    return Template(tuple(_rebuild(nodes, leaf)), tuple(handles))


def settled(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes with every handle replaced by what it names.

    Waits for the calls that return them. Calls keep what their handles named, and so do
    the arrays that stand for one: a node stays the one that somebody holds.
    """
    for node in walk(nodes):
        if isinstance(node, Result):
            operands = node.call.operands
            if any(isinstance(o, Handle) for o in operands):
                node.call.read_from(tuple(map(_settled, operands)))
    return list(map(_settled, nodes))


def _settled(node: Node) -> Node:
    if not (isinstance(node, Handle) and isinstance(node.value, Owed)):
        return node
    named = node.value.node()
    pass_on(node, named)
    return named


def _shared(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Return the nodes with equal parts, built more than once, made one."""
    new: dict[int, Node] = {}
    found: dict[Any, Any] = {}
    for node in walk(nodes):
        if not isinstance(node, Result):
            value = node.value if isinstance(node, Handle | Dense) else None
            hole = isinstance(value, Hole)
            new[id(node)] = found.setdefault(value, node) if hole else node
            continue
        operands = tuple(new[id(o)] for o in node.call.operands)
        key = (node.call.operation, *map(id, operands))
        call = found.get(key)
        if call is None:
            call = Call(node.call.operation, operands, node.call.where)
            found[key] = call
        result = Result(node.shape, node.dtype, call, node.index)
        new[id(node)] = found.setdefault((call, node.index), result)
    return tuple(new[id(n)] for n in nodes)


def _rebuild(
    nodes: Sequence[Node],
    leaf: Callable[[Node], Node],
    order: Sequence[Node] | None = None,
) -> list[Node]:
    """Return the graph with its leaves replaced; what does not change is shared."""
    new: dict[int, Node] = {}
    calls: dict[int, Call] = {}
    for node in walk(nodes) if order is None else order:
        if not isinstance(node, Result):
            new[id(node)] = leaf(node)
            continue
        call = calls.get(id(node.call))
        if call is None:
            operands = tuple(new[id(o)] for o in node.call.operands)
            pairs = zip(operands, node.call.operands, strict=True)
            same = all(a is b for a, b in pairs)
            call = (
                node.call
                if same
                else Call(node.call.operation, operands, node.call.where)
            )
            calls[id(node.call)] = call
        same_call = call is node.call
        new[id(node)] = (
            node if same_call else Result(node.shape, node.dtype, call, node.index)
        )
    return [new[id(n)] for n in nodes]
