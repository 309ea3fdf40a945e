"""Stages: an algorithm gets what it reads, where it writes and how much it may hold."""

import threading
import time
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest

from jask.config import current
from jask.errors import ProcessStateError
from jask.execute import stages
from jask.execute.ledger import LEDGER
from jask.execute.process import PROCESS
from jask.execute.results import Gathered
from jask.execute.stages import Stage, add_stage, run_stage
from jask.geometry.box import Box
from jask.plan.ir import Pass, Root
from tests.execute.pieces import Counted, traced

X = np.arange(12, dtype="f4").reshape(3, 4)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Gathered]:
    """Run a stage with an algorithm instead of the external sort."""

    def run(algorithm: Callable[[Stage], None]) -> Gathered:
        monkeypatch.setattr(stages, "_runners", {})
        add_stage("sort", algorithm)
        made = traced(lambda x: jnp.argsort(x, 1), X)
        eqn = made.only("sort")
        _, places = eqn.outputs
        (leaf,) = made.program.leaves
        root = Root("stage", eqn.outputs, eqn, (eqn,), (leaf,))
        sink = Gathered(places.shape, places.dtype)
        live = {leaf: Counted(X)}
        p = Pass((root,), (), memory=123)
        run_stage(p, live, {places: [sink]}, current())
        return sink

    return run


def test_an_algorithm_reads_its_operands_and_writes_what_is_wanted(
    run: Callable[..., Gathered],
):
    def algorithm(stage: Stage) -> None:
        block = np.empty(X.shape, "f4")
        stage.sources[0].read(Box.whole(X.shape), block)
        np.testing.assert_array_equal(block, X)
        unwanted, (sink,) = stage.sinks
        assert not unwanted
        assert stage.memory == 123
        sink.write(Box.whole(X.shape), block * 2)

    np.testing.assert_array_equal(run(algorithm).array, X * 2)


def test_positions_along_an_axis_are_made_box_by_box(run: Callable[..., Gathered]):
    def algorithm(stage: Stage) -> None:
        block = np.empty((2, 3), "i8")
        stage.sources[1].read(Box((1, 1), (3, 4)), block)
        assert block.tolist() == [[1, 2, 3], [1, 2, 3]]
        ran.append(1)

    ran: list[int] = []
    run(algorithm)
    assert ran


def test_what_an_algorithm_evaluates_does_not_wait_for_it(run: Callable[..., Gathered]):
    nested: list[bool] = []
    run(lambda _: nested.append(LEDGER.nested))
    assert nested == [True]
    assert not LEDGER.nested


def test_an_algorithm_stops_at_its_next_look_when_the_process_ends(
    run: Callable[..., Gathered],
):
    def algorithm(stage: Stage) -> None:
        stage.check()
        (stop,) = PROCESS._stops.values()
        stop()
        stage.check()
        raise AssertionError

    with pytest.raises(ProcessStateError, match="the process ends"):
        run(algorithm)
    assert not PROCESS._stops


def test_parts_of_an_algorithm_run_at_the_same_time(run: Callable[..., Gathered]):
    meeting = threading.Barrier(3)  # each waits for the others

    def part(lane: int) -> None:
        meeting.wait(60)
        ran.append((lane, LEDGER.nested))

    ran: list[tuple[int, bool]] = []
    run(lambda stage: stage.share(part, 3))
    assert sorted(ran) == [(0, True), (1, True), (2, True)]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_part_that_fails_stops_the_others(run: Callable[..., Gathered], failing: int):
    def algorithm(stage: Stage) -> None:
        def part(lane: int) -> None:
            if lane == failing:
                raise OSError(28, "disk full")
            while time.monotonic() < last:
                stage.check()
            went_on.append(lane)

        stage.share(part, 2)

    went_on: list[int] = []
    last = time.monotonic() + 60
    with pytest.raises(OSError, match="disk full"):
        run(algorithm)
    assert not went_on
