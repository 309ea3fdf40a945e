"""Rectangular parts: slice, pad, concatenate, stack, tile, slices at given starts.

Positions that differ between tiles become run-time integers; only the amount of
padding at the edges of a `pad` is part of the kernel.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.rules._blocks import SCALAR, crop
from jask.rules._table import Link, Need, Rule, bind, register
from jask.trace.ir import Equation, Literal

# ruff: noqa: ARG002 - the methods of a rule have one signature

type Span = tuple[int, int]


class Slice(Rule):
    """Every `stride`-th element from a start."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask from the first to the last element taken."""
        starts = map(int, eqn.params["start_indices"])
        box = Box.of(
            (s + a * k, s + (b - 1) * k + 1)
            for (a, b), s, k in zip(out.intervals, starts, _strides(eqn), strict=True)
        )
        return Need((box,))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Apply the strides."""
        (block,) = blocks
        return lax.slice(block, (0,) * block.ndim, block.shape, _strides(eqn))

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes that are taken whole."""
        return _equal_axes(eqn, 0)


class Pad(Rule):
    """Padding around (negative: cropping) and between the elements."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the elements that land in the box; the key is the padding of it."""
        spans: list[Span] = []
        config: list[tuple[int, int, int]] = []
        for (a, b), (before, _, between), n in zip(
            out.intervals,
            eqn.params["padding_config"],
            eqn.inputs[0].shape,
            strict=True,
        ):
            low, step = int(before), int(between) + 1
            first = max(0, -((low - a) // step))
            stop = min(n, (b - 1 - low) // step + 1)
            if stop <= first:
                return Need((None, SCALAR))
            spans.append((first, stop))
            last = (stop - 1) * step + low
            config.append((first * step + low - a, b - 1 - last, step - 1))
        return Need((Box.of(spans), SCALAR), tuple(config))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Pad the block."""
        block, value = blocks
        if block is None:
            return lax.broadcast(value, shape)
        return lax.pad(block, value, need.key)  # type: ignore[arg-type]

    def origins(self, eqn: Equation) -> Sequence[tuple[int, ...]]:
        """Return where the padding before the elements ends."""
        return [tuple(max(0, int(low)) for low, _, _ in eqn.params["padding_config"])]

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes that keep their length (they may be shifted)."""
        return _equal_axes(eqn, 0)


class Concatenate(Rule):
    """Operands one after the other along an axis."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask each operand for its share."""
        axis, start = int(eqn.params["dimension"]), 0
        boxes: list[Box | None] = []
        for atom in eqn.inputs:
            n = atom.shape[axis]
            a, b = out.intervals[axis]
            share = (max(a - start, 0), min(b - start, n))
            boxes.append(_along(out, axis, share) if share[0] < share[1] else None)
            start += n
        return Need(tuple(boxes))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Join the shares."""
        shares = [b for b in blocks if b is not None]
        return lax.concatenate(shares, int(eqn.params["dimension"]))

    def origins(self, eqn: Equation) -> Sequence[tuple[int, ...]]:
        """Return where the operands before each end."""
        axis = int(eqn.params["dimension"])
        ends = accumulate((a.shape[axis] for a in eqn.inputs), initial=0)
        return [_at(eqn, axis, end) for end in ends]

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link all axes but the joined one."""
        return [k for i in range(len(eqn.inputs)) for k in _equal_axes(eqn, i)]


class Stack(Rule):
    """Operands side by side along a new axis."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask the operands inside the box."""
        axis = int(eqn.params["axis"])
        a, b = out.intervals[axis]
        box = Box.of(s for d, s in enumerate(out.intervals) if d != axis)
        return Need(tuple(box if a <= i < b else None for i in range(len(eqn.inputs))))

    def origins(self, eqn: Equation) -> Sequence[tuple[int, ...]]:
        """Return the place of each operand."""
        return [_at(eqn, int(eqn.params["axis"]), i) for i in range(len(eqn.inputs))]

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Stack the blocks."""
        return jnp.stack([b for b in blocks if b is not None], eqn.params["axis"])

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link all axes but the new one."""
        axis = int(eqn.params["axis"])
        return [
            Link(i, d, d + (d >= axis))
            for i, atom in enumerate(eqn.inputs)
            for d in range(atom.ndim)
        ]


class Unstack(Rule):
    """One result per place of an axis; a box of one is made with the same of all."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the axis whole."""
        axis = int(eqn.params["axis"])
        spans = list(out.intervals)
        spans.insert(axis, (0, eqn.inputs[0].shape[axis]))
        return Need((Box.of(spans),))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Cut the block at every place."""
        return bind(eqn, *blocks)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link all axes but the one that goes."""
        axis = int(eqn.params["axis"])
        return [Link(0, d + (d >= axis), d) for d in range(eqn.outputs[0].ndim)]


class Tile(Rule):
    """The operand, repeated along each axis.

    A box that stays inside one copy of an axis asks for that part of it, any other for
    the whole axis, to be repeated and cropped at a run-time start. An equation that
    names its operand twice (`rules/pieces.py`) asks, along one such axis, for as much
    of its end and of its start instead.
    """

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the part of one copy; the key says which axes wrap around."""
        spans: list[Span] = []
        ways: list[str] = []
        offsets: list[int] = []
        more: list[Span] | None = None
        for (a, b), n in zip(out.intervals, eqn.inputs[0].shape, strict=True):
            span, way, at, other = (a % n, (b - 1) % n + 1), "inside", 0, None
            if a // n != (b - 1) // n:
                if len(eqn.inputs) > 1 and more is None and 2 * (b - a) < n:
                    span, way, at = (n - b + a, n), "joined", a % n - n + b - a
                    other = (0, b - a)
                else:
                    span, way, at = (0, n), "around", a % n
            if other is not None:
                more = [*spans, other]
            elif more is not None:
                more.append(span)
            spans.append(span)
            ways.append(way)
            offsets.append(at)
        boxes = (Box.of(spans), None if more is None else Box.of(more))
        return Need(boxes[: len(eqn.inputs)], tuple(ways), tuple(offsets))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Repeat the block and crop."""
        ways: Any = need.key
        block = blocks[0]
        if "joined" in ways:
            block = lax.concatenate(blocks, ways.index("joined"))
        times = [
            (m + n - 2) // n + 1 if w == "around" else 1
            for m, n, w in zip(shape, block.shape, ways, strict=True)
        ]
        return crop(jnp.tile(block, times), offsets, shape)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes that are not repeated."""
        return _equal_axes(eqn, 0)


class DynamicSlice(Rule):
    """A slice whose starts are operands.

    Starts that are Literals are static, clamped as XLA does. Along an axis whose start
    is known only at run time the operand is needed whole.
    """

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the exact span where the start is known, else for the axis."""
        operand, *starts = eqn.inputs
        spans: list[Span] = []
        scalars: list[Box | None] = []
        sizes = eqn.outputs[0].shape
        for (a, b), n, m, s in zip(
            out.intervals, operand.shape, sizes, starts, strict=True
        ):
            first = _static(s, n, m)
            spans.append((0, n) if first is None else (first + a, first + b))
            scalars.append(SCALAR if first is None else None)
        return Need((Box.of(spans), *scalars), offsets=out.start)

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Slice at the clamped starts, moved by where the box starts."""
        block, *starts = blocks
        limits = zip(eqn.inputs[0].shape, eqn.outputs[0].shape, strict=True)
        at = [
            0 if s is None else _clamped(s, n, m) + offset
            for s, (n, m), offset in zip(starts, limits, offsets, strict=True)
        ]
        return crop(block, at, shape)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes that are taken whole."""
        return _equal_axes(eqn, 0)


class DynamicUpdateSlice(Rule):
    """A rectangle of the operand replaced by an update.

    Where all starts are Literals, a box asks for its share of the update only, and not
    for the operand where the update covers it. Along an axis whose start is known only
    at run time the update is needed whole.
    """

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the operand's box and for the update's share."""
        operand, update, *starts = eqn.inputs
        if 0 in update.shape:
            return Need((out, None, *(None for _ in starts)))
        spans: list[Span] = []
        offsets: list[int] = []
        scalars: list[Box | None] = []
        for (a, b), n, m, s in zip(
            out.intervals, operand.shape, update.shape, starts, strict=True
        ):
            first = _static(s, n, m)
            scalars.append(SCALAR if first is None else None)
            if first is None:
                spans.append((0, m))
                offsets.append(a)
                continue
            share = (max(a, first), min(b, first + m))
            if share[0] >= share[1]:
                return Need((out, None, *(None for _ in starts)))
            spans.append((share[0] - first, share[1] - first))
            offsets.append(share[0] - a)
        box = Box.of(spans)
        covered = SCALAR not in scalars and box.shape == out.shape
        boxes = (None if covered else out, box, *scalars)
        return Need(boxes, offsets=tuple(offsets))

    def origins(self, eqn: Equation) -> Sequence[tuple[int, ...] | None]:
        """Return where the update begins, at 0 where that is not known."""
        operand, update, *starts = eqn.inputs
        first = map(_static, starts, operand.shape, update.shape)
        return [None, tuple(a or 0 for a in first)]

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Put the share where it belongs; a margin catches what falls outside."""
        block, update, *starts = blocks
        if update is None or block is None:
            return block if update is None else update
        at: list[Any] = []
        margin: list[int] = []
        for d, (s, offset) in enumerate(zip(starts, offsets, strict=True)):
            if s is None:
                margin.append(0)
                at.append(offset)
                continue
            m = update.shape[d]
            start = _clamped(s, eqn.inputs[0].shape[d], m) - offset + m
            margin.append(m)
            at.append(jnp.clip(start, 0, shape[d] + m))
        return _placed(block, update, at, margin)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link all axes of the operand; those of the update that span it."""
        return [*_equal_axes(eqn, 0), *_equal_axes(eqn, 1)]


def _placed(block: Any, update: Any, at: Sequence[Any], margin: Sequence[int]) -> Any:
    """Write `update` at run-time starts into `block` with a margin around it."""
    zero = jnp.zeros((), block.dtype)
    at = [jnp.asarray(a, np.int64) for a in at]
    wide = lax.pad(block, zero, [(m, m, 0) for m in margin]) if any(margin) else block
    wide = lax.dynamic_update_slice(wide, update, at)
    stops = [m + n for m, n in zip(margin, block.shape, strict=True)]
    return lax.slice(wide, margin, stops)


def _strides(eqn: Equation) -> tuple[int, ...]:
    strides = eqn.params["strides"]
    if strides is None:
        return (1,) * eqn.inputs[0].ndim
    return tuple(map(int, strides))


def _along(box: Box, axis: int, span: Span) -> Box:
    """Return the box with another interval along one axis."""
    return Box.of(span if d == axis else s for d, s in enumerate(box.intervals))


def _at(eqn: Equation, axis: int, start: int) -> tuple[int, ...]:
    """Return a place in the results, at the start of all other axes."""
    return tuple(start if d == axis else 0 for d in range(eqn.outputs[0].ndim))


def _equal_axes(eqn: Equation, operand: int) -> list[Link]:
    """Return links between axes of the same number and length."""
    pairs = zip(eqn.inputs[operand].shape, eqn.outputs[0].shape, strict=True)
    return [Link(operand, d, d) for d, (n, m) in enumerate(pairs) if n == m]


def _static(start: Any, length: int, size: int) -> int | None:
    """Return a known start, clamped as XLA does, or None."""
    if length == size:
        return 0
    if not isinstance(start, Literal):
        return None
    return min(max(int(start.value), 0), length - size)


def _clamped(start: Any, length: int, size: int) -> Any:
    """Return a run-time start, clamped as XLA does, in 64 bits."""
    return jnp.clip(jnp.asarray(start).astype(np.int64), 0, length - size)


register(["slice"], Slice())
register(["pad"], Pad())
register(["concatenate"], Concatenate())
register(["stack"], Stack())
register(["unstack"], Unstack())
register(["tile"], Tile())
register(["dynamic_slice"], DynamicSlice())
register(["dynamic_update_slice"], DynamicUpdateSlice())
