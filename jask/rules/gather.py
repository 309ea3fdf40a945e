"""gather and scatter: elements chosen by run-time indices.

An axis that is indexed is needed whole by gather, because an index may point anywhere.
scatter is the other way round: a box of the result takes its own part of the operand
and all the updates; indices are counted from where the box starts, and those that fall
outside are dropped. Axes that windows span whole, and batch axes, are streamed.

A scatter of one window at a position known when the program is built, as `x.at[2:5]`
makes it, asks for its share of the window only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal as Kind

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.rules._blocks import boxed, crop
from jask.rules._table import Link, Need, Rule, bind, register
from jask.trace.ir import Atom, Equation, Literal

# ruff: noqa: ARG002 - the methods of a rule have one signature

type Span = tuple[int, int]

MODE = lax.GatherScatterMode


@dataclass(frozen=True, slots=True)
class GatherAxes:
    """How the axes of operand, indices and result of a gather correspond."""

    window: Mapping[int, int]
    """Result axis of each operand axis that slices keep."""

    batch: tuple[int, ...]
    """Result axis of each axis of the indices but the last."""

    paired: Mapping[int, int]
    """Axis of the indices of each batch axis of the operand."""

    streamed: frozenset[int]
    """Operand axes that every slice spans whole."""

    @classmethod
    def of(cls, eqn: Equation) -> "GatherAxes":
        """Read them from the parameters."""
        dims, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
        operand, out = eqn.inputs[0], eqn.outputs[0]
        gone = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
        kept = (d for d in range(operand.ndim) if d not in gone)
        window = dict(zip(kept, map(int, dims.offset_dims), strict=True))
        indexed = set(dims.start_index_map)
        return cls(
            window,
            tuple(d for d in range(out.ndim) if d not in window.values()),
            _pairs(dims.operand_batching_dims, dims.start_indices_batching_dims),
            frozenset(
                d for d in window if sizes[d] == operand.shape[d] and d not in indexed
            ),
        )


class Gather(Rule):
    """Slices of the operand at given positions."""

    kind: ClassVar[Kind["map", "reduce", "scan", "whole"]] = "whole"

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the indices of the box, and for indexed axes whole."""
        axes = GatherAxes.of(eqn)
        operand, indices = eqn.inputs
        rows = [out.intervals[d] for d in axes.batch]
        spans: list[Span] = []
        for d, n in enumerate(operand.shape):
            if d in axes.paired:
                spans.append(rows[axes.paired[d]])
            elif d in axes.streamed:
                spans.append(out.intervals[axes.window[d]])
            else:
                spans.append((0, n))
        places = Box.of([*rows, (0, indices.shape[-1])])
        moved = {o for d, o in axes.window.items() if d not in axes.streamed}
        starts = tuple(a if d in moved else 0 for d, a in enumerate(out.start))
        return Need(boxed(eqn, (Box.of(spans), places)), offsets=starts)

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Gather from the block, crop the windows."""
        axes = GatherAxes.of(eqn)
        operand, indices = blocks
        if operand is None:
            operand = jnp.zeros(eqn.inputs[0].shape, eqn.inputs[0].dtype)
        if indices is None:
            rows = [shape[d] for d in axes.batch]
            indices = jnp.zeros((*rows, 0), eqn.inputs[1].dtype)
        sizes = tuple(
            operand.shape[d] if d in axes.streamed else n
            for d, n in enumerate(eqn.params["slice_sizes"])
        )
        return crop(bind(eqn, operand, indices, slice_sizes=sizes), offsets, shape)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link streamed axes and batch axes."""
        axes = GatherAxes.of(eqn)
        links = [Link(0, d, axes.window[d]) for d in sorted(axes.streamed)]
        links += [Link(0, d, axes.batch[i]) for d, i in axes.paired.items()]
        return links + [Link(1, i, d) for i, d in enumerate(axes.batch)]


