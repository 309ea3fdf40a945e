"""Primitives that need some axes whole and treat the others one by one.

A box of the result asks for those axes whole and for its own interval on the batch
axes; the results are cropped to the box at a run-time start. So sort, top_k, fft and
the linear algebra of many small matrices stream over their batch axes. A sort can also
be a stage of its own (`algorithms/external_sort.py`), where its axis does not fit, or
where that is sooner done: NumPy sorts several times as fast as XLA on a CPU.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from jask.geometry.box import Box
from jask.rules._blocks import boxed, crop
from jask.rules._table import Kind, Link, Need, Rule, Staged, bind, register
from jask.trace.ir import Equation
from jask.trace.stacks import DECOMPOSITIONS, stacked_name

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

    def made(self, eqn: Equation, out: Box) -> Box:
        """Return the box of a result with its axes whole."""
        ndim = len(out.start)
        shape = next(o.shape for o in eqn.outputs if o.ndim == ndim)
        spans = list(out.intervals)
        for d in self.whole(eqn, ndim):
            spans[d] = (0, shape[d])
        return Box.of(spans)

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


def _of_a_matrix(eqn: Equation, ndim: int) -> tuple[int, ...]:
    """Return the axes after those of the stack, which is all but two of the first's."""
    return tuple(range(eqn.inputs[0].ndim - 2, ndim))


def _param(name: str) -> Callable[[Equation, int], tuple[int, ...]]:
    return lambda eqn, ndim: (int(eqn.params[name]) % ndim,)


MOST_RUNS = 256
"""Sorted runs that are merged at one time, at most."""

SAMPLE = 1024
"""Samples of k runs take k * k times so many bytes, at most."""

LEAST, MOST = 64, 1 << 30
"""Elements that a stage holds at least, and bytes that it takes at most."""

TOGETHER, WORKERS = 1 << 18, 4
"""Elements of short lines that a worker of a stage sorts at a time, and the workers for
which a stage asks for memory."""

XLA_SORTS = 3000
"""Sorting an element is so many times the work of adding it: 120 ns, by XLA on a CPU,
for lines of ten elements as for those of a million."""

NUMPY_SORTS, NUMPY_MOVES = 700, 2000
"""The same for values alone, and for each word of the keys that others follow."""


class Sort(WholeAxes, Staged):
    """A sort by XLA; or a stage, if that is sooner or its axis does not fit."""

    def work(self, eqn: Equation, out: Box) -> int:
        """Return what XLA takes."""
        size = self.made(eqn, out).size
        return XLA_SORTS * size if jax.default_backend() == "cpu" else size

    def can_stage(self, eqn: Equation) -> bool:
        """Return whether all elements have whole bytes and an order."""
        return all(map(_has_order, eqn.inputs[: eqn.params["num_keys"]])) and all(
            a.dtype.name not in _PARTS_OF_BYTES for a in eqn.inputs
        )

    def stage_axis(self, eqn: Equation) -> int:
        """Return the sorted axis."""
        return int(eqn.params["dimension"])

    def stage_memory(self, eqn: Equation, memory: int) -> int:
        """Return the bytes for one run, or for the lines of some workers that fit."""
        axis = self.stage_axis(eqn)
        work, shape = sort_work(eqn), eqn.inputs[0].shape
        held = min(prod(shape), WORKERS * max(shape[axis], TOGETHER))
        wanted = min(MOST, work * (held + held // 2 + LEAST))
        return max(LEAST * work, min(memory, wanted))

    def stage_traffic(self, eqn: Equation, memory: int) -> int:
        """Return one more than the levels of merging."""
        length = eqn.inputs[0].shape[self.stage_axis(eqn)]
        runs = -(-length // run_length(eqn, memory))
        fan, levels = merged_runs(memory), 1
        while runs > 1:
            runs, levels = -(-runs // fan), levels + 1
        return levels

    def stage_work(self, eqn: Equation, memory: int) -> int:
        """Return what NumPy takes, as often as elements are sorted."""
        keys = eqn.inputs[: eqn.params["num_keys"]]
        each = NUMPY_SORTS if values_alone(eqn) else NUMPY_MOVES * len(keys)
        return each * eqn.outputs[0].size * self.stage_traffic(eqn, memory)


USER_DEFINED = 2
"""`isbuiltin` of a dtype that is not NumPy's; a copy of one of NumPy's has 0."""


def values_alone(eqn: Equation) -> bool:
    """Return whether values of NumPy's own types are sorted and nothing goes along."""
    dtype = eqn.inputs[0].dtype
    numpys = dtype.isbuiltin != USER_DEFINED and dtype.kind in "biuf"
    return len(eqn.inputs) == 1 and numpys


def sort_work(eqn: Equation) -> int:
    """Return the bytes that sorting in memory takes for each element."""
    sizes = [a.dtype.itemsize for a in eqn.inputs]
    if values_alone(eqn):
        return 4 * sizes[0] + 4
    keys = [max(4, n) for n in sizes[: eqn.params["num_keys"]]]
    return 2 * sum(sizes) + 2 * sum(keys) + 24 + max(sizes)


def run_length(eqn: Equation, memory: int) -> int:
    """Return the elements of a run: no less than a line, if that fits.

    Beside runs to be merged, a part of the memory is left for samples.
    """
    most = memory // sort_work(eqn)
    length = eqn.inputs[0].shape[int(eqn.params["dimension"])]
    return most if most >= length else max(8, most * 3 // 4)


def merged_runs(memory: int) -> int:
    """Return how many runs one merge takes."""
    return min(MOST_RUNS, max(2, isqrt(memory // SAMPLE)))


_PARTS_OF_BYTES = frozenset(
    f"{kind}{bits}" for kind in ("int", "uint") for bits in (1, 2, 4)
)


def _has_order(atom: Any) -> bool:
    kinds = (jnp.integer, jnp.inexact, jnp.bool_)
    known = any(jnp.issubdtype(atom.dtype, kind) for kind in kinds)
    return known and not atom.dtype.name.endswith("fnuz")  # XLA has an order of its own


register(["sort"], Sort(_param("dimension")))
register(["top_k"], WholeAxes(_param("axis")))
register(["fft"], WholeAxes(_trailing()))
register(
    ["cholesky", "householder_product", "ormqr", "schur", "symmetric_product"],
    WholeAxes(_trailing(2)),
)
register(map(stacked_name, DECOMPOSITIONS), WholeAxes(_of_a_matrix))
register(["triangular_solve", "tridiagonal_solve"], WholeAxes(_trailing(2)))
register(["lu_pivots_to_permutation"], WholeAxes(_trailing(1)))
