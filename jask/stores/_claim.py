"""Which files of other processes were left behind by a crash.

Whoever makes a temporary file or directory holds a lock on it (`flock`), which the
kernel releases when the process ends, however it ends. A file that can be locked by
somebody else was left behind. Where a file system has no locks nothing is removed.
"""

import contextlib
import errno
import fcntl
import functools
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_UNSUPPORTED = {errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENODEV}
_serial = itertools.count()


def unique_name() -> str:
    """Return a name part that no other process uses: process, start time, number.

    Examples
    --------
    >>> unique_name() != unique_name()
    True
    """
    pid = os.getpid()
    return f"{pid}-{_start_time(pid)}-{next(_serial)}"


@functools.cache
def _start_time(pid: int) -> str:
    """Return when a process started, in ticks since the machine did."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="latin1")
    except OSError:
        return "0"
    return text.rpartition(")")[2].split()[19]


def claim(fd: int, path: Path) -> bool:
    """Lock a file just made; False if somebody took it for left behind and removes it.

    A file system without locks counts as locked.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(fd)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


@contextlib.contextmanager
def abandoned(path: Path) -> Iterator[bool]:
    """Yield whether the process that made `path` is gone; locked for the block."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(fd)


def too_large(nbytes: int) -> str:
    """Return what to say of a file that is larger than any may be (EFBIG)."""
    return (
        f"Files of {nbytes} bytes must be allowed: neither `ulimit -f` nor the file "
        "system may limit them"
    )


def allocate(fd: int, nbytes: int) -> bool:
    """Make a file `nbytes` long; return whether its space is really allocated.

    Raises OSError (ENOSPC) if it does not fit the disk.
    """
    if nbytes == 0:
        return True
    found = os.fstatvfs(fd)  # trying would fill the disk up before it fails
    if found.f_blocks > 0 and nbytes > found.f_bavail * found.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if not hasattr(os, "posix_fallocate"):
        os.ftruncate(fd, nbytes)
        return False
    try:
        os.posix_fallocate(fd, 0, nbytes)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:
            raise
        os.ftruncate(fd, nbytes)
        return False
    return True


def free_in_children(lock: Any) -> None:
    """Have a lock held across every fork, so that a child never finds it taken.

    Another thread of the parent could hold it; in the child nobody would release it.
    """
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


def free_bytes(directory: Path) -> int:
    """Return the bytes that the disk has left for this user.

    Examples
    --------
    >>> free_bytes(Path()) >= 0
    True
    """
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize
