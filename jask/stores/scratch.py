"""Scratch files: intermediates that do not fit memory.

1. Each process makes a directory of its own, readable by its user only, when it first
   needs one, and locks it.
2. A scratch file is removed with the last reference to its store, or when it is
   closed; the directory at the end of the process.
3. What a killed process left is found by its lock and removed by the next process
   that makes scratch files in the same place.

`limit` bounds what this process holds at once, over all directories.
"""

import atexit
import errno
import os
import re
import shutil
import tempfile
import threading
import time
import weakref
from collections import deque
from functools import partial
from io import FileIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from jask.errors import ScratchFullError
from jask.stores._claim import (
    abandoned,
    allocate,
    claim,
    free_bytes,
    free_in_children,
    too_large,
    unique_name,
)
from jask.stores._dtypes import checked_dtype, checked_shape
from jask.stores._file import DiskFile, at_any_cost, refused
from jask.stores._move import Array
from jask.stores._runs import Runs
from jask.stores.raw import RawStore

__all__ = ["ScratchStore", "create_scratch", "scratch_in_use"]

_NAME = re.compile(r"jask-\d+-\d+-\d+-\w+")
_LOCK_FILE = "lock"
_ABANDONED_AFTER = 60.0
"""Seconds until a directory without a lock counts as left behind."""


class ScratchStore(RawStore):
    """An array in a scratch file; `create_scratch` makes one."""

    def __init__(
        self,
        path: Path,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        mappable: bool,
    ) -> None:
        file = DiskFile(path, writable=True)
        super().__init__(file, shape, dtype, mappable=mappable)
        self._remove = weakref.finalize(self, _remove, path, self.nbytes, os.getpid())

    def _put(self, runs: Runs, block: Array) -> None:
        try:
            super()._put(runs, block)
        except OSError as error:
            if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
                raise
            raise _disk_full(runs.nbytes, self._file.path.parent) from error

    def close(self) -> None:
        """Remove the file; reading afterwards is an error."""
        super().close()
        self._remove()


def create_scratch(
    shape: tuple[int, ...],
    dtype: Any,
    *,
    directory: Path | None = None,
    limit: int | None = None,
) -> ScratchStore:
    """Make a scratch file for an array.

    Parameters
    ----------
    shape, dtype
        Of the array.
    directory
        Where to put it; None is the system's temporary directory.
    limit
        Bytes of scratch that the process may hold at once.

    Raises
    ------
    ScratchFullError
        If the limit or the disk does not allow it.

    Examples
    --------
    >>> from jask.geometry.box import Box
    >>> store = create_scratch((3,), "f4")
    >>> store.write(Box((0,), (3,)), np.arange(3, dtype="f4"))
    >>> buffer = np.empty(3, "f4")
    >>> store.read(Box((0,), (3,)), buffer)
    >>> buffer.tolist()
    [0.0, 1.0, 2.0]
    """
    found = checked_dtype(dtype).newbyteorder("=")
    shape = checked_shape(shape, found.itemsize)
    nbytes = prod(shape) * found.itemsize
    base = Path(tempfile.gettempdir() if directory is None else directory).absolute()
    _account.take(nbytes, limit)
    try:
        path = _directory_in(base) / unique_name()
        try:
            mappable = _create(path, nbytes)
            return ScratchStore(path, shape, found, mappable=mappable)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    except BaseException:
        _account.freed.append(nbytes)
        raise


def scratch_in_use() -> int:
    """Return the bytes of scratch that this process holds.

    Examples
    --------
    >>> before = scratch_in_use()
    >>> store = create_scratch((3,), "f4")
    >>> scratch_in_use() - before
    12
    """
    return _account.in_use()


