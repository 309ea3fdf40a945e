"""Sliding windows: reduce_window and its relatives, and what differentiates them.

1. A box of the result asks for what its windows see of the operand (a halo); what they
   see beyond its edges is padding, part of the kernel (`geometry/window.py`).
2. A sum, maximum or minimum over windows that do not fit a tile is folded over the
   windows' axes.
3. The gradient of a maximum, `select_and_scatter_add`, asks for the windows that touch
   its box, and for all that these see.

Windows of other functions, and of what chooses elements, are not cut: they must fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.geometry.window import Reach, Span, Window
from jask.rules._blocks import SCALAR, DType, at_least_single, highest, lowest
from jask.rules._table import Kind, Link, Need, Rule, bind, register
from jask.rules.reduce import Joined
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature

type Padding = tuple[Span, ...]

FEW = 4096
"""A sum over at most so many elements is never cut."""

SHORT, SHORTS = 8, 512
"""Axes of at most this length are never cut, if together they have few elements."""


@lru_cache(maxsize=1024)
def make_windows(
    sizes: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    spread: Sequence[int],
    step: Sequence[int],
) -> tuple[Window, ...]:
    """Return a window for each axis.

    Examples
    --------
    >>> make_windows((3,), (2,), ((1, 1),), (1,), (1,))
    (Window(size=3, stride=2, low=1, spread=1, step=1),)
    """
    columns = zip(sizes, strides, padding, spread, step, strict=True)
    return tuple(
        Window(size=int(n), stride=int(s), low=int(low), spread=int(b), step=int(t))
        for n, s, (low, _), b, t in columns
    )


@lru_cache(maxsize=1024)
def walked(lengths: Sequence[int]) -> tuple[int, ...]:
    """Return which axes of a sum are walked: none of a short sum, else the long ones.

    Each axis that may be cut makes the search for a tile longer.

    Examples
    --------
    >>> walked((3, 3)), walked((100, 3, 70, 1))
    ((), (0, 2))
    """
    if prod(lengths) <= FEW:
        return ()
    short = SHORT if prod(n for n in lengths if n <= SHORT) <= SHORTS else 1
    return tuple(d for d, n in enumerate(lengths) if n > short)


def all_spans(lengths: Sequence[int], spans: Sequence[Span]) -> list[Span]:
    """Return the intervals along the axes of a sum, given those along what is walked.

    Examples
    --------
    >>> all_spans((100, 3, 70), [(10, 20), (0, 70)])
    [(10, 20), (0, 3), (0, 70)]
    """
    own = dict(zip(walked(tuple(lengths)), spans, strict=True))
    return [own.get(d, (0, n)) for d, n in enumerate(lengths)]


def windows_of(eqn: Equation) -> tuple[Window, ...]:
    """Return the window along each axis of the operand."""
    p = eqn.params
    ones = (1,) * len(p["window_dimensions"])
    return make_windows(
        p["window_dimensions"],
        p["window_strides"],
        p["padding"],
        p.get("base_dilation", ones),
        p.get("window_dilation", ones),
    )


def seen(
    windows: Sequence[Window],
    lengths: Sequence[int],
    spans: Sequence[Span],
    taps: Sequence[Span],
) -> tuple[list[Span], Padding] | None:
    """Return what windows see along each axis, with its padding; None: only padding."""
    found: list[Reach] = []
    for window, n, span, part in zip(windows, lengths, spans, taps, strict=True):
        reach = window.reach(n, span, part)
        if reach is None:
            return None
        found.append(reach)
    return [r.span for r in found], tuple(r.padding for r in found)


def _sizes(eqn: Equation) -> tuple[int, ...]:
    return tuple(w.size for w in windows_of(eqn))


def _all_taps(windows: Sequence[Window]) -> list[Span]:
    return [(0, w.size) for w in windows]


def _links(eqn: Equation, operands: int) -> list[Link]:
    """Return links of the axes along which windows and elements run together."""
    out = eqn.outputs[0].shape
    return [
        Link(i, d, d)
        for i in range(operands)
        for d, w in enumerate(windows_of(eqn))
        if w.slides and eqn.inputs[i].shape[d] == out[d]
    ]


@dataclass(frozen=True)
class ReduceWindow(Joined):
    """A sum, maximum or minimum over windows; its domain is windows and taps."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for what the windows of the box see."""
        return self._need(eqn, out.intervals, _all_taps(windows_of(eqn)))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Slide over the block; nothing but padding gives the identity."""
        if blocks[0] is None:
            return self.finish(eqn, self.init(eqn, shape))
        return bind(eqn, blocks[0], padding=need.key)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes along which windows slide by one."""
        return _links(eqn, 1)

    # ---- windows that do not fit a tile

    def can_fold(self, eqn: Equation) -> bool:
        """Return whether the windows are large."""
        return bool(walked(_sizes(eqn)))

    def domain(self, eqn: Equation) -> tuple[int, ...]:
        """Return the result's shape and the long sides of the windows."""
        sizes = _sizes(eqn)
        return (*eqn.outputs[0].shape, *(sizes[d] for d in walked(sizes)))

    def sources(self, eqn: Equation) -> tuple[tuple[int, int], ...]:
        """Return the operand's axes, for windows and for taps (of other lengths)."""
        axes = (*range(eqn.outputs[0].ndim), *walked(_sizes(eqn)))
        return tuple((0, d) for d in axes)

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Ask for what some taps of some windows see."""
        ndim = eqn.outputs[0].ndim
        taps = all_spans(_sizes(eqn), part.intervals[ndim:])
        return self._need(eqn, part.intervals[:ndim], taps)

    def _need(self, eqn: Equation, spans: Sequence[Span], taps: Sequence[Span]) -> Need:
        found = seen(windows_of(eqn), eqn.inputs[0].shape, spans, taps)
        return Need((None,)) if found is None else Need((Box.of(found[0]),), found[1])

    def contribution(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        key: Any,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Sequence[Any]:
        """Slide some taps over the block, in single precision at least."""
        ndim = eqn.outputs[0].ndim
        if blocks[0] is None:
            return self.init(eqn, shape[:ndim])
        (block,) = blocks
        if self.widened:
            block = block.astype(at_least_single(block.dtype))
        sizes = dict(zip(walked(_sizes(eqn)), shape[ndim:], strict=True))
        taps = tuple(sizes.get(d, n) for d, n in enumerate(_sizes(eqn)))
        part = bind(eqn, block, window_dimensions=taps, padding=key)
        return (part.astype(self.accumulators(eqn)[0]),)


@dataclass(frozen=True)
class WholeWindow(Rule):
    """Windows of some operands of one shape, reduced by a function of the equation."""

    starts: bool
    """Whether the second half of the operands are start values, without axes."""

    kind: ClassVar[Kind] = "whole"

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask each operand for what the windows of the box see."""
        windows = windows_of(eqn)
        shape = eqn.inputs[0].shape
        found = seen(windows, shape, out.intervals, _all_taps(windows))
        count = self._count(eqn)
        rest = (SCALAR,) * (len(eqn.inputs) - count)
        if found is None:
            return Need((*(None,) * count, *rest))
        return Need((*(Box.of(found[0]),) * count, *rest), found[1])

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Slide over the blocks; where there is only padding, over blocks of none."""
        if blocks[0] is not None:
            return bind(eqn, *blocks, padding=need.key)
        windows = windows_of(eqn)
        count = self._count(eqn)
        nothing = [jnp.zeros((0,) * len(shape), a.dtype) for a in eqn.inputs[:count]]
        padding = tuple(
            (0, (n - 1) * w.stride + (w.size - 1) * w.step + 1)
            for n, w in zip(shape, windows, strict=True)
        )
        return bind(eqn, *nothing, *blocks[count:], padding=padding)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes along which windows slide by one."""
        return _links(eqn, self._count(eqn))

    def _count(self, eqn: Equation) -> int:
        """Return how many operands the windows slide over."""
        return len(eqn.inputs) // 2 if self.starts else len(eqn.inputs)


