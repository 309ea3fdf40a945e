"""When this process may evaluate, and how evaluations end with it.

1. A child that was forked after JAX had started has none of JAX's threads, and locks
   that nobody will release: evaluating there would hang or crash. It is refused.
2. When the process ends, evaluations on daemon threads are told to stop and are waited
   for: the interpreter would end their threads within XLA, which aborts the process,
   and half-written files would stay.
3. Later evaluations on such threads are refused; the main thread may go on.
"""

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import jask.stores.scratch  # noqa: F401 (what it does at the end comes after us)
from jask._jax import backends_started
from jask.errors import ProcessStateError
from jask.execute.threads import Changes

PATIENCE = 60.0
"""Seconds to wait at the end for a step that runs, then for its thread's clean-up."""

LEAVING = 0.5
"""Seconds for threads whose evaluation was stopped to return from JAX."""


class Process:
    """The evaluations of this process."""

    def __init__(self) -> None:
        self._changes = Changes()
        self._lock = self._changes.lock
        self._running = 0
        self._stops: dict[object, Callable[[], None]] = {}
        self._ending = False
        self._started = False
        self._forked = False

    def require_usable(self) -> None:
        """Raise ProcessStateError if nothing can be evaluated here."""
        if self._forked:
            msg = (
                "A process must not evaluate disk arrays if it was forked from one "
                "that had used JAX: JAX's threads are not there. Start it with "
                "multiprocessing.get_context('spawn') or 'forkserver', or fork "
                "before anything is computed."
            )
            raise ProcessStateError(msg)
        if self._ending and threading.current_thread() is not threading.main_thread():
            raise _stopped()

    @contextmanager
    def evaluation(self) -> Iterator[None]:
        """Count an evaluation; the end of the process waits for it."""
        counted = 0
        try:
            with self._lock:
                self.require_usable()  # here, or the end would not know of it
                self._running += 1
                counted = 1
            yield
        finally:
            with self._lock:
                self._running -= counted
            if self._ending:
                self._changes.tell()

    @contextmanager
    def stoppable(self, fail: Callable[[BaseException], None]) -> Iterator[None]:
        """Call `fail` with an error if the process ends within the block."""
        key = object()
        try:
            with self._lock:
                self.require_usable()
                self._stops[key] = lambda: fail(_stopped())
            yield
        finally:
            with self._lock:
                self._stops.pop(key, None)

    def end(self) -> None:
        """Stop what runs and wait until it has ended."""
        with self._lock:
            self._ending = True
            stops, running = list(self._stops.values()), self._running
        for stop in stops:
            stop()
        if not running:
            return
        self._changes.wait_until(lambda: not self._running, PATIENCE)
        last = time.monotonic() + LEAVING
        for thread in threading.enumerate():
            if thread.daemon and thread.name != "jask" and _can_be_joined(thread):
                thread.join(max(0.0, last - time.monotonic()))

    def before_fork(self) -> None:
        """Note whether the child will lack JAX's threads."""
        self._started = backends_started()

    def after_fork(self) -> None:
        """Begin anew in the child: nothing runs here."""
        self._changes = Changes()
        self._lock = self._changes.lock
        self._running, self._ending = 0, False
        self._stops = {}
        self._forked |= self._started


def _stopped() -> ProcessStateError:
    msg = (
        "The evaluation was stopped because the process ends, and nothing was written. "
        "Join the thread that evaluates before the program ends, or do not make it a "
        "daemon thread."
    )
    return ProcessStateError(msg)


def _can_be_joined(thread: threading.Thread) -> bool:
    """Return whether Python itself started a thread that is not this one."""
    started_by_python = not isinstance(thread, threading._DummyThread)
    return started_by_python and thread is not threading.current_thread()


PROCESS = Process()
"""The state of this process."""

# The first finalizer has `weakref` register what it does at the end. `atexit` runs last
# what was registered first: so finalizers run after us.
weakref.finalize(PROCESS, int)
atexit.register(PROCESS.end)
os.register_at_fork(before=PROCESS.before_fork, after_in_child=PROCESS.after_fork)
