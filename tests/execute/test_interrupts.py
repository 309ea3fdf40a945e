"""Ctrl-C at any place leaves neither a task that runs nor memory taken."""

import itertools
import threading
from queue import SimpleQueue

from jask.execute.ledger import Ledger
from jask.execute.threads import Changes, run_all
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


class Turns:
    """Another thread waits for this one, and this one for the other."""

    def __init__(self) -> None:
        self.changes = Changes()
        self.mine = self.theirs = False
        self.other = threading.Thread(target=self.answer)
        self.other.start()

    def answer(self) -> None:
        self.changes.wait_until(lambda: self.mine)
        with self.changes.lock:
            self.theirs = True
        self.changes.tell()

    def run(self) -> None:
        with self.changes.lock:
            self.mine = True
        self.changes.tell()
        self.changes.wait_until(lambda: self.theirs)

    def is_free(self) -> bool:
        """Whether another thread gets the lock."""
        found: SimpleQueue[bool] = SimpleQueue()
        lock = self.changes.lock
        thread = threading.Thread(target=lambda: found.put(lock.acquire(timeout=10)))
        thread.start()
        thread.join()
        return found.get()


def test_waiting_for_a_change_leaves_the_lock_free_wherever_the_interrupt_comes():
    for place in itertools.count():
        turns = Turns()
        there = interrupted(turns.run, place)
        turns.mine = True
        turns.changes.tell()
        turns.other.join(60)
        assert turns.theirs, place
        assert turns.is_free(), place
        if not there:
            break
    assert place > 10


class Held:
    """Another thread holds most of the budget for a moment."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.holds, self.lets_go = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.hold)
        self.thread.start()
        self.holds.wait(60)

    def hold(self) -> None:
        with self.ledger.claim(90, 100):
            self.holds.set()
            self.lets_go.wait(0.05)

    def run(self) -> None:
        with self.ledger.claim(20, 100):
            assert self.ledger.held == 20

    def end(self) -> None:
        self.lets_go.set()
        self.thread.join(60)


def test_memory_that_is_waited_for_is_given_back_wherever_the_interrupt_comes():
    for place in itertools.count():
        held = Held()
        there = interrupted(held.run, place)
        held.end()
        assert held.ledger.held == 0, place
        if not there:
            break
    assert place > 10


def test_a_notice_that_got_lost_is_noticed_all_the_same():
    changes, seen = Changes(), [0]

    def holds() -> bool:
        seen[0] += 1
        return seen[0] > 1  # it changes, and nobody says so

    assert changes.wait_until(holds)
    assert not changes.wait_until(lambda: False, patience=0.01)
