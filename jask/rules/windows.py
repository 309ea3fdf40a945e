"""Sliding windows: reduce_window and its relatives, and what differentiates them.

1. A box of the result asks for what its windows see of the operand (a halo); what they
   see beyond its edges is padding, part of the kernel (`geometry/window.py`).
2. A sum, maximum or minimum over windows that do not fit a tile is folded over the
   windows' axes.
3. The gradient of a maximum, `select_and_scatter_add`, asks for the windows that touch
   its box, and for all that these see.

Windows of other functions, and of what chooses elements, are not cut: they must fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.geometry.window import Reach, Span, Window
from jask.rules._blocks import SCALAR, DType, at_least_single, highest, lowest, wide
from jask.rules._table import Kind, Link, Need, Reduction, Rule, bind, register
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature

type Padding = tuple[Span, ...]


def windows_of(eqn: Equation) -> tuple[Window, ...]:
    """Return the window along each axis of the operand."""
    p = eqn.params
    ones = (1,) * len(p["window_dimensions"])
    columns = zip(
        p["window_dimensions"],
        p["window_strides"],
        p["padding"],
        p.get("base_dilation", ones),
        p.get("window_dilation", ones),
        strict=True,
    )
    return tuple(
        Window(
            size=int(size),
            stride=int(stride),
            low=int(low),
            spread=int(spread),
            step=int(step),
        )
        for size, stride, (low, _), spread, step in columns
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
class ReduceWindow(Reduction):
    """A sum, maximum or minimum over windows; its domain is windows and taps."""

    join: Callable[[Any, Any], Any]
    """The operation."""

    identity: Callable[[DType], Any]
    """Its neutral element in a type."""

    widened: bool = False
    """Whether rounding makes it worth keeping in a wider type."""

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

    def domain(self, eqn: Equation) -> tuple[int, ...]:
        """Return the result's shape and the windows' sizes."""
        return (*eqn.outputs[0].shape, *(w.size for w in windows_of(eqn)))

    def kept(self, eqn: Equation) -> tuple[int, ...]:
        """Return the result's axes."""
        return tuple(range(eqn.outputs[0].ndim))

    def sources(self, eqn: Equation) -> tuple[tuple[int, int], ...]:
        """Return the operand's axes, for windows and for taps (of other lengths)."""
        return tuple((0, d) for d in range(eqn.outputs[0].ndim)) * 2

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Ask for what some taps of some windows see."""
        ndim = eqn.outputs[0].ndim
        return self._need(eqn, part.intervals[:ndim], part.intervals[ndim:])

    def _need(self, eqn: Equation, spans: Sequence[Span], taps: Sequence[Span]) -> Need:
        found = seen(windows_of(eqn), eqn.inputs[0].shape, spans, taps)
        return Need((None,)) if found is None else Need((Box.of(found[0]),), found[1])

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the wide type of sums, else the result's."""
        dtype = eqn.outputs[0].dtype
        return (wide(dtype) if self.widened else dtype,)

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return the identity everywhere."""
        (dtype,) = self.accumulators(eqn)
        return (jnp.full(shape, self.identity(dtype), dtype),)

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
        part = bind(eqn, block, window_dimensions=shape[ndim:], padding=key)
        return (part.astype(self.accumulators(eqn)[0]),)

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Join element by element."""
        return (self.join(first[0], second[0]),)

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Round to the result's type."""
        return (accumulators[0].astype(eqn.outputs[0].dtype),)


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
