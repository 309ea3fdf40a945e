"""Pages that the user has mapped, as a store: a read-only `numpy.memmap`, not copied.

Only what is in row-major order without gaps is taken: it can be seen under other
shapes. The pages stay the user's: who cuts the file meanwhile ends the process.
"""

import mmap
from pathlib import Path
from typing import Any

import numpy as np

from jask.errors import MemoryBudgetError
from jask.geometry.box import Box
from jask.stores import traffic
from jask.stores.base import require_fit

__all__ = ["MappedStore", "is_lent", "require_small"]


def is_lent(array: Any) -> bool:
    """Return whether an array is a read-only mapping of a file that can be read as is.

    Examples
    --------
    >>> is_lent(np.zeros(3))
    False
    """
    mapped = isinstance(array, np.memmap) and array.mode == "r"
    return mapped and array.flags.c_contiguous


def require_small(array: Any, budget: int) -> None:
    """Raise MemoryBudgetError for a mapping that is copied but over the budget.

    Examples
    --------
    >>> require_small(np.zeros(3), 8)
    """
    if isinstance(array, np.memmap) and array.nbytes > budget:
        msg = (
            f"a numpy.memmap of {array.nbytes} bytes with mode {array.mode!r} must be "
            f"copied to memory, over the memory budget of {budget} bytes: only a "
            "read-only one in row-major order without gaps is read where it is. Open "
            "its file with jask.open(path) and slice the DiskArray."
        )
        raise MemoryBudgetError(msg, array.nbytes)


class MappedStore:
    """A row-major array in mapped pages.

    Parameters
    ----------
    pages
        The mapping; it must not be written to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as named:
    ...     np.save(named, np.arange(4.0))
    ...     named.flush()
    ...     store = MappedStore(np.load(named.name, mmap_mode="r"))
    ...     buffer = np.empty(2)
    ...     store.read(Box((1,), (3,)), buffer)
    ...     buffer.tolist()
    [1.0, 2.0]
    """

    def __init__(self, pages: np.memmap[Any, Any]) -> None:
        self._pages = pages
        self._closed = False

    def reshaped(self, shape: tuple[int, ...]) -> "MappedStore":
        """Return the same elements as an array of another shape."""
        return MappedStore(self.mapped(shape))

    def __repr__(self) -> str:
        """Return the kind, path, shape and element type."""
        return f"MappedStore({str(self.path)!r}, {self.shape}, {self.dtype})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis."""
        shape: tuple[int, ...] = self._pages.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type, in native byte order."""
        native: np.dtype[Any] = self._pages.dtype.newbyteorder("=")
        return native

    @property
    def on_disk(self) -> bool:
        """True: reading may cost I/O."""
        return True

    @property
    def path(self) -> Path | None:
        """The file that is mapped, if this is all that was mapped of it."""
        whole = isinstance(self._pages.base, mmap.mmap)
        name = self._pages.filename
        return Path(name) if whole and name is not None else None

    def mapped(self, shape: tuple[int, ...]) -> np.memmap[Any, Any]:
        """Return the pages."""
        pages: Any = self._pages.reshape(shape)
        found: np.memmap[Any, Any] = pages
        return found

    def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
        """Fill `buffer`, an array of the box's shape and this dtype."""
        require_fit(self, box, buffer)
        if self._closed:
            msg = f"The store must not be closed when it is used: {self.path}"
            raise ValueError(msg)
        part = self._pages[box.slices]
        if self.dtype.kind == "b":  # a byte that is not 0 or 1 would confuse XLA
            np.not_equal(part.view(np.uint8), 0, out=buffer)
        else:
            buffer[...] = part
        traffic.count_read(buffer.nbytes, 1)

    def write(self, box: Box, block: np.ndarray[Any, Any]) -> None:
        """Refuse: the pages are the user's."""
        msg = f"A MappedStore must not be written to; got {block.shape} for {box}."
        raise PermissionError(msg)

    def prefetch(self, box: Box) -> None:
        """Do nothing: the system reads mapped pages ahead."""

    def check(self) -> None:
        """Do nothing: the pages are those that were mapped."""

    def close(self) -> None:
        """Let nothing more be read; the mapping goes with the last reference."""
        self._closed = True