class _Account:
    """Bytes of scratch held by this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        free_in_children(self._lock)
        self._used = 0
        self._pid = os.getpid()
        self.freed: deque[int] = deque()
        """What finalizers gave back: they may run anywhere, so they take no lock."""

    def in_use(self) -> int:
        with self._lock:
            return self._settle()

    def take(self, nbytes: int, limit: int | None) -> None:
        with self._lock:
            used = self._settle()
            if limit is not None and used + nbytes > limit:
                msg = (
                    f"Scratch must stay within scratch_limit, {limit} bytes; {used} "
                    f"are in use and {nbytes} more are needed. Raise it with "
                    "jask.config(scratch_limit=...)."
                )
                raise ScratchFullError(errno.ENOSPC, msg)
            self._used += nbytes

    def _settle(self) -> int:
        if self._pid != os.getpid():  # a forked child owns none of it
            self._pid, self._used = os.getpid(), 0
            self.freed.clear()
        while self.freed:
            self._used -= self.freed.popleft()
        return self._used


_account = _Account()


def _create(path: Path, nbytes: int) -> bool:
    """Make the file; return whether its space is allocated."""
    try:
        with at_any_cost(lambda: FileIO(path, "x+"), path) as file:
            return allocate(file.fileno(), nbytes)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise ScratchFullError(error.errno, too_large(nbytes), str(path)) from error
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        raise _disk_full(nbytes, path.parent) from error


def _disk_full(nbytes: int, directory: Path) -> ScratchFullError:
    free = free_bytes(directory)
    msg = (
        f"The disk must have room for {nbytes} bytes of scratch; {free} are "
        f"free. Name another place with jask.config(scratch_dir=...): {directory}"
    )
    return ScratchFullError(errno.ENOSPC, msg)


def _remove(path: Path, nbytes: int, pid: int) -> None:
    if os.getpid() == pid:
        path.unlink(missing_ok=True)
        _account.freed.append(nbytes)


_directories: dict[tuple[Path, int], tuple[Path, FileIO]] = {}
"""By base and process: this process's directory there, and its lock."""
_directories_lock = threading.Lock()
free_in_children(_directories_lock)


def _directory_in(base: Path) -> Path:
    """Return this process's directory under `base`, made when first asked for."""
    key = (base, os.getpid())
    with _directories_lock:
        if key in _directories and not _directories[key][0].is_dir():
            _directories.pop(key)[1].close()
        if key not in _directories:
            _remove_abandoned(base)
            _directories[key] = _make_directory(base)
        return _directories[key][0]


def _make_directory(base: Path) -> tuple[Path, FileIO]:
    while True:
        try:
            made = Path(tempfile.mkdtemp(prefix=f"jask-{unique_name()}-", dir=base))
        except OSError as error:
            what = "no folder can be made for scratch; choose another `scratch_dir`"
            raise refused(error, what, base) from error
        lock = made / _LOCK_FILE
        file = at_any_cost(partial(FileIO, lock, "x+"), lock)
        if claim(file.fileno(), lock):
            return made, file
        file.close()


def _remove_abandoned(base: Path) -> None:
    with at_any_cost(lambda: os.scandir(base), base) as listing:
        entries = list(listing)
    for entry in entries:
        try:
            found = entry.stat(follow_symlinks=False)
            own = found.st_uid == os.getuid() and entry.is_dir(follow_symlinks=False)
        except OSError:
            continue
        if own and _NAME.fullmatch(entry.name):
            _remove_if_abandoned(Path(entry), found.st_mtime)


def _remove_if_abandoned(directory: Path, modified: float) -> None:
    lock = directory / _LOCK_FILE
    with abandoned(lock) as gone:
        unlocked = not lock.exists() and time.time() - modified > _ABANDONED_AFTER
        if gone or unlocked:
            shutil.rmtree(directory, ignore_errors=True)


@atexit.register
def _remove_directories() -> None:
    for (_, pid), (directory, lock) in list(_directories.items()):
        if pid == os.getpid():
            shutil.rmtree(directory, ignore_errors=True)
            lock.close()
