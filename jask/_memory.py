"""Memory that this process can really still use.

1. What the kernel calls available (`MemAvailable`: free plus reclaimable).
2. For the control group of this process and each group above it that has a limit:
   the limit minus the memory in use, page cache not counted as used.
3. The smallest of these; where none is known, the physical memory.
"""

import os
from collections.abc import Iterator
from pathlib import Path

_FALLBACK = 2 * 2**30


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes that this process could still allocate.

    Parameters
    ----------
    root
        Where `proc` and `sys` are found; for tests.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    known = [*_from_kernel(root), *_from_groups(root)]
    return max(min(known), 0) if known else _physical_memory()


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _FALLBACK


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []


def _number(path: Path) -> int | None:
    """Return the number in a file of one word; None for `max` or no such file."""
    lines = _lines(path)
    return int(lines[0]) if lines and lines[0].strip().isdigit() else None


def _from_kernel(root: Path) -> Iterator[int]:
    for line in _lines(root / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _from_groups(root: Path) -> Iterator[int]:
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            for mount in ("sys/fs/cgroup", "sys/fs/cgroup/unified"):
                yield from _walk(root / mount, path, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            yield from _walk(
                root / "sys/fs/cgroup/memory",
                path,
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
            )


def _walk(mount: Path, path: str, limit: str, usage: str) -> Iterator[int]:
    """Yield what is left in a group and in each group above it."""
    parts = [p for p in path.split("/") if p and p != ".."]
    for depth in range(len(parts), -1, -1):
        group = mount.joinpath(*parts[:depth])
        most, used = _number(group / limit), _number(group / usage)
        if most is not None and used is not None:
            yield most - used + _page_cache(group)


def _page_cache(group: Path) -> int:
    names = ("active_file", "inactive_file")
    words = (line.split() for line in _lines(group / "memory.stat"))
    return sum(int(value) for name, value in words if name in names)
