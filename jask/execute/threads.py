"""Threads that run steps: started when needed, kept for the next pass."""

import threading
from collections import deque
from collections.abc import Callable, Sequence

type Task = Callable[[], None]


class _Job:
    """A task on its way to a thread."""

    __slots__ = ("left", "taken", "task")

    def __init__(self, task: Task, left: threading.Semaphore) -> None:
        self.task, self.left = task, left
        self.taken = False

    def run(self) -> None:
        try:
            self.task()
        finally:
            self.left.release()


class _Pool:
    """An elastic pool: a job never waits for another job to end."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._idle = 0

    def start(self, job: _Job) -> None:
        with self._lock:
            self._jobs.append(job)
            if self._idle >= len(self._jobs):
                self._lock.notify()
                return
        threading.Thread(target=self._work, name="jask", daemon=True).start()

    def withdraw(self, jobs: Sequence[_Job]) -> int:
        """Take jobs back; return how many are too late for that and run."""
        with self._lock:
            self._jobs = deque(j for j in self._jobs if j not in jobs)
            return sum(j.taken for j in jobs)

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
                waited = self._lock.wait_for(lambda: bool(self._jobs), timeout=60)
                self._idle -= 1
                if not waited:
                    return
                job = self._jobs.popleft()
                job.taken = True
            job.run()
            del job


_pool = _Pool()


def run_all(tasks: Sequence[Task], cancel: Callable[[BaseException], None]) -> None:
    """Run the tasks at the same time and return when all have ended.

    Called on the main thread, the first runs here, so that Ctrl-C reaches it; elsewhere
    (a thread of XLA's inside a callback) all run on jask's own threads. Tasks must not
    raise. After Ctrl-C, or where no thread can be had, `cancel` gets the error; it must
    make the tasks that run end soon.
    """
    here = threading.current_thread() is threading.main_thread()
    left = threading.Semaphore(0)
    jobs = [_Job(t, left) for t in (tasks[1:] if here else tasks)]
    running = len(jobs)
    try:
        for job in jobs:
            _pool.start(job)
        if here:
            tasks[0]()
    except BaseException as error:  # noqa: BLE001 (whoever cancels raises it)
        cancel(error)
        running = _pool.withdraw(jobs)
    for _ in range(running):
        _acquire(left, cancel)


def _acquire(
    semaphore: threading.Semaphore, cancel: Callable[[BaseException], None]
) -> None:
    while True:
        try:
            semaphore.acquire()
        except KeyboardInterrupt as error:  # the tasks must end before we leave
            cancel(error)
        else:
            return
