"""What a compiled program calls, and which of it is one evaluation.

1. Materializes of one program make a group. The callback of the first returns its
   values and a ticket; later ones whose leaves are among its leaves redeem the ticket.
   All of a group is ONE evaluation: `jit(value_and_grad)` reads its sources once.
2. A disk array enters a call, or leaves it, as a handle; what a program makes of its
   handles is built by a callback, and not evaluated.
"""

import itertools
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeGuard

import jax
import numpy as np

from jask._jax import (
    current_trace,
    io_callback,
    is_lowering,
    is_placeholder,
    trace_of,
    tracer_of,
    tracing_with,
    variable_of,
)
from jask.config import Settings, current, using
from jask.errors import MemoryBudgetError
from jask.execute import run
from jask.execute.process import PROCESS
from jask.hijax import type as hitype
from jask.hijax.binding import Template, named, settled, template, traced_leaves
from jask.hijax.handles import GRACE, TABLE
from jask.hijax.masks import chosen, filled
from jask.hijax.rows import rows
from jask.hijax.type import DiskArrayType, make_value, node_of
from jask.hijax.values import narrowed, together_or_apart
from jask.trace.graph import Handle, Node

__all__ = ["emit"]


# ---- groups


_HANDLE = jax.ShapeDtypeStruct((), np.int32)


@dataclass(eq=False, slots=True)
class Group:
    """The materializes of one program that are evaluated together."""

    settings: Settings
    """Those in force where the program was lowered."""

    templates: list[Template] = field(default_factory=list)
    """What is evaluated, in order of appearance."""

    dtypes: list[np.dtype[Any]] = field(default_factory=list)
    """The dtype of each value in memory."""

    first: int = 0
    """How many values the first materialize has."""

    whole: Template | None = None
    """All of them as one, known when the program first runs."""

    fits: bool = True
    """Whether all of them can be evaluated together."""

    def add(self, item: Template, dtypes: Sequence[Any]) -> range:
        """Add what is materialized at once, and return the places of its values."""
        start = len(self.dtypes)
        self.templates.append(item)
        self.dtypes.extend(map(np.dtype, dtypes))
        return range(start, len(self.dtypes))

    def run(self, *operands: Any) -> tuple[list[Any], np.int32]:
        """Evaluate all; return the first values and the ticket for the others."""
        with TABLE.running(), using(self.settings):
            # Converted once: templates that use one operand share one leaf.
            arrays = [np.asarray(x) for x in operands]
            if self.whole is None:
                self.whole = Template.joined(self.templates)
            nodes = self.whole.fill(arrays)
            found, self.fits = together_or_apart(nodes, together=self.fits)
            values = [narrowed(v, d) for v, d in zip(found, self.dtypes, strict=True)]
            rest = values[self.first :]
            return values[: self.first], _park(rest, self.whole.parents(operands))

    def redeem(self, places: range) -> Callable[[Any], list[Any]]:
        """Return the callback that hands over the values with these places."""
        parked = [i - self.first for i in places]
        return lambda ticket: _parked[int(ticket)].take(parked)


@dataclass(eq=False, slots=True)
class _Parked:
    """Values that wait for their callbacks."""

    ticket: int
    values: list[Any]
    left: int
    since: float = field(default_factory=time.monotonic)

    def take(self, places: Sequence[int]) -> list[Any]:
        """Return values once; the last ones clear the ticket."""
        found = [self.values[i] for i in places]
        for i in places:
            self.values[i] = None
        self.left -= len(found)
        if not self.left:
            _parked.pop(self.ticket, None)
        return found


_parked: dict[int, _Parked] = {}
_tickets = itertools.count(1)


def _park(values: list[Any], parents: Sequence[int]) -> np.int32:
    """Keep values for the other callbacks of the call, and return their ticket.

    A call that fails does not redeem it: the ticket ends with an argument of the call,
    or, if there is none, some time later.
    """
    if not values:
        return np.int32(0)
    ticket = next(_tickets) % 2**31
    _parked[ticket] = _Parked(ticket, values, len(values))
    TABLE.attach(lambda: _Forget(ticket), parents)
    for old in list(_parked.values())[:1]:
        if time.monotonic() - old.since > GRACE:
            _parked.pop(old.ticket, None)
    return np.int32(ticket)


class _Forget:
    """Forgets a ticket when it is collected."""

    __slots__ = ("ticket",)

    def __init__(self, ticket: int) -> None:
        self.ticket = ticket

    def __del__(self, parked: dict[int, _Parked] = _parked) -> None:
        parked.pop(self.ticket, None)  # a default outlives the module at exit


