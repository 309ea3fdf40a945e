"""Stages: equations that an algorithm of its own computes between the passes.

The plan knows that there is such an algorithm and how much memory it takes; the layer
above adds the algorithm itself, by the name of the primitive.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from jask.config import Settings, carried
from jask.execute.ends import Input, Output
from jask.execute.ledger import LEDGER
from jask.execute.process import PROCESS
from jask.execute.threads import run_all
from jask.geometry.box import Box
from jask.plan.ir import Pass
from jask.trace.ir import Equation, Literal, Var

__all__ = ["Stage", "add_stage", "run_stage"]

type Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Stage:
    """One equation with everything that its algorithm needs."""

    eqn: Equation
    """What is computed."""

    sources: Sequence[Input]
    """Where its operands are."""

    sinks: Sequence[Sequence[Output]]
    """Where its results go; an empty one is not wanted."""

    memory: int
    """Bytes that may be held."""

    settings: Settings
    """Where scratch goes."""

    errors: list[BaseException] = field(default_factory=list)
    """Why it is stopped: a part of it has failed, or the process ends."""

    def check(self) -> None:
        """Raise if it was stopped; to be called now and then."""
        if self.errors:
            raise self.errors[0]

    def fail(self, error: BaseException) -> None:
        """Stop it with this error."""
        self.errors.append(error)

    def share(self, run: Callable[[int], None], lanes: int) -> None:
        """Call `run` with 0, 1, ... at the same time; raise what the first raised."""

        def guarded(lane: int) -> None:
            try:
                with LEDGER.inside():
                    run(lane)
            except BaseException as error:  # noqa: BLE001 (raised again below)
                self.fail(error)

        run_all([carried(partial(guarded, n)) for n in range(lanes)], self.fail)
        self.check()


type Runner = Callable[[Stage], None]

_runners: dict[str, Runner] = {}


def add_stage(name: str, runner: Runner) -> None:
    """Let an algorithm compute the primitive of this name."""
    _runners[name] = runner


def run_stage(
    p: Pass,
    live: Mapping[Var, Any],
    sinks: Mapping[Var, Sequence[Output]],
    settings: Settings,
) -> None:
    """Run the only root of a pass by its algorithm."""
    (root,) = p.roots
    eqn = root.eqn
    assert eqn is not None
    stage = Stage(
        eqn=eqn,
        sources=[_source(atom, live) for atom in eqn.inputs],
        sinks=[sinks.get(out, ()) for out in eqn.outputs],
        memory=p.memory,
        settings=settings,
    )
    with PROCESS.stoppable(stage.fail), LEDGER.inside():
        _runners[eqn.name](stage)


def _source(atom: Any, live: Mapping[Var, Any]) -> Input:
    """Return where an operand is read: a count along an axis is made."""
    if atom in live:
        found: Input = live[atom]
        return found
    assert not isinstance(atom, Literal)
    assert atom.producer is not None
    assert atom.producer.name == "iota"
    return _Count(int(atom.producer.params["dimension"]))


class _Count:
    """An iota."""

    def __init__(self, axis: int) -> None:
        self._axis = axis

    def read(self, box: Box, buffer: Array) -> None:
        """Fill the buffer with positions along the axis."""
        along = [1] * buffer.ndim
        along[self._axis] = -1
        span = np.arange(*box.intervals[self._axis], dtype=np.int64)
        buffer[...] = span.reshape(along)

    def prefetch(self, box: Box) -> None:
        """Do nothing: it is made."""