@dataclass(frozen=True, slots=True)
class ScatterAxes:
    """How the axes of operand, indices and updates of a scatter correspond."""

    window: Mapping[int, int]
    """Updates axis of each operand axis that windows have."""

    batch: tuple[int, ...]
    """Updates axis of each axis of the indices but the last."""

    paired: Mapping[int, int]
    """Axis of the indices of each batch axis of the operand."""

    indexed: Mapping[int, int]
    """Which component of an index vector places the window on an operand axis."""

    size: tuple[int, ...]
    """Length of a window on each operand axis."""

    @classmethod
    def of(cls, eqn: Equation) -> "ScatterAxes":
        """Read them from the parameters."""
        dims = eqn.params["dimension_numbers"]
        operand, _, updates = eqn.inputs
        gone = {*dims.inserted_window_dims, *dims.operand_batching_dims}
        kept = (d for d in range(operand.ndim) if d not in gone)
        window = dict(zip(kept, map(int, dims.update_window_dims), strict=True))
        size = [1] * operand.ndim
        for d, u in window.items():
            size[d] = updates.shape[u]
        return cls(
            window,
            tuple(d for d in range(updates.ndim) if d not in window.values()),
            _pairs(dims.operand_batching_dims, dims.scatter_indices_batching_dims),
            {int(d): j for j, d in enumerate(dims.scatter_dims_to_operand_dims)},
            tuple(size),
        )

    def role(self, d: int, length: int) -> str:
        """Return how an operand axis of this length is treated."""
        if d in self.paired:
            return "paired"
        if d in self.indexed:
            return "shifted" if self.size[d] == 1 else "whole"
        return "streamed" if self.size[d] == length else "whole"


JOINS: Mapping[str, Callable[[Any, Any], Any]] = {
    "scatter": lambda _, new: new,
    "scatter-add": lax.add,
    "scatter-sub": lax.sub,
    "scatter-mul": lax.mul,
    "scatter-min": lax.min,
    "scatter-max": lax.max,
}
"""What an update does to an element."""


class Scatter(Rule):
    """The operand with windows replaced by, or joined with, updates."""

    kind: ClassVar[Kind["map", "reduce", "scan", "whole"]] = "whole"

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the operand's box and the updates that may reach it."""
        if any(0 in a.shape for a in eqn.inputs[1:]):
            return Need((out, None, None), "untouched")
        axes = ScatterAxes.of(eqn)
        starts = _known_window(eqn, axes)
        if starts is not None:
            return _share(eqn, axes, starts, out)
        operand, indices, updates = eqn.inputs
        own: list[Span] = []
        places: list[Span] = [(0, n) for n in indices.shape]
        new: list[Span] = [(0, n) for n in updates.shape]
        offsets: list[int] = []
        for d, (span, n) in enumerate(zip(out.intervals, operand.shape, strict=True)):
            role = axes.role(d, n)
            own.append((0, n) if role == "whole" else span)
            offsets.append(span[0] if role in {"whole", "shifted"} else 0)
            if role == "paired":
                places[axes.paired[d]] = span
                new[axes.batch[axes.paired[d]]] = span
            elif role == "streamed":
                new[axes.window[d]] = span
        boxes = (Box.of(own), Box.of(places), Box.of(new))
        return Need(boxes, "indexed", tuple(offsets))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Scatter into the block at shifted indices, crop the axes taken whole."""
        block, indices, updates = blocks
        if need.key == "untouched":
            return block
        if need.key != "indexed":
            return _joined(eqn, need.key, offsets, block, updates)
        axes = ScatterAxes.of(eqn)
        roles = [axes.role(d, n) for d, n in enumerate(eqn.inputs[0].shape)]
        places = _shifted(eqn, axes, roles, offsets, indices)
        # an index that was in bounds may now lie outside the block
        result = bind(eqn, block, places, updates, mode=MODE.FILL_OR_DROP)
        starts = [
            o if role == "whole" else 0 for o, role in zip(offsets, roles, strict=True)
        ]
        return crop(result, starts, shape)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link all axes of the operand; streamed and batch axes of the others."""
        axes = ScatterAxes.of(eqn)
        links: list[Link] = []
        for d, n in enumerate(eqn.inputs[0].shape):
            links.append(Link(0, d, d))
            role = axes.role(d, n)
            if role == "streamed":
                links.append(Link(2, axes.window[d], d))
            elif role == "paired":
                links.append(Link(1, axes.paired[d], d))
                links.append(Link(2, axes.batch[axes.paired[d]], d))
        return links


