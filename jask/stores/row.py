"""One row of a stored array, as a store: `lax.scan` walks arrays so."""

from pathlib import Path
from typing import Any

import numpy as np

from jask.geometry.box import Box
from jask.stores.base import Store, require_fit

__all__ = ["RowStore"]


class RowStore:
    """The elements of a store at one position along its leading axis.

    Parameters
    ----------
    store
        An array with at least one axis.
    index
        The position.

    Examples
    --------
    >>> from jask.stores.memory import MemoryStore
    >>> row = RowStore(MemoryStore(np.arange(6.0).reshape(2, 3)), 1)
    >>> buffer = np.empty(2)
    >>> row.read(Box((1,), (3,)), buffer)
    >>> buffer.tolist()
    [4.0, 5.0]
    """

    def __init__(self, store: Store, index: int) -> None:
        self._store, self._index = store, index

    def reshaped(self, shape: tuple[int, ...]) -> "RowStore":
        """Return the same elements as an array of another shape."""
        rows = self._store.shape[0]
        return RowStore(self._store.reshaped((rows, *shape)), self._index)

    def __repr__(self) -> str:
        """Return the kind, the position and the whole."""
        return f"RowStore({self._store!r}, {self._index})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis."""
        return self._store.shape[1:]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type, in native byte order."""
        return self._store.dtype

    @property
    def on_disk(self) -> bool:
        """Whether reading costs I/O."""
        return self._store.on_disk

    @property
    def path(self) -> Path | None:
        """None: the file holds more than the row."""
        return None

    def _box(self, box: Box) -> Box:
        return Box((self._index, *box.start), (self._index + 1, *box.stop))

    def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
        """Fill `buffer`, an array of the box's shape and this dtype."""
        require_fit(self, box, buffer)
        self._store.read(self._box(box), buffer[None])

    def write(self, box: Box, block: np.ndarray[Any, Any]) -> None:
        """Refuse: a row is only read."""
        msg = f"A RowStore must not be written to; got {block.shape} for {box}."
        raise PermissionError(msg)

    def prefetch(self, box: Box) -> None:
        """Hint that `box` is read soon; returns at once."""
        self._store.prefetch(self._box(box))

    def check(self) -> None:
        """Raise SourceChangedError if the file is not the one that was opened."""
        self._store.check()

    def mapped(self, shape: tuple[int, ...]) -> Any:
        """Return the row as a part of a memory map of the file."""
        whole: Any = self._store
        return whole.mapped((whole.shape[0], *shape))[self._index]

    def close(self) -> None:
        """Release the file, for all rows."""
        self._store.close()
