"""What a run really cost: memory by sampling, bytes by counting, time by the clock."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from jask.stores import traffic

INTERVAL = 0.01
"""Seconds between two looks at the memory."""


def resident_bytes() -> int:
    """Return the memory of this process that is not page cache (0 where unknown).

    Examples
    --------
    >>> resident_bytes() >= 0
    True
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    fields = dict(line.split(":", 1) for line in lines)
    names = ("RssAnon", "RssShmem")
    return sum(int(fields.get(name, "0").split()[0]) * 1024 for name in names)


class PeakMemory:
    """Samples the memory on a thread of its own; `growth` is the peak above the start.

    Examples
    --------
    >>> with PeakMemory() as memory:
    ...     pass
    >>> memory.growth >= 0
    True
    """

    def __init__(self) -> None:
        self._start = self._peak = resident_bytes()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def growth(self) -> int:
        """The most bytes seen above those at the start."""
        return self._peak - self._start

    def _watch(self) -> None:
        while not self._done.wait(INTERVAL):
            self._peak = max(self._peak, resident_bytes())

    def __enter__(self) -> Self:
        """Start sampling."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop sampling."""
        self._peak = max(self._peak, resident_bytes())
        self._done.set()
        self._thread.join()


@dataclass(slots=True)
class Phase:
    """One stage of the job, as it was measured."""

    name: str
    """What it did."""
    seconds: float = 0.0
    """How long it took."""
    bytes_read: int = 0
    """What it read from files."""
    bytes_written: int = 0
    """What it wrote to files."""

    def line(self, file_bytes: int) -> str:
        """Return the figures in words; `file_bytes` is one pass over the data.

        Examples
        --------
        >>> Phase("train", 2.0, 4 * 10**9).line(10**9)
        'train: 2.0 s, 4.00 passes over the file, 2.00 GB/s (read 4,000 MB, wrote 0 MB)'
        """
        moved = self.bytes_read + self.bytes_written
        return (
            f"{self.name}: {self.seconds:.1f} s, "
            f"{self.bytes_read / file_bytes:.2f} passes over the file, "
            f"{moved / self.seconds / 1e9:.2f} GB/s (read {self.bytes_read / 1e6:,.0f} "
            f"MB, wrote {self.bytes_written / 1e6:,.0f} MB)"
        )


@contextmanager
def measured(name: str) -> Iterator[Phase]:
    """Measure a stage.

    Examples
    --------
    >>> with measured("nothing") as phase:
    ...     pass
    >>> phase.bytes_read
    0
    """
    phase = Phase(name)
    before, start = traffic.snapshot(), time.perf_counter()
    yield phase
    moved = traffic.snapshot() - before
    phase.seconds = time.perf_counter() - start
    phase.bytes_read, phase.bytes_written = moved.bytes_read, moved.bytes_written
