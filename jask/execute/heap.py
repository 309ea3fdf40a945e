"""Give the allocator's free memory back to the system when it hoards.

glibc before 2.38 often does not reuse freed aligned blocks, which is what XLA's
temporaries are: in a pass of many steps the heap can grow far beyond what is in use.
While steps run, growth beyond what was projected makes the allocator trim its heap.
"""

import ctypes
import itertools
import os
from collections.abc import Callable
from functools import cache
from io import FileIO
from math import inf

CHECK_EVERY = 16
"""Most steps between two looks at the memory."""

HOARD = 1 << 26
"""Bytes that may pile up between two looks, about."""

KEPT = 1 << 24
"""Bytes by which memory may grow, over any number of evaluations, before it is trimmed.
"""


def anonymous_bytes() -> int:
    """Return the bytes of this process that no file backs; 0 where unknown."""
    try:  # in a third of the time that `Path.read_bytes` takes
        with FileIO("/proc/self/statm") as file:
            fields = file.read(256).split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


@cache
def _trim() -> Callable[[int], int]:
    """Return glibc's `malloc_trim`, or a function that does nothing elsewhere."""
    trim: Callable[[int], int] | None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim or (lambda _: 0)


def give_back() -> None:
    """Trim the heap now: after compiling something long, most of it is free again."""
    _trim()(0)
    HeapGuard.floor = anonymous_bytes()


SLACK = 1 << 23
"""Bytes by which memory may grow beyond what a trim left, before the next one."""


class HeapGuard:
    """Trims the heap when memory has grown by more than `allowed` bytes.

    What stays after a trim is in use: trimming for it again would be in vain. Leaving
    the `with` block trims what this evaluation and those before leave behind.
    """

    floor: float = inf
    """The least memory seen at the start of an evaluation since the last trim."""

    def __init__(self, allowed: int) -> None:
        start = anonymous_bytes()
        HeapGuard.floor = min(HeapGuard.floor, start)
        self._limit = start + allowed
        self._every = max(1, min(CHECK_EVERY, HOARD // max(1, allowed)))
        self._steps = itertools.count(1)

    def step(self) -> None:
        """Look at the memory, every few steps."""
        if next(self._steps) % self._every == 0 and anonymous_bytes() > self._limit:
            _trim()(0)
            self._limit = max(self._limit, anonymous_bytes() + SLACK)

    def rest(self) -> None:
        """Give back what is no longer in use, if memory has grown since the last trim.

        Between two passes, and after the last one.
        """
        if anonymous_bytes() > HeapGuard.floor + KEPT:
            give_back()

    def __enter__(self) -> "HeapGuard":
        """Return the guard."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Give back what is no longer in use."""
        self.rest()
