"""Primitives that need some axes whole and treat the others one by one.

A box of the result asks for those axes whole and for its own interval on the batch
axes; the results are cropped to the box at a run-time start. So sort, top_k, fft and
the linear algebra of many small matrices stream over their batch axes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from jask.geometry.box import Box
from jask.rules._blocks import boxed, crop
from jask.rules._table import Kind, Link, Need, Rule, bind, register
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature


@dataclass(frozen=True)
class WholeAxes(Rule):
    """Each operand and result has the same batch axes, of the same lengths."""

    whole: Callable[[Equation, int], tuple[int, ...]]
    """Which axes of an operand or result with so many axes are needed whole."""

    kind: ClassVar[Kind] = "whole"

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the axes whole, and for where the box starts on them."""
        axes = self.whole(eqn, len(out.start))
        boxes = [
            Box.of(
                (0, n) if d in self.whole(eqn, atom.ndim) else span
                for d, (n, span) in enumerate(
                    zip(atom.shape, _spans(out, atom.ndim), strict=True)
                )
            )
            for atom in eqn.inputs
        ]
        starts = tuple(out.start[d] for d in axes)
        return Need(boxed(eqn, boxes), offsets=starts)

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Apply the primitive, crop its results."""
        results = bind(eqn, *blocks)
        starts: list[Any] = [0] * len(shape)
        for d, offset in zip(self.whole(eqn, len(shape)), offsets, strict=True):
            starts[d] = offset
        if len(eqn.outputs) == 1 and not isinstance(results, list | tuple):
            return crop(results, starts, shape)
        return [crop(r, starts, shape) for r in results]

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the batch axes."""
        out = eqn.outputs[0]
        batch = [d for d in range(out.ndim) if d not in self.whole(eqn, out.ndim)]
        return [Link(i, d, d) for i in range(len(eqn.inputs)) for d in batch]


def _spans(out: Box, ndim: int) -> list[tuple[int, int]]:
    """Return the box's intervals for as many axes, the first ones as they are."""
    spans = list(out.intervals[:ndim])
    return spans + [(0, 0)] * (ndim - len(spans))


def _trailing(core: int | None = None) -> Callable[[Equation, int], tuple[int, ...]]:
    """Return the axes after the batch axes: the result has `core` more than those."""

    def axes(eqn: Equation, ndim: int) -> tuple[int, ...]:
        own = len(eqn.params["fft_lengths"]) if core is None else core
        return tuple(range(eqn.outputs[0].ndim - own, ndim))

    return axes


def _param(name: str) -> Callable[[Equation, int], tuple[int, ...]]:
    return lambda eqn, ndim: (int(eqn.params[name]) % ndim,)


register(["sort"], WholeAxes(_param("dimension")))
register(["top_k"], WholeAxes(_param("axis")))
register(["fft"], WholeAxes(_trailing()))
register(
    ["cholesky", "householder_product", "schur", "symmetric_product"],
    WholeAxes(_trailing(2)),
)
register(["triangular_solve", "tridiagonal_solve"], WholeAxes(_trailing(2)))
register(["lu_pivots_to_permutation"], WholeAxes(_trailing(1)))
