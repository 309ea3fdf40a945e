"""One file behind a store: its descriptor, its identity, its exact reads and writes.

1. A file is opened when its store is made and stays open, so that a file replaced by a
   rename goes on being read as it was; what it was then is remembered.
2. Few descriptors are kept open: above a limit the one unused for longest is closed
   and opened again when needed, if path and identity still name the same bytes.
3. `check` compares size and time stamp with what was remembered.
4. Descriptors are held by `FileIO` objects, which one call opens and whose end closes
   them: an interrupt between two lines loses none.

It does not lock files against other programs: it notices changes, it prevents none.
"""

import contextlib
import errno
import os
import resource
import stat
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import NamedTuple

from jask.errors import FileFormatError, SourceChangedError
from jask.stores._claim import free_in_children

_MOST_OPEN = 256
_TOO_MANY = {errno.EMFILE, errno.ENFILE}
_MOST_AT_ONCE = 1 << 30  # the kernel moves less than 2 GiB in one call

_lock = threading.RLock()  # reentrant: a finalizer may run while it is held
free_in_children(_lock)
_idle: OrderedDict["_Handle", None] = OrderedDict()
"""Open handles that nobody is using, the one unused for longest first."""
_files: weakref.WeakSet[FileIO] = weakref.WeakSet()
"""Files open here, idle or in use; one whose closing was interrupted may linger."""


class Identity(NamedTuple):
    """What tells one version of a file from another."""

    device: int
    inode: int
    size: int
    modified_ns: int

    @classmethod
    def of(cls, fd: int) -> "Identity":
        """Return the identity of an open file."""
        found = os.fstat(fd)
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


class _Handle:
    """A descriptor that may be closed while nobody uses it."""

    __slots__ = ("closed", "file", "identity", "path", "users", "writable")

    def __init__(self, path: Path, *, writable: bool) -> None:
        self.path = path
        self.writable = writable
        self.users = 0
        self.closed = False
        self.file: FileIO = _open(path, writable=writable)
        self.identity = Identity.of(self.file.fileno())


class DiskFile:
    """A regular file that is read and written at offsets, from any thread.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as named:
    ...     _ = named.write(b"abc")
    ...     named.flush()
    ...     file = DiskFile(named.name)
    ...     file.size
    3
    """

    def __init__(self, path: str | os.PathLike[str], *, writable: bool = False) -> None:
        self.path = absolute(path)
        """Where the file is; later changes of the working directory do not matter."""
        self.writable = writable
        """Whether it was opened for writing too."""
        _require_regular(self.path)
        self._handle = _Handle(self.path, writable=writable)
        self._finalizer = weakref.finalize(self, _close, self._handle)
        self._finalizer.atexit = False
        with _lock:
            _idle[self._handle] = None

    @property
    def size(self) -> int:
        """Number of bytes when the file was opened."""
        return self._handle.identity.size

    def remember(self, path: Path | None = None) -> None:
        """Take the file as it is now, perhaps under a new name, for the right one."""
        with self.descriptor() as fd:
            self._handle.identity = Identity.of(fd)
        if path is not None:
            self.path = self._handle.path = path

    def acquire(self) -> int:
        """Return the descriptor, to be given back by `release`."""
        handle = self._handle
        with _lock:
            if handle.closed:
                msg = f"The store must not be closed when it is used: {self.path}"
                raise ValueError(msg)
            if handle.users == 0:
                if handle.file.closed:
                    _reopen(handle)
                _idle.pop(handle, None)
            handle.users += 1
            return handle.file.fileno()

    def release(self) -> None:
        """Give the descriptor back."""
        handle = self._handle
        with _lock:
            handle.users -= 1
            if handle.users == 0:
                if handle.closed:
                    _shut(handle)
                else:
                    _idle[handle] = None

    @contextlib.contextmanager
    def descriptor(self) -> Iterator[int]:
        """Hold the descriptor for a `with` block."""
        fd = self.acquire()
        try:
            yield fd
        finally:
            self.release()

    def check(self) -> None:
        """Raise SourceChangedError if the bytes are not those that were opened."""
        with self.descriptor() as fd:
            found, known = Identity.of(fd), self._handle.identity
        if found != known:
            raise _changed(self.path, found, known)

    def close(self) -> None:
        """Close the file; using it afterwards is an error."""
        self._finalizer()


def absolute(path: str | os.PathLike[str]) -> Path:
    """Return a path that does not depend on the working directory.

    Examples
    --------
    >>> absolute("x.npy").is_absolute()
    True
    """
    return Path(os.fsdecode(os.fspath(path))).absolute()