def _pairs(operand: Sequence[int], indices: Sequence[int]) -> dict[int, int]:
    return {int(d): int(i) for d, i in zip(operand, indices, strict=True)}


def _shifted(
    eqn: Equation,
    axes: ScatterAxes,
    roles: Sequence[str],
    offsets: Sequence[Any],
    indices: Any,
) -> Any:
    """Return the indices, counted from the start of the block."""
    places = indices.astype(np.int64)
    shape = eqn.inputs[0].shape
    if eqn.params["mode"] == MODE.CLIP:
        limits = [shape[d] - axes.size[d] for d in axes.indexed]
        places = jnp.clip(places, 0, np.asarray(limits, np.int64))
    moves = [offsets[d] if roles[d] == "shifted" else 0 for d in axes.indexed]
    return places - jnp.stack([jnp.asarray(m, np.int64) for m in moves])


def _known_window(eqn: Equation, axes: ScatterAxes) -> tuple[int, ...] | None:
    """Return where the one window of a scatter starts, if that is known."""
    plain = eqn.name != "scatter" or eqn.params["update_jaxpr"] is None
    if eqn.inputs[1].ndim != 1 or not plain:
        return None
    index = known(eqn.inputs[1])
    if index is None:
        return None
    starts = [0] * eqn.inputs[0].ndim
    for d, j in axes.indexed.items():
        starts[d] = int(index[j])
        if eqn.params["mode"] == MODE.CLIP:
            limit = eqn.inputs[0].shape[d] - axes.size[d]
            starts[d] = min(max(starts[d], 0), limit)
    return tuple(starts)


def _share(eqn: Equation, axes: ScatterAxes, starts: tuple[int, ...], out: Box) -> Need:
    """Return the need for a box of a scatter of one known window."""
    stops = tuple(map(sum, zip(starts, axes.size, strict=True)))
    window = Box(starts, stops)
    share = window & out
    if window not in Box.whole(eqn.inputs[0].shape) or 0 in share.shape:
        return Need((out, None, None), "untouched")
    updates = [(0, 1)] * eqn.inputs[2].ndim
    for d, u in axes.window.items():
        a, b = share.intervals[d]
        updates[u] = (a - starts[d], b - starts[d])
    covered = eqn.name == "scatter" and share == out
    boxes = (None if covered else out, None, Box.of(updates))
    return Need(boxes, share.shape, share.relative_to(out))


def _joined(
    eqn: Equation, size: Any, offsets: Sequence[Any], block: Any, updates: Any
) -> Any:
    """Join a share of one window, of this size, with the block."""
    kept = sorted(ScatterAxes.of(eqn).window.items())
    ordered = lax.transpose(updates, [u for _, u in kept])
    new = lax.reshape(ordered, size)
    if block is None:
        return new
    at = [jnp.asarray(o, np.int64) for o in offsets]
    old = lax.dynamic_slice(block, at, size)
    return lax.dynamic_update_slice(block, JOINS[eqn.name](old, new), at)


def known(atom: Atom) -> np.ndarray[Any, Any] | None:
    """Return the value of a small vector made from Literals, or None.

    Examples
    --------
    >>> known(Literal(np.asarray(3)))
    array(3)
    """
    if isinstance(atom, Literal):
        return atom.value
    eqn = atom.producer
    if eqn is None or atom.size > 64:
        return None
    make = _MAKERS.get(eqn.name)
    values = [known(a) for a in eqn.inputs] if make else [None]
    if make is None or any(v is None for v in values):
        return None
    found: np.ndarray[Any, Any] | None = make(eqn, values)
    return found


_MAKERS: Mapping[str, Callable[[Equation, list[Any]], Any]] = {
    "broadcast_in_dim": lambda eqn, v: (
        np.full(eqn.outputs[0].shape, v[0]) if v[0].size == 1 else None
    ),
    "concatenate": lambda eqn, v: np.concatenate(v, eqn.params["dimension"]),
    "convert_element_type": lambda eqn, v: v[0].astype(eqn.outputs[0].dtype),
    "reshape": lambda eqn, v: (
        v[0].reshape(eqn.outputs[0].shape) if v[0].ndim <= 1 else None
    ),
}

register(["gather"], Gather())
register(JOINS, Scatter())
