"""What a tile costs at least, told from its sides: the search need not look at it.

1. Whatever the order of the loops, a box is read at least once for each of its places,
   and each block that a root makes is held beside what is read for it.
2. Every step takes its time, and a product that of its shape.

Nothing else is counted: temporaries, equations, what follows a root.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from jask.plan.blas import is_by_blas
from jask.plan.cost import BLAS, READ, STEP, XLA, dot_seconds, fullness, times
from jask.plan.footprint import Footprint, Sides
from jask.plan.ir import Limits, Pass, Place, Root
from jask.trace.ir import Var


@dataclass(frozen=True, slots=True)
class Floor:
    """Bounds from below."""

    seconds: float
    memory: int


class Floors:
    """The bounds of the tiles of one pass."""

    def __init__(
        self,
        p: Pass,
        places: Mapping[Var, Place],
        limits: Limits,
        footprint: Footprint,
    ) -> None:
        self._grid, self._workers = p.grid, limits.workers
        self._loads = [
            (sides[0] if len(sides) == 1 else (), v.dtype.itemsize, places[v] == "disk")
            for v, sides in footprint.leaves()
        ]
        self._outs = [_bytes_of(r) for r in p.roots]
        self._products = [r for r in p.roots if r.eqn and r.eqn.name == "dot_general"]

    def of(self, tile: Sequence[int]) -> Floor:
        """Return the bounds of a tile."""
        lengths = [min(t, n) for t, n in zip(tile, self._grid, strict=True)]
        counts = [max(1, -(-n // t)) for t, n in zip(tile, self._grid, strict=True)]
        full = fullness(self._grid, tile)
        seconds, memory = 0.0, 0
        for root in self._products:
            speed = BLAS if is_by_blas(root) else XLA
            seconds += dot_seconds(root.domain, [lengths[a] for a in root.axes], speed)
        seconds = times(counts) * (STEP / self._workers + seconds * prod(full))
        for sides, itemsize, disk in self._loads:
            nbytes = itemsize * _size(sides, lengths)
            memory += nbytes
            if disk:
                share = prod(full[s] for s in sides if isinstance(s, int))
                seconds += nbytes / READ * _times(sides, counts) * share
        for axes, width in self._outs:
            memory += width * prod(lengths[a] for a in axes)
        return Floor(seconds, memory)


def _bytes_of(root: Root) -> tuple[list[int], int]:
    """Return the axes of what a root makes, and the bytes held for each element."""
    axes = [root.axes[d] for d in root.kept]
    if root.kind != "reduce" or root.eqn is None:
        return axes, root.outputs[0].dtype.itemsize if root.kind == "map" else 0
    accumulated = sum(t.itemsize for t in root.reduction.accumulators(root.eqn))
    if is_by_blas(root):  # they are added where they lie
        return axes, accumulated
    return axes, 2 * accumulated + sum(o.dtype.itemsize for o in root.outputs)


def _size(sides: Sides, lengths: Sequence[int]) -> int:
    return prod(lengths[s] if isinstance(s, int) else s[1] for s in sides)


def _times(sides: Sides, counts: Sequence[int]) -> int:
    return times(counts[s] for s in sides if isinstance(s, int))
