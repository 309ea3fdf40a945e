"""Tasks that run at the same time, and what happens when that is impossible."""

import threading
from queue import SimpleQueue
from typing import Any

import pytest

from jask.execute import threads
from jask.execute.threads import run_all


def never(error: BaseException) -> None:
    raise AssertionError(error)


@pytest.mark.parametrize("count", [1, 2, 8])
def test_all_tasks_run_at_the_same_time(count: int):
    meeting, names = threading.Barrier(count, timeout=10), []

    def task() -> None:
        meeting.wait()
        names.append(threading.current_thread().name)

    run_all([task] * count, never)
    assert sorted(names) == sorted(["MainThread"] + ["jask"] * (count - 1))


def test_elsewhere_than_on_the_main_thread_all_run_apart():
    names: list[str] = []

    def task() -> None:
        names.append(threading.current_thread().name)

    thread = threading.Thread(target=run_all, args=([task] * 3, never))
    thread.start()
    thread.join(10)
    assert names == ["jask"] * 3


def test_threads_are_used_again():
    run_all([lambda: None] * 4, never)
    before = threading.active_count()
    for _ in range(20):
        run_all([lambda: None] * 4, never)
    assert threading.active_count() <= before


def test_a_task_that_raises_all_the_same_takes_nothing_with_it_but_its_thread(
    monkeypatch: pytest.MonkeyPatch,
):
    raised: SimpleQueue[Any] = SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.put(args.exc_type))

    def task() -> None:
        raise ValueError

    run_all([lambda: None, task, task], never)
    assert [raised.get(timeout=60) for _ in range(2)] == [ValueError] * 2
    done: list[int] = []
    run_all([lambda: None, lambda: done.append(1), lambda: done.append(2)], never)
    assert sorted(done) == [1, 2]


def test_it_returns_when_the_last_has_ended():
    slow, ended = threading.Event(), []
    threading.Timer(0.1, slow.set).start()

    def task() -> None:
        slow.wait(10)
        ended.append(1)

    run_all([lambda: None, task, task], never)
    assert len(ended) == 2


def test_tasks_of_one_call_run_while_those_of_another_do():
    begun, free = threading.Barrier(3, timeout=10), threading.Event()

    def waiting() -> None:
        begun.wait()
        free.wait(10)

    other = threading.Thread(target=run_all, args=([waiting] * 2, never))
    other.start()
    begun.wait()
    run_all([lambda: None] * 4, never)
    free.set()
    other.join(10)
    assert not other.is_alive()


def test_without_threads_the_tasks_that_run_are_cancelled_and_waited_for(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(threads, "_pool", threads._Pool())
    start = threading.Thread.start
    started: list[int] = []

    def one_only(self: threading.Thread) -> None:
        if started:
            msg = "can't start new thread"
            raise RuntimeError(msg)
        started.append(1)
        start(self)

    monkeypatch.setattr(threading.Thread, "start", one_only)
    cancelled, ran, errors = threading.Event(), [], []

    def task() -> None:
        cancelled.wait(10)
        ran.append(1)

    def cancel(error: BaseException) -> None:
        errors.append(str(error))
        cancelled.set()

    run_all([task] * 4, cancel)
    assert errors == ["can't start new thread"]
    assert len(ran) <= 1
    monkeypatch.undo()
    done: list[Any] = []
    run_all([lambda: done.append(1)] * 3, never)  # nothing that was left runs now
    assert len(ran) <= 1
    assert len(done) == 3


def test_an_interrupt_of_the_first_task_cancels_the_others():
    cancelled, errors = threading.Event(), []

    def interrupted() -> None:
        raise KeyboardInterrupt

    def task() -> None:
        assert cancelled.wait(10)

    def cancel(error: BaseException) -> None:
        errors.append(type(error))
        cancelled.set()

    run_all([interrupted, task, task], cancel)
    assert errors == [KeyboardInterrupt]
