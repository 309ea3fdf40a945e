"""Bytes that really went between this process and its files, counted exactly.

Each `read` and `write` of a store on disk adds what it moved, gaps that were read and
thrown away included. Nothing here is a model.
"""

import threading
from dataclasses import dataclass

from jask.stores._claim import free_in_children

__all__ = ["Traffic", "count_read", "count_write", "snapshot"]


@dataclass(frozen=True, slots=True)
class Traffic:
    """What was moved up to some moment, or between two moments.

    Examples
    --------
    >>> Traffic(bytes_read=10, reads=2) - Traffic(bytes_read=4, reads=1)
    Traffic(bytes_read=6, reads=1, bytes_written=0, writes=0)
    """

    bytes_read: int = 0
    """Bytes copied out of files."""

    reads: int = 0
    """Calls to the operating system for that."""

    bytes_written: int = 0
    """Bytes copied into files."""

    writes: int = 0
    """Calls to the operating system for that; a copy into mapped pages is one."""

    def __sub__(self, before: "Traffic") -> "Traffic":
        """Return what was moved since `before`."""
        return Traffic(
            self.bytes_read - before.bytes_read,
            self.reads - before.reads,
            self.bytes_written - before.bytes_written,
            self.writes - before.writes,
        )


class _Counter:
    """A pair of sums that several threads add to."""

    __slots__ = ("_lock", "calls", "nbytes")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        free_in_children(self._lock)
        self.nbytes = self.calls = 0

    def add(self, nbytes: int, calls: int) -> None:
        with self._lock:
            self.nbytes += int(nbytes)  # boxes may be of NumPy integers
            self.calls += calls

    def get(self) -> tuple[int, int]:
        with self._lock:
            return self.nbytes, self.calls


_read = _Counter()
_written = _Counter()

count_read = _read.add
count_write = _written.add


def snapshot() -> Traffic:
    """Return the traffic of this process so far.

    Examples
    --------
    >>> before = snapshot()
    >>> (snapshot() - before).bytes_read
    0
    """
    return Traffic(*_read.get(), *_written.get())