class _Open(threading.local):
    """The group that the program being lowered on this thread can still join."""

    trace: Any = None
    """Weak reference to its trace."""
    positions: dict[Any, int]
    """Its leaves."""
    group: Group
    ticket: Any
    """The variable that holds the ticket."""

    def takes(self, leaves: dict[Any, Any]) -> bool:
        """Return whether what has these leaves can join."""
        is_open = self.trace is not None and self.trace() is current_trace()
        return is_open and leaves.keys() <= self.positions.keys()


_open = _Open()


def emit(nodes: Sequence[Node], outs: Sequence[Any]) -> list[Any]:
    """Emit a callback for nodes that can join the open group, and one for others."""
    _check(nodes)
    leaves = [traced_leaves([n]) for n in nodes]
    # What has no traced leaves is known by now, but for calls that are under way.
    pairs = zip(nodes, leaves, strict=True)
    known = [n if found else settled([n])[0] for n, found in pairs]
    joins = list(map(_open.takes, leaves))
    others = [not j for j in joins]
    shapes = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in outs]
    values = filled(joins, _join(chosen(joins, known), chosen(joins, shapes)), shapes)
    return filled(others, _begin(chosen(others, known), chosen(others, shapes)), values)


def _check(nodes: Sequence[Node]) -> None:
    """Refuse values that do not fit the budget, not even one by one."""
    try:
        run.check(nodes)
    except MemoryBudgetError:
        for node in nodes:
            run.check([node])


def _join(nodes: Sequence[Node], shapes: Sequence[Any]) -> Sequence[Any]:
    """Emit the callback that redeems the ticket of the open group."""
    if not nodes:
        return []
    places = _open.group.add(
        template(nodes, _open.positions), [s.dtype for s in shapes]
    )
    ticket = tracer_of(_open.trace(), _open.ticket)
    found: Sequence[Any] = io_callback(_open.group.redeem(places), list(shapes), ticket)
    return found


def _begin(nodes: Sequence[Node], shapes: Sequence[Any]) -> Sequence[Any]:
    """Emit the callback that evaluates nodes, and open the group that it starts."""
    if not nodes:
        return []
    leaves = traced_leaves(nodes)
    positions = {v: i for i, v in enumerate(leaves)}
    group = Group(current(), first=len(nodes))
    group.add(template(nodes, positions), [s.dtype for s in shapes])
    values: Sequence[Any]
    values, ticket = io_callback(group.run, (list(shapes), _HANDLE), *leaves.values())
    _open.trace, _open.positions = weakref.ref(current_trace()), positions
    _open.group, _open.ticket = group, variable_of(ticket)
    return values


# ---- handles


def _lower(t: DiskArrayType, x: Any) -> Any:
    """Return the handle of a value: lent to a call, or built by a callback.

    What is walked along its leading axis has one axis more than the type says, and a
    handle for each row.
    """
    PROCESS.require_usable()
    node = node_of(x)
    walked = len(node.shape) > len(t.shape)
    if _is_symbol(node) and bool(node.value.ndim) == walked:
        return node.value
    leaves = traced_leaves([node])
    if leaves:
        with tracing_with(trace_of(next(iter(leaves.values())))):
            return _emit_build(node, leaves, walked=walked)
    (known,) = settled([node])
    if is_lowering():
        return _emit_constant(known, walked=walked)
    return TABLE.lend(known, rows(known) if walked else None)


def _is_symbol(node: Node) -> TypeGuard[Handle]:
    """Return whether a node is a handle that only the program will know."""
    return isinstance(node, Handle) and isinstance(node.value, jax.core.Tracer)


def _handles(node: Node, *, walked: bool) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(node.shape[:1] if walked else (), np.int32)


def _emit_constant(node: Node, *, walked: bool) -> Any:
    """Emit the callback that names a node known while lowering, and keeps it alive."""
    pin = TABLE.pin(node)

    @cache
    def handles() -> Any:  # those of the rows when they are asked for
        return TABLE.parts(pin, rows(node)) if walked else pin.handle

    return jax.pure_callback(handles, _handles(node, walked=walked))


def _emit_build(node: Node, leaves: dict[Any, Any], *, walked: bool) -> Any:
    item = template([node], {v: i for i, v in enumerate(leaves)})

    def build(*values: Any) -> Any:
        with TABLE.running():
            (made,) = item.fill(values)
            parts = rows(made) if walked else None
            return TABLE.build(made, item.parents(values), parts)

    return jax.pure_callback(build, _handles(node, walked=walked), *leaves.values())


def _raise(t: DiskArrayType, handle: Any) -> Any:
    """Return the value that a handle names, or that the handles of its rows name."""
    if is_placeholder(handle):
        return hitype.call_hook("zero", t)
    like = Handle((*handle.shape, *t.shape), t.dtype, None)
    traced = isinstance(handle, jax.core.Tracer)
    value = handle if traced else TABLE.owe(handle, lambda h: named(h, like))
    return make_value(Handle(like.shape, like.dtype, value))


hitype.hook("lower", _lower)
hitype.hook("raise", _raise)