class SelectAndScatterAdd(Rule):
    """Each window adds its element of the source where it found its extreme value."""

    kind: ClassVar[Kind] = "whole"

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the windows that touch the box; key: padding, and where they lie."""
        source, operand = eqn.inputs
        touching: list[Span] = []
        found: list[Reach] = []
        for w, m, n, part in zip(
            windows_of(eqn), source.shape, operand.shape, out.intervals, strict=True
        ):
            span = w.touching(m, part)
            reach = None if span is None else w.reach(n, span)
            if span is None or reach is None:
                return Need((None, None))
            touching.append(span)
            found.append(reach)
        padding = tuple(r.padding for r in found)
        place = tuple(
            (r.span[0] - a, b - r.span[1])
            for r, (a, b) in zip(found, out.intervals, strict=True)
        )
        boxes = (Box.of(touching), Box.of(r.span for r in found))
        return Need(boxes, (padding, place))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Add for these windows, crop to the box; what none touches is zero."""
        zero = np.zeros((), eqn.outputs[0].dtype)
        if blocks[0] is None:
            return jnp.full(shape, zero)
        key: Any = need.key
        padding, place = key
        added = bind(eqn, *blocks, padding=padding)
        return lax.pad(added, zero, [(low, high, 0) for low, high in place])

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the operand, and the source where windows slide by one."""
        out = eqn.outputs[0].shape
        source = eqn.inputs[0].shape
        own = [Link(1, d, d) for d in range(len(out))]
        return own + [
            Link(0, d, d)
            for d, w in enumerate(windows_of(eqn))
            if w.slides and source[d] == out[d]
        ]


def _zero(dtype: DType) -> Any:
    return np.zeros((), dtype)[()]


register(["reduce_window_sum"], ReduceWindow(lax.add, _zero, widened=True))
register(["reduce_window_max"], ReduceWindow(lax.max, lowest))
register(["reduce_window_min"], ReduceWindow(lax.min, highest))
register(["reduce_window"], WholeWindow(starts=True))
register(["select_and_gather_add"], WholeWindow(starts=False))
register(["select_and_scatter_add"], SelectAndScatterAdd())
