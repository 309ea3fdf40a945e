"""Ctrl-C at any place leaves neither a task that runs nor memory taken."""

import itertools
import threading
from queue import SimpleQueue

from jask.execute.ledger import Ledger
from jask.execute.threads import run_all
from tests.execute.interrupts import interrupted


class Tasks:
    """Tasks of which the others end once the first has run, or was cancelled."""

    def __init__(self) -> None:
        self.go: SimpleQueue[int] = SimpleQueue()
        self.running: list[int] = []
        self.errors: list[BaseException] = []

    def first(self) -> None:
        for n in range(2):
            self.go.put(n)

    def other(self) -> None:
        self.running.append(1)
        self.go.get(timeout=60)
        self.running.pop()

    def cancel(self, error: BaseException) -> None:
        self.errors.append(error)
        self.first()

    def run(self) -> None:
        run_all([self.first, self.other, self.other], self.cancel)
        if self.errors:
            raise self.errors[0]


def two_idle_threads() -> None:
    meeting = threading.Barrier(3)

    def task() -> None:
        meeting.wait(60)

    run_all([task] * 3, lambda _: None)


def test_tasks_are_waited_for_wherever_the_interrupt_comes():
    for place in itertools.count():
        two_idle_threads()
        tasks = Tasks()
        there = interrupted(tasks.run, place)
        assert not tasks.running, place
        if not there:
            break
    assert place > 10


def test_memory_is_given_back_wherever_the_interrupt_comes():
    ledger = Ledger()

    def work() -> None:
        with ledger.claim(10, 100), ledger.claim(10, 100, calls_back=True):
            assert ledger.held == 20

    for place in itertools.count():
        there = interrupted(work, place)
        assert (ledger.held, ledger._part(100)) == (0, (100, 0)), place
        if not there:
            break
    assert place > 5
