"""An array in memory, as a store.

The array is read-only from then on as far as the store is concerned: `MemoryStore`
copies what it is given unless it is told that nobody else will change it.
"""

from pathlib import Path
from typing import Any

import numpy as np

from jask.geometry.box import Box
from jask.stores.base import require_fit

__all__ = ["MemoryStore"]


class MemoryStore:
    """A read-only array in memory.

    Parameters
    ----------
    array
        The values.
    copy
        Whether to copy them; pass False only for an array that nobody changes.

    Examples
    --------
    >>> store = MemoryStore(np.arange(4.0))
    >>> buffer = np.empty(2)
    >>> store.read(Box((1,), (3,)), buffer)
    >>> buffer.tolist()
    [1.0, 2.0]
    """

    def __init__(self, array: np.ndarray[Any, Any], *, copy: bool = True) -> None:
        native = array.dtype.newbyteorder("=")
        self._array = np.array(array, native, order="C", copy=copy or None)
        if copy:
            self._array.flags.writeable = False

    def reshaped(self, shape: tuple[int, ...]) -> "MemoryStore":
        """Return the same values as an array of another shape."""
        return MemoryStore(self._array.reshape(shape), copy=False)

    def __repr__(self) -> str:
        """Return the kind, shape and element type."""
        return f"MemoryStore({self.shape}, {self.dtype})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type, in native byte order."""
        return self._array.dtype

    @property
    def on_disk(self) -> bool:
        """False: reading costs no I/O."""
        return False

    @property
    def path(self) -> Path | None:
        """None: there is no file."""
        return None

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The values themselves; not to be changed."""
        return self._array

    def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
        """Fill `buffer`, an array of the box's shape and this dtype."""
        require_fit(self, box, buffer)
        buffer[...] = self._array[box.slices]

    def write(self, box: Box, block: np.ndarray[Any, Any]) -> None:
        """Refuse: the array is read-only."""
        msg = f"A MemoryStore must not be written to; got {block.shape} for {box}."
        raise PermissionError(msg)

    def prefetch(self, box: Box) -> None:
        """Do nothing: it is in memory."""

    def check(self) -> None:
        """Do nothing: there is no file that could change."""

    def close(self) -> None:
        """Do nothing: the memory goes with the last reference."""
