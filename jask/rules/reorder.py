"""Primitives that move elements without changing them: transpose, rev, reshape."""

from collections.abc import Sequence
from math import prod
from typing import Any

from jax import lax

from jask.geometry.box import Box
from jask.geometry.factor import Group, covering, enclosing, factor, position
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
    """

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the boxes that hold the runs; the key is the shapes in between."""
        before, after = _shapes(eqn)
        spans = [(0, 1)] * len(before)
        key: list[tuple[int, tuple[int, ...]] | None] = []
        offsets: list[int] = []
        for group in factor(before, after):
            part = _select(out, group.after)
            if _single(group):
                box = part
                key.append(None)
            else:
                inner = tuple(after[d] for d in group.after)
                run = enclosing(part, inner)
                first = position(run.start, inner)
                outer = tuple(before[d] for d in group.before)
                box = covering(first, first + run.size - 1, outer)
                key.append((run.size, run.shape))
                offsets.append(first - position(box.start, outer))
                offsets.extend(part.relative_to(run))
            for d, span in zip(group.before, box.intervals, strict=True):
                spans[d] = span
        box = _unpermuted(Box.of(spans), _permutation(eqn))
        return Need((box,), tuple(key), tuple(offsets))

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
        block = lax.transpose(blocks[0], _permutation(eqn))
        flat = [prod(block.shape[d] for d in g.before) for g in groups]
        runs: list[int] = []
        inner: list[int] = []
        first: list[Any] = []
        second: list[Any] = []
        rest = iter(offsets)
        for length, entry in zip(flat, need.key, strict=True):  # type: ignore[call-overload]
            size, unflat = (length, (length,)) if entry is None else entry
            runs.append(size)
            inner.extend(unflat)
            first.append(0 if entry is None else next(rest))
            second.extend(0 if entry is None else next(rest) for _ in unflat)
        block = crop(lax.reshape(block, flat), first, runs)
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
