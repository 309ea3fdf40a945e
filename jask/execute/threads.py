"""Threads that run steps: started when needed, kept for the next pass.

Ctrl-C may come at any call of the main thread. So what that thread does here is done
by single calls that Python cannot interrupt half-way (of locks, lists, simple queues),
each of which may be tried again. `threading.Condition`, and what is made of it, such as
`threading.Event`, can lose a notice, or the lock itself, of which it then says "cannot
release un-acquired lock": `Changes` stands for it everywhere.
"""

import threading
import time
from collections.abc import Callable, Sequence
from math import inf
from queue import Empty, SimpleQueue

type Task = Callable[[], None]

KEPT = 60.0
"""Seconds that a thread without work stays."""


AGAIN = 1.0
"""Seconds after which a waiter looks by itself: an interrupt may swallow a notice."""


class Changes:
    """A lock, and waiting for changes of what it guards.

    Who waits does not hold the lock, so that an interrupt cannot come while it is given
    up: what was seen must be looked at again with the lock held, or stay as it was.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()  # `with` on it cannot be interrupted by Ctrl-C
        self._waiting: list[threading.Lock] = []

    def wait_until(self, holds: Callable[[], bool], patience: float = inf) -> bool:
        """Return when a condition holds, or is given up; the lock must not be held.

        The condition is looked at with the lock held.

        Examples
        --------
        >>> Changes().wait_until(lambda: True), Changes().wait_until(lambda: False, 0)
        (True, False)
        """
        waiter, last = threading.Lock(), time.monotonic() + patience
        waiter.acquire()
        while True:
            with self.lock:
                if holds():
                    return True
                if waiter not in self._waiting:
                    self._waiting.append(waiter)
            left = last - time.monotonic()
            if left <= 0:
                return False
            waiter.acquire(timeout=min(left, AGAIN))

    def tell(self) -> None:
        """Say that something has changed; may be tried again."""
        with self.lock:
            for waiter in self._waiting:
                if waiter.locked():
                    waiter.release()
            self._waiting.clear()


class _Job:
    """A task on its way to a thread."""

    __slots__ = ("_claim", "_end", "ended", "task")

    def __init__(self, task: Task) -> None:
        self.task, self.ended = task, False
        self._claim, self._end = threading.Lock(), threading.Lock()
        self._end.acquire()

    def claim(self) -> bool:
        """Return whether the caller is the first to ask; only then is it his."""
        return self._claim.acquire(blocking=False)

    def end(self) -> None:
        """Say that the task has ended."""
        self.ended = True
        self._end.release()

    def wait(self) -> None:
        """Return when it has ended; after an interrupt this may be called again."""
        while not self.ended:
            self._end.acquire()


type _Inbox = SimpleQueue[_Job]


class _Pool:
    """An elastic pool: a job never waits for another job to end."""

    def __init__(self) -> None:
        self._idle: list[_Inbox] = []

    def start(self, job: _Job) -> None:
        try:
            inbox = self._idle.pop()
        except IndexError:
            args = (job,)
            threading.Thread(
                target=self._work, args=args, name="jask", daemon=True
            ).start()
        else:
            inbox.put(job)

    def _work(self, job: _Job | None) -> None:
        inbox: _Inbox = SimpleQueue()
        while job is not None:
            try:
                if job.claim():
                    job.task()
            except BaseException:
                job.end()
                raise
            self._idle.append(inbox)  # before anybody hears of the end
            job.end()
            del job
            job = self._next(inbox)

    def _next(self, inbox: _Inbox) -> _Job | None:
        """Return what comes next; None if nothing did for long."""
        while True:
            try:
                return inbox.get(timeout=KEPT)
            except Empty:
                try:
                    self._idle.remove(inbox)
                except ValueError:  # it was taken out: a job is on its way
                    continue
                return None


_pool = _Pool()


def run_all(tasks: Sequence[Task], cancel: Callable[[BaseException], None]) -> None:
    """Run the tasks at the same time and return when all have ended.

    Called on the main thread, the first runs here, so that Ctrl-C reaches it; elsewhere
    (a thread of XLA's inside a callback) all run on jask's own threads. Tasks must not
    raise. After Ctrl-C, or where no thread can be had, `cancel` gets the error; it must
    make the tasks that run end soon.
    """
    here = threading.current_thread() is threading.main_thread()
    jobs = [_Job(t) for t in (tasks[1:] if here else tasks)]
    try:
        for job in jobs:
            _pool.start(job)
        if here:
            tasks[0]()
        for job in jobs:
            job.wait()
    except BaseException as error:  # noqa: BLE001 (whoever cancels raises it)
        cancel(error)
        _wait([job for job in jobs if not job.claim()], cancel)


def _wait(jobs: Sequence[_Job], cancel: Callable[[BaseException], None]) -> None:
    while True:
        try:
            for job in jobs:
                job.wait()
        except KeyboardInterrupt as error:  # the tasks must end before we leave
            cancel(error)
        else:
            return
