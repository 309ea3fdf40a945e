"""A progress bar for work that takes long enough to wonder about."""

import importlib
import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

SHOW_AFTER = 2.0
"""Seconds before a bar appears."""


class Progress:
    """Counts steps; shows a bar if it is wanted, or for long work on a terminal."""

    def __init__(self, total: int, *, show: bool | None) -> None:
        self._total, self._done = total, 0
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._bar: Any = None
        self._wanted = sys.stderr.isatty() if show is None else show
        self._asked = bool(show)

    def advance(self) -> None:
        """Count one step."""
        with self._lock:
            self._done += 1
            if not self._wanted:
                return
            if self._bar is None and (self._asked or self._is_long()):
                self._bar = self._make()
            if self._bar is not None:
                self._bar.update(self._done - self._bar.n)

    def _is_long(self) -> bool:
        return time.monotonic() - self._start > SHOW_AFTER

    def _make(self) -> Any:
        try:
            tqdm = importlib.import_module("tqdm")
        except ImportError:  # an extra
            self._wanted = False
            if self._asked:
                sys.stderr.write("jask: a bar needs tqdm: pip install jask[progress]\n")
            return None
        return tqdm.tqdm(total=self._total, unit="step", leave=False, desc="jask")

    def __enter__(self) -> Self:
        """Start counting."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
