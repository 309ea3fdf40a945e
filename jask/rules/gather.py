"""gather: elements chosen by indices.

1. Where the bounds of the indices are known while planning (`bounds`: a diagonal), a
   box of the result asks for the part of the operand between them.
2. Otherwise an index may point anywhere: an indexed axis is needed whole.
3. If it does not fit a tile, the indexed axes are walked instead: each part of the
   operand gives the elements that lie in it, and the results are put together. It is
   one reading of the operand for each tile of the result.

Axes that slices span whole, and batch axes, are streamed in every case. Slices of more
than one and fewer than all elements along an axis are not put together from parts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.rules._blocks import boxed, crop
from jask.rules._table import Kind, Link, Need, Reduction, bind, register
from jask.rules.bounds import index_bounds
from jask.trace.ir import Equation

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

    indexed: tuple[int, ...]
    """Operand axis of each component of an index vector."""

    @classmethod
    def of(cls, eqn: Equation) -> "GatherAxes":
        """Read them from the parameters."""
        dims, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
        operand, out = eqn.inputs[0], eqn.outputs[0]
        gone = {*dims.collapsed_slice_dims, *dims.operand_batching_dims}
        kept = (d for d in range(operand.ndim) if d not in gone)
        window = dict(zip(kept, map(int, dims.offset_dims), strict=True))
        indexed = tuple(map(int, dims.start_index_map))
        return cls(
            window,
            tuple(d for d in range(out.ndim) if d not in window.values()),
            pairs(dims.operand_batching_dims, dims.start_indices_batching_dims),
            frozenset(
                d for d in window if sizes[d] == operand.shape[d] and d not in indexed
            ),
            indexed,
        )

    @property
    def can_fold(self) -> bool:
        """Whether slices have one element along indexed axes, and others whole."""
        single = not set(self.indexed) & set(self.window)
        return single and set(self.window) == self.streamed


class Gather(Reduction):
    """Slices of the operand at given positions."""

    kind: ClassVar[Kind] = "indexed"

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the indices of the box, and for indexed axes between their bounds."""
        axes = GatherAxes.of(eqn)
        operand, indices = eqn.inputs
        rows = [out.intervals[d] for d in axes.batch]
        reach = _reach(eqn, axes, rows)
        spans: list[Span] = []
        for d, n in enumerate(operand.shape):
            if d in axes.paired:
                spans.append(rows[axes.paired[d]])
            elif d in axes.streamed:
                spans.append(out.intervals[axes.window[d]])
            else:
                spans.append(reach.get(d, (0, n)))
        places = Box.of([*rows, (0, indices.shape[-1])])
        moved = {o for d, o in axes.window.items() if d not in axes.streamed}
        starts = tuple(a if d in moved else 0 for d, a in enumerate(out.start))
        if reach:
            starts += tuple(spans[d][0] for d in axes.indexed)
        return Need(
            boxed(eqn, (Box.of(spans), places)), "moved" if reach else None, starts
        )

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
        starts, moves = offsets[: len(shape)], offsets[len(shape) :]
        if need.key == "moved":
            indices = _in_bounds(eqn, axes, indices) - _vector(moves)
        sizes = tuple(
            operand.shape[d] if d in axes.streamed else n
            for d, n in enumerate(eqn.params["slice_sizes"])
        )
        return crop(bind(eqn, operand, indices, slice_sizes=sizes), starts, shape)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link streamed axes and batch axes."""
        axes = GatherAxes.of(eqn)
        links = [Link(0, d, axes.window[d]) for d in sorted(axes.streamed)]
        links += [Link(0, d, axes.batch[i]) for d, i in axes.paired.items()]
        return links + [Link(1, i, d) for i, d in enumerate(axes.batch)]

    # ---- walking the indexed axes

    def can_fold(self, eqn: Equation) -> bool:
        """Return whether parts of the operand can be looked at one by one."""
        axes = GatherAxes.of(eqn)
        return axes.can_fold and set(_walked(eqn)) == set(axes.indexed)

    def domain(self, eqn: Equation) -> tuple[int, ...]:
        """Return the result's axes, then the operand's axes that are walked."""
        operand, out = eqn.inputs[0], eqn.outputs[0]
        return (*out.shape, *(operand.shape[d] for d in _walked(eqn)))

    def sources(self, eqn: Equation) -> tuple[tuple[int, int], ...]:
        """Return the operand's or the indices' axis of each."""
        axes = GatherAxes.of(eqn)
        found = {o: (0, d) for d, o in axes.window.items()}
        found.update((o, (1, i)) for i, o in enumerate(axes.batch))
        walked = ((0, d) for d in _walked(eqn))
        return (*(found[o] for o in range(eqn.outputs[0].ndim)), *walked)

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Ask for a part of the operand, and for the indices of the kept box."""
        axes, walked = GatherAxes.of(eqn), _walked(eqn)
        rows = [part.intervals[d] for d in axes.batch]
        tail = part.intervals[eqn.outputs[0].ndim :]
        own = dict(zip(walked, tail, strict=True))
        spans = [
            rows[axes.paired[d]]
            if d in axes.paired
            else own.get(d) or part.intervals[axes.window[d]]
            for d in range(eqn.inputs[0].ndim)
        ]
        places = Box.of([*rows, (0, eqn.inputs[1].shape[-1])])
        starts = tuple(spans[d][0] for d in axes.indexed)
        return Need((Box.of(spans), places), offsets=starts)

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the types of (element, whether it was found)."""
        return (eqn.outputs[0].dtype, np.dtype(bool))

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return nothing found."""
        return tuple(jnp.zeros(shape, t) for t in self.accumulators(eqn))

    def partial(
        self, eqn: Equation, offsets: Sequence[Any], blocks: Sequence[Any]
    ) -> Sequence[Any]:
        """Return the elements that lie in the block."""
        axes = GatherAxes.of(eqn)
        operand, indices = blocks
        places = _in_bounds(eqn, axes, indices) - _vector(offsets)
        lengths = np.asarray([operand.shape[d] for d in axes.indexed], np.int64)
        inside = jnp.all((places >= 0) & (places < lengths), axis=-1)
        sizes = tuple(
            n if d in axes.streamed else 1 for d, n in enumerate(operand.shape)
        )
        found = bind(
            eqn,
            operand,
            jnp.where(inside[..., None], places, 0),
            slice_sizes=sizes,
            mode=MODE.PROMISE_IN_BOUNDS,
            unique_indices=False,
            indices_are_sorted=False,
        )
        hit = lax.broadcast_in_dim(inside, found.shape, axes.batch)
        return (jnp.where(hit, found, jnp.zeros((), found.dtype)), hit)

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Keep what was found in either."""
        return (jnp.where(second[1], second[0], first[0]), first[1] | second[1])

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Fill in what was found nowhere."""
        value, hit = accumulators
        fill = eqn.params["fill_value"]
        return (value if fill is None else jnp.where(hit, value, fill),)


