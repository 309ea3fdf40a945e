"""Threads that run steps: started when needed, kept for the next pass."""

import threading
from collections import deque
from collections.abc import Callable


class _Pool:
    """An elastic pool: a task never waits for another task to end."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._tasks: deque[Callable[[], None]] = deque()
        self._idle = 0

    def start(self, task: Callable[[], None]) -> None:
        with self._lock:
            self._tasks.append(task)
            if self._idle >= len(self._tasks):
                self._lock.notify()
                return
        threading.Thread(target=self._work, name="jask", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
                waited = self._lock.wait_for(lambda: bool(self._tasks), timeout=60)
                self._idle -= 1
                if not waited:
                    return
                task = self._tasks.popleft()
            task()
            del task


_pool = _Pool()


def run_all(tasks: list[Callable[[], None]]) -> None:
    """Run the tasks at the same time and return when all have ended.

    Called on the main thread, the first runs here, so that Ctrl-C reaches it; elsewhere
    (a thread of XLA's inside a callback) all run on jask's own threads. Tasks must not
    raise.
    """
    here = threading.current_thread() is threading.main_thread()
    apart = tasks[1:] if here else tasks
    left = threading.Semaphore(0)

    def wrap(task: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                task()
            finally:
                left.release()

        return run

    for task in apart:
        _pool.start(wrap(task))
    if here:
        tasks[0]()
    for _ in apart:
        _acquire(left)


def _acquire(semaphore: threading.Semaphore) -> None:
    interrupted: KeyboardInterrupt | None = None
    while True:
        try:
            semaphore.acquire()
            break
        except KeyboardInterrupt as error:  # the tasks must end before we leave
            interrupted = error
    if interrupted is not None:
        raise interrupted
