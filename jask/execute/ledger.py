"""Who holds how much of the memory budget: one ledger per process.

Memory is granted here and nowhere else: an evaluation claims what its plan projects,
once, before its first step. An evaluation that a callback starts inside another one is
granted at once, or it would wait for its caller; so is a small one (under 1/64 of the
budget), or each of many would wait for one large one.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

RESERVE = 48 << 20
"""Bytes that a process may hold beyond its projected memory: threads, code of compiled
kernels, the allocator's slack and packed operands of products."""

SMALL = 64
"""Claims of at most this part (1/64) of the budget do not wait."""


class Ledger:
    """Claims on the memory budget."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._held = 0
        self._inside = threading.local()

    @property
    def held(self) -> int:
        """Bytes claimed now."""
        return self._held

    @property
    def nested(self) -> bool:
        """Whether this thread runs a step of an evaluation."""
        return bool(getattr(self._inside, "depth", 0))

    @contextmanager
    def claim(self, nbytes: int, budget: int) -> Iterator[None]:
        """Hold `nbytes`; wait while others hold so much that it would not fit."""
        with self._changed:
            if not self.nested and nbytes > budget // SMALL:
                while self._held and self._held + nbytes > budget:
                    self._changed.wait()
            self._held += nbytes
        try:
            yield
        finally:
            with self._changed:
                self._held -= nbytes
                self._changed.notify_all()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Mark this thread as running a step."""
        self._inside.depth = getattr(self._inside, "depth", 0) + 1
        try:
            yield
        finally:
            self._inside.depth -= 1


LEDGER = Ledger()
"""The ledger of this process."""