def _walked(eqn: Equation) -> tuple[int, ...]:
    """Return the operand axes along which slices are looked for, ascending."""
    axes = GatherAxes.of(eqn)
    return tuple(
        d
        for d in range(eqn.inputs[0].ndim)
        if d not in axes.streamed and d not in axes.paired
    )


def _reach(eqn: Equation, axes: GatherAxes, rows: Sequence[Span]) -> dict[int, Span]:
    """Return the part of each indexed axis that slices lie in; empty if not known."""
    found: dict[int, Span] = {}
    if any(0 in a.shape for a in eqn.inputs):
        return found
    ranges = index_bounds(eqn, len(axes.indexed), rows)
    for d, span in zip(axes.indexed, ranges, strict=True):
        if span is not None:
            size = eqn.params["slice_sizes"][d]
            last = eqn.inputs[0].shape[d] - size
            low, high = (min(max(k, 0), last) for k in span)
            found[d] = (low, high + size)
    return found


def _in_bounds(eqn: Equation, axes: GatherAxes, indices: Any) -> Any:
    """Return the indices in 64 bits, clamped unless what lies outside is filled."""
    places = indices.astype(np.int64)
    if eqn.params["mode"] == MODE.FILL_OR_DROP:
        return places
    shape, sizes = eqn.inputs[0].shape, eqn.params["slice_sizes"]
    return jnp.clip(places, 0, _limits(shape, sizes, axes.indexed))


def _limits(
    shape: Sequence[int], sizes: Sequence[int], indexed: Sequence[int]
) -> np.ndarray[Any, Any]:
    return np.asarray([shape[d] - sizes[d] for d in indexed], np.int64)


def _vector(numbers: Sequence[Any]) -> Any:
    """Return run-time integers as a vector."""
    if not numbers:
        return np.zeros(0, np.int64)
    return jnp.stack([jnp.asarray(k, np.int64) for k in numbers])


def pairs(operand: Sequence[int], indices: Sequence[int]) -> dict[int, int]:
    """Return the axis of the indices of each batch axis of the operand.

    Examples
    --------
    >>> pairs((0, 2), (1, 0))
    {0: 1, 2: 0}
    """
    return {int(d): int(i) for d, i in zip(operand, indices, strict=True)}


register(["gather"], Gather())