def read_at(fd: int, view: memoryview, offset: int, path: Path) -> int:
    """Fill `view` from `offset` on and return the number of system calls."""
    done, calls, total = 0, 0, len(view)
    while done < total:
        try:
            got = os.preadv(fd, (view[done : done + _MOST_AT_ONCE],), offset + done)
        except OSError as error:
            raise _named(error, path) from error
        calls += 1
        if got == 0:
            msg = (
                f"The file must hold {offset + total} bytes; it ends at byte "
                f"{offset + done}. It was cut after it was opened: {path}"
            )
            raise SourceChangedError(msg)
        done += got
    return calls


def write_at(fd: int, view: memoryview, offset: int, path: Path) -> int:
    """Write `view` from `offset` on and return the number of system calls."""
    done, calls, total = 0, 0, len(view)
    while done < total:
        try:
            done += os.pwritev(fd, (view[done : done + _MOST_AT_ONCE],), offset + done)
        except OSError as error:
            raise _named(error, path) from error
        calls += 1
    return calls


def _named(error: OSError, path: Path) -> OSError:
    return OSError(error.errno, error.strerror, str(path))


def _require_regular(path: Path) -> None:
    mode = path.stat().st_mode  # raises FileNotFoundError that names the path
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):  # opening a pipe could wait forever
        msg = f"The file must be a regular file, not a pipe or device: {path}"
        raise FileFormatError(msg)


def _most_open() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_OPEN if soft < 0 else max(min(_MOST_OPEN, soft // 4), 4)


def _open(path: Path, *, writable: bool) -> FileIO:
    """Open a file, closing unused ones when there are too many."""
    with _lock:
        _make_room(_most_open() - 1)
        file = at_any_cost(lambda: FileIO(path, "r+" if writable else "r"), path)
        _files.add(file)
        return file


def at_any_cost[T](call: Callable[[], T], path: Path) -> T:
    """Return what a call returns that opens `path`; close unused files if it must.

    Examples
    --------
    >>> at_any_cost(lambda: len(os.listdir("/")) > 0, Path("/"))
    True
    """
    try:
        return call()
    except OSError as error:
        if error.errno not in _TOO_MANY:
            raise
    with _lock:
        _make_room(0)
    try:
        return call()
    except OSError as error:
        if error.errno not in _TOO_MANY:
            raise
        msg = (
            "Too few file descriptors: other parts of this process hold all that it "
            "may open. Close files, or raise the limit (`ulimit -n`)."
        )
        raise OSError(error.errno, msg, str(path)) from error


def refused(error: OSError, what: str, path: Path) -> OSError:
    """Return an error of the same class that says what could not be made, and where.

    Examples
    --------
    >>> refused(PermissionError(13, "Permission denied"), "a file", Path("/x/y"))
    PermissionError(13, 'Permission denied: a file')
    """
    return OSError(error.errno, f"{error.strerror}: {what}", str(path))


def _make_room(most: int) -> None:
    """Close idle descriptors until at most `most` are held, if that many can go."""
    for handle in list(_idle):
        if len(_files) <= most:
            return
        if _could_reopen(handle):
            _idle.pop(handle, None)
            _shut(handle)


def _could_reopen(handle: _Handle) -> bool:
    """Return whether the path still leads to this file."""
    try:
        there = handle.path.stat()
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == handle.identity[:2]


def _reopen(handle: _Handle) -> None:
    handle.file = _open(handle.path, writable=handle.writable)
    found = Identity.of(handle.file.fileno())
    if handle.writable:  # our own writes have changed size and time
        found = handle.identity._replace(device=found.device, inode=found.inode)
    if found != handle.identity:
        _shut(handle)
        raise _changed(handle.path, found, handle.identity)


def _shut(handle: _Handle) -> None:
    handle.file.close()
    _files.discard(handle.file)


def _close(handle: _Handle) -> None:
    with _lock:
        handle.closed = True
        if handle.users == 0:
            _idle.pop(handle, None)
            _shut(handle)


def _changed(path: Path, found: Identity, known: Identity) -> SourceChangedError:
    if found[:2] != known[:2]:
        what = "it is now another file"
    elif found.size != known.size:
        what = f"it had {known.size} bytes and now has {found.size}"
    else:
        what = "it was written to"
    msg = f"The file must not change while it is open; {what}. Open it again: {path}"
    return SourceChangedError(msg)
