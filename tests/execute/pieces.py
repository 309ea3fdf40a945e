"""Passes made ready to run on arrays in memory that count what is read of them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jask._jax import kernel_device
from jask.execute.lanes import PassRun
from jask.execute.prepared import PreparedPass
from jask.execute.results import Gathered
from jask.geometry.box import Box
from jask.plan.ir import Pass
from jask.trace.ir import Var
from tests.plan.pieces import Pieces, pieces
from tests.plan.programs import source

type Array = np.ndarray[Any, Any]


class Counted:
    """A source that notes each box that is read."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self.boxes: list[Box] = []
        self.hints: list[Box] = []

    def read(self, box: Box, buffer: Array) -> None:
        self.boxes.append(box)
        buffer[...] = self.array[box.slices]

    def prefetch(self, box: Box) -> None:
        self.hints.append(box)


def traced(fn: Callable[..., Any], *arrays: Array) -> Pieces:
    return pieces(fn, *(source(a.shape, a.dtype.name) for a in arrays))


def prepared(p: Pass, workers: int = 1) -> PreparedPass:
    p.workers = workers
    return PreparedPass(p)


def run_pass(
    ready: PreparedPass,
    sources: Mapping[Var, Any],
    sinks: Mapping[Var, Sequence[Any]] | None = None,
) -> tuple[list[Array], int]:
    """Run a pass; return the results of its roots and how many steps were taken."""
    steps: list[None] = []
    made = {v: Gathered(v.shape, v.dtype) for r in ready.p.roots for v in r.outputs}
    to = sinks or {v: [g] for v, g in made.items()}
    with kernel_device():
        PassRun(ready, sources, to, lambda: steps.append(None)).run()
    return [g.array for g in made.values()], len(steps)
