"""Primitives that move elements without changing them: transpose, rev, reshape."""

from collections.abc import Sequence
from math import prod
from typing import Any

from jax import lax

from jask.geometry.box import Box
from jask.geometry.factor import (
    Group,
    covering,
    enclosing,
    factor,
    over_edge,
    position,
)
from jask.rules._blocks import crop
from jask.rules._table import Link, Need, Rule, register
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature


class Transpose(Rule):
    """Result axis `i` is operand axis `permutation[i]`."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the permuted box."""
        return Need((_unpermuted(out, eqn.params["permutation"]),))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Transpose the block."""
        return lax.transpose(blocks[0], eqn.params["permutation"])

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link every axis."""
        return [Link(0, p, i) for i, p in enumerate(eqn.params["permutation"])]


class Rev(Rule):
    """Some axes run backwards."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the mirrored box."""
        shape, flipped = eqn.inputs[0].shape, set(eqn.params["dimensions"])
        box = Box.of(
            (n - b, n - a) if d in flipped else (a, b)
            for d, ((a, b), n) in enumerate(zip(out.intervals, shape, strict=True))
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
        """Reverse the block."""
        return lax.rev(blocks[0], eqn.params["dimensions"])

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes that do not run backwards."""
        flipped = set(eqn.params["dimensions"])
        return [Link(0, d, d) for d in range(eqn.inputs[0].ndim) if d not in flipped]


class Reshape(Rule):
    """A row-major reshape, of a transposed operand if `dimensions` says so.

    Within a group of axes, the box is grown to a contiguous run of elements; the block
    is made from the smallest contiguous box of the operand that holds the run, cropped
    to the run, reshaped and cropped to the box. Both crops are at run-time offsets.
    An equation that names its operand twice (`rules/pieces.py`) may ask for two boxes.
    """

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the boxes that hold the runs; the key is the shapes in between."""
        before, after = _shapes(eqn)
        spans = [(0, 1)] * len(before)
        more: list[tuple[int, int]] | None = None
        key: list[tuple[int, tuple[int, ...], bool] | None] = []
        offsets: list[int] = []
        for group in factor(before, after):
            part = _select(out, group.after)
            box, other = part, None
            if _single(group):
                key.append(None)
            else:
                inner = tuple(after[d] for d in group.after)
                run = enclosing(part, inner)
                first = position(run.start, inner)
                outer = tuple(before[d] for d in group.before)
                two = len(eqn.inputs) > 1 and more is None
                box, other, start = _holding(first, run.size, outer, two=two)
                key.append((run.size, run.shape, other is not None))
                offsets.append(start)
                offsets.extend(part.relative_to(run))
            if more is None and other is not None:
                more = list(spans)
            _place(spans, group, box)
            if more is not None:
                _place(more, group, other or box)
        boxes = [None if s is None else Box.of(s) for s in (spans, more)]
        turned = [b and _unpermuted(b, _permutation(eqn)) for b in boxes]
        return Need(tuple(turned[: len(eqn.inputs)]), tuple(key), tuple(offsets))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Flatten each group, crop to the run, unflatten, crop to the box."""
        groups = factor(*_shapes(eqn))
        key: Sequence[Any] = need.key  # type: ignore[assignment]
        block = _flat(eqn, groups, key, blocks)
        runs: list[int] = []
        inner: list[int] = []
        first: list[Any] = []
        second: list[Any] = []
        rest = iter(offsets)
        for length, entry in zip(block.shape, key, strict=True):
            size, unflat, _ = (length, (length,), False) if entry is None else entry
            runs.append(size)
            inner.extend(unflat)
            first.append(0 if entry is None else next(rest))
            second.extend(0 if entry is None else next(rest) for _ in unflat)
        block = crop(block, first, runs)
        wanted = [shape[d] for g in groups for d in g.after]
        return lax.reshape(crop(lax.reshape(block, inner), second, wanted), shape)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes that the reshape leaves alone."""
        before, after = _shapes(eqn)
        if 0 in before:
            return []
        perm = _permutation(eqn)
        return [
            Link(0, perm[g.before[0]], g.after[0])
            for g in factor(before, after)
            if _single(g)
        ]


def _holding(
    first: int, size: int, shape: tuple[int, ...], *, two: bool
) -> tuple[Box, Box | None, int]:
    """Return boxes that hold a run, two if allowed, and where it starts in them."""
    halves = over_edge(first, size, shape) if two else None
    if halves is None:
        box = covering(first, first + size - 1, shape)
        return box, None, first - position(box.start, shape)
    return *halves, first - position(halves[0].start, shape)


def _place(spans: list[tuple[int, int]], group: Group, box: Box) -> None:
    """Put the box of a group among the spans of all axes."""
    for d, span in zip(group.before, box.intervals, strict=True):
        spans[d] = span


def _flat(
    eqn: Equation, groups: Sequence[Group], key: Sequence[Any], blocks: Sequence[Any]
) -> Any:
    """Return the blocks with one axis for each group, joined where a run is in two."""
    flat = []
    for block in (b for b in blocks if b is not None):
        turned = lax.transpose(block, _permutation(eqn))
        lengths = [prod(turned.shape[d] for d in g.before) for g in groups]
        flat.append(lax.reshape(turned, lengths))
    joined = next((i for i, entry in enumerate(key) if entry and entry[2]), None)
    return flat[0] if joined is None else lax.concatenate(flat, joined)


def merges(eqn: Equation) -> bool:
    """Return whether a reshape merges axes, so that a run may lie over their edges."""
    before, after = _shapes(eqn)
    return 0 not in before and any(len(g.before) > 1 for g in factor(before, after))


def _permutation(eqn: Equation) -> tuple[int, ...]:
    order = eqn.params.get("dimensions") if eqn.name == "reshape" else None
    return tuple(range(eqn.inputs[0].ndim)) if order is None else tuple(order)


def _shapes(eqn: Equation) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of the (transposed) operand and of the result."""
    shape = eqn.inputs[0].shape
    return tuple(shape[p] for p in _permutation(eqn)), eqn.outputs[0].shape


def _single(group: Group) -> bool:
    return len(group.before) == len(group.after) == 1


def _select(box: Box, axes: tuple[int, ...]) -> Box:
    return Box.of(box.intervals[d] for d in axes)


def _unpermuted(box: Box, permutation: Sequence[int]) -> Box:
    """Return the box of the operand whose transposition is `box`."""
    spans = [(0, 0)] * len(permutation)
    for span, p in zip(box.intervals, permutation, strict=True):
        spans[p] = span
    return Box.of(spans)


register(["transpose"], Transpose())
register(["rev"], Rev())
register(["reshape", "squeeze"], Reshape())
