"""An output file that appears under its name whole or not at all.

1. It is written under a temporary name beside the destination, with its space
   allocated at once, so that a full disk is noticed before any work is done.
2. `seal` waits until it is on the disk, `commit` renames it: of several files the first
   gets its name when all are sealed. Whoever has the old file open keeps reading the
   old bytes.
3. `abort`, losing the last reference, and the end of the process remove it; what a
   killed process left is removed when the same destination is written again.
"""

import errno
import os
import stat
import weakref
import zlib
from functools import partial
from io import FileIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from jask.errors import FileFormatError
from jask.stores._claim import (
    abandoned,
    allocate,
    claim,
    free_bytes,
    too_large,
    unique_name,
)
from jask.stores._dtypes import checked_dtype, checked_shape
from jask.stores._file import DiskFile, absolute, at_any_cost, refused, write_at
from jask.stores.npy import npy_header
from jask.stores.raw import RawStore

__all__ = ["OutputStore", "create_output"]

_SUFFIX = ".jask-tmp"
_LONGEST_NAME = 255
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}


class OutputStore(RawStore):
    """A `.npy` file in the making; `create_output` makes one."""

    def __init__(
        self,
        target: Path,
        file: DiskFile,
        claimed: FileIO,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        offset: int,
        mappable: bool,
    ) -> None:
        super().__init__(file, shape, dtype, offset, mappable=mappable)
        self._target = target
        self._temporary = file.path
        self._sealed: DiskFile | None = None
        args = (file.path, claimed, os.getpid())
        self._discard = weakref.finalize(self, _discard, *args)

    @property
    def target(self) -> Path:
        """Where the file will appear."""
        return self._target

    def seal(self, *, durable: bool = False) -> DiskFile:
        """Do all that may fail before the file gets its name; return it, for reading.

        Parameters
        ----------
        durable
            Whether to wait until it would survive a power cut (`fsync`).
        """
        self._mapped = None
        if self._sealed is None:
            file = DiskFile(self._temporary)
            if durable:
                with file.descriptor() as fd:
                    os.fsync(fd)
            _copy_mode(self._target, self._temporary)
            self._sealed = file
        return self._sealed

    def commit(self, *, durable: bool = False) -> RawStore:
        """Seal the file, give it its name and return it, opened for reading."""
        file = self.seal(durable=durable)
        self._temporary.replace(self._target)
        file.remember(self._target)
        self._discard()
        if durable:
            _sync_directory(self._target.parent)
        super().close()
        return RawStore(file, self.shape, self.dtype, self.offset)

    def abort(self) -> None:
        """Remove what was written; the destination stays as it was."""
        self._discard()
        super().close()

    def close(self) -> None:
        """Remove what was not committed."""
        self.abort()


def create_output(
    path: str | os.PathLike[str], shape: tuple[int, ...], dtype: Any
) -> OutputStore:
    """Start writing a `.npy` file.

    A symbolic link is followed: the file that it names is replaced.

    Raises
    ------
    OSError
        If the directory does not exist or cannot be written to, or the file does not
        fit the disk.

    Examples
    --------
    >>> import tempfile
    >>> from jask.geometry.box import Box
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     output = create_output(Path(directory, "x.npy"), (3,), "f4")
    ...     output.write(Box((0,), (3,)), np.arange(3, dtype="f4"))
    ...     _ = output.commit()
    ...     np.load(Path(directory, "x.npy")).tolist()
    [0.0, 1.0, 2.0]
    """
    found = checked_dtype(dtype).newbyteorder("=")
    shape = checked_shape(shape, found.itemsize)
    target = _target(path)
    _remove_abandoned(target)
    temporary, claimed = _create(target)
    try:
        header = npy_header(shape, found)
        nbytes = len(header) + prod(shape) * found.itemsize
        mappable = _allocate(claimed.fileno(), nbytes, target)
        write_at(claimed.fileno(), memoryview(header), 0, temporary)
        file = DiskFile(temporary, writable=True)
        offset = len(header)
        return OutputStore(
            target, file, claimed, shape, found, offset=offset, mappable=mappable
        )
    except BaseException:
        _discard(temporary, claimed, os.getpid())
        raise


def _target(path: str | os.PathLike[str]) -> Path:
    """Return the file that will be replaced or made, or raise."""
    target = absolute(path).resolve()
    if not target.parent.is_dir():
        msg = "There is no such directory"
        raise FileNotFoundError(errno.ENOENT, msg, str(target.parent))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(mode):
        msg = f"The destination must be a regular file, not a pipe or device: {target}"
        raise FileFormatError(msg)
    return target


def _prefix(target: Path) -> str:
    """Return how the temporary names of this destination begin."""
    name = target.name
    if len(os.fsencode(name)) > _LONGEST_NAME - 80:
        name = f"{zlib.crc32(os.fsencode(name)):08x}"
    return f".{name}."


def _create(target: Path) -> tuple[Path, FileIO]:
    """Make and lock the temporary file."""
    while True:
        name = f"{_prefix(target)}{unique_name()}{_SUFFIX}"
        temporary = target.with_name(name)
        try:
            file = at_any_cost(partial(FileIO, temporary, "x+"), target)
            if claim(file.fileno(), temporary):
                return temporary, file
        except OSError as error:
            if error.errno not in _CLOSED:
                raise
            what = f"the new file is made beside it first, in {target.parent}"
            raise refused(error, what, target) from error
        except KeyboardInterrupt:  # that came when the file was just made
            temporary.unlink(missing_ok=True)
            raise
        file.close()


def _remove_abandoned(target: Path) -> None:
    prefix = _prefix(target)
    names = at_any_cost(lambda: os.listdir(target.parent), target)  # noqa: PTH208 (names are enough)
    for name in names:
        if name.startswith(prefix) and name.endswith(_SUFFIX):
            left = target.with_name(name)
            with abandoned(left) as gone:
                if gone:
                    left.unlink(missing_ok=True)


def _allocate(fd: int, nbytes: int, target: Path) -> bool:
    try:
        return allocate(fd, nbytes)
    except OSError as error:
        free = free_bytes(target.parent)
        msg = f"{error.strerror}: the file needs {nbytes} bytes; {free} are free"
        if error.errno == errno.EFBIG:
            msg = too_large(nbytes)
        raise OSError(error.errno, msg, str(target)) from error


def _discard(temporary: Path, claimed: FileIO, pid: int) -> None:
    """Remove the temporary file if it is still there, and unlock it."""
    if os.getpid() == pid:  # not in a child that was forked
        temporary.unlink(missing_ok=True)
        claimed.close()


def _copy_mode(old: Path, new: Path) -> None:
    """Give a file the permissions of the one that it replaces."""
    try:
        mode = stat.S_IMODE(old.stat().st_mode)
    except FileNotFoundError:
        return
    new.chmod(mode)


def _sync_directory(directory: Path) -> None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    fd = at_any_cost(lambda: os.open(directory, flags), directory)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
