"""Who holds how much of the memory budget: one ledger per process.

1. Memory is granted here and nowhere else: an evaluation claims what its plan projects,
   once, before its first step, and waits while others hold too much.
2. A callback in a program (`jax.pure_callback`) may evaluate, on any thread, while its
   own evaluation goes on. So nobody waits for an evaluation that calls back, or it
   might wait for its caller for ever.
3. What such an evaluation holds is lacking to those that begin meanwhile: they are
   planned with a part of the budget (1/2, 1/4, ... 1/64) that is left.

A small claim (under 1/64 of the budget) does not wait, or each of many would wait for
one large one.

Ctrl-C may come at any call: so nothing is called between a change and the note of it,
and `with` takes the lock itself, which Python cannot interrupt, not the condition.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from jask.errors import MemoryBudgetError
from jask.execute.threads import Changes

RESERVE = 60 << 20
"""Bytes that a process may hold beyond its projected memory: threads, code of compiled
kernels, the allocator's slack and packed operands of products."""

SMALL = 64
"""Claims of at most this part (1/64) of the budget do not wait."""


class Ledger:
    """Claims on the memory budget."""

    def __init__(self) -> None:
        self._changes = Changes()
        self._lock = self._changes.lock
        self._held = 0
        self._calling_back = 0
        self._others = 0
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
    def share(self, budget: int) -> Iterator[int]:
        """Yield the bytes that an evaluation which begins now may plan with."""
        part, around = self._part(budget)
        try:
            yield part
        except MemoryBudgetError as error:
            if part < budget:
                error.add_note(
                    f"It may use {part} bytes, a part of the memory budget of {budget} "
                    f"bytes: it runs inside another evaluation, or beside one whose "
                    f"callbacks may evaluate, which holds {around} bytes."
                )
            raise

    def _part(self, budget: int) -> tuple[int, int]:
        """Return a part of the budget that is left, and the bytes that lack to it."""
        with self._lock:
            around = self._held if self.nested else self._calling_back
        part = budget
        while part > budget - around and part > budget // SMALL:
            part //= 2
        return part, around

    def whole(self, part: int) -> int:
        """Return a budget of which an evaluation that begins now would get this part.

        Examples
        --------
        >>> Ledger().whole(100)
        100
        """
        with self._lock:
            around = self._held if self.nested else self._calling_back
        return 2 * max(part, around) if around else part

    @contextmanager
    def claim(
        self, nbytes: int, budget: int, *, calls_back: bool = False
    ) -> Iterator[None]:
        """Hold `nbytes`; wait while others hold so much that it would not fit."""
        back, others = (nbytes, 0) if calls_back else (0, nbytes)
        waits = not self.nested and nbytes > budget // SMALL
        fits = lambda: not (waits and self._others and self._held + nbytes > budget)
        granted = False
        try:
            while not granted:
                self._changes.wait_until(fits)
                with self._lock:
                    if fits():  # nobody came first
                        self._held += nbytes
                        self._calling_back += back
                        self._others += others
                        granted = True
            yield
        finally:
            with self._lock:
                if granted:
                    self._held -= nbytes
                    self._calling_back -= back
                    self._others -= others
            self._changes.tell()

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
