"""What every store can do.

A store holds one array in row-major order and moves boxes of it. It is safe to call
from several threads at once, for boxes that do not overlap when writing.
"""

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jask.geometry.box import Box


@runtime_checkable
class Store(Protocol):
    """An array whose boxes can be read, and written where the store allows it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type, in native byte order."""

    @property
    def on_disk(self) -> bool:
        """Whether reading costs I/O; False for arrays that live in memory."""

    @property
    def path(self) -> Path | None:
        """The file that holds the bytes, if one does."""

    def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
        """Fill `buffer`, a C-contiguous array of the box's shape and this dtype."""

    def write(self, box: Box, block: np.ndarray[Any, Any]) -> None:
        """Store `block`, an array of the box's shape, at `box`."""

    def reshaped(self, shape: tuple[int, ...]) -> "Store":
        """Return the same elements, in row-major order, as an array of this shape."""

    def prefetch(self, box: Box) -> None:
        """Hint that `box` is read soon; must return at once."""

    def check(self) -> None:
        """Raise SourceChangedError if the file is not the one that was opened."""

    def close(self) -> None:
        """Release the file; reading afterwards is an error."""


class Readable(Protocol):
    """What can be read: a store, or something that stands for one."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""

    def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
        """Fill `buffer`, a C-contiguous array of the box's shape and this dtype."""


def read_block(store: Readable, box: Box | None = None) -> np.ndarray[Any, Any]:
    """Return a box of a store, by default all of it, as a new array.

    Examples
    --------
    >>> from jask.stores.memory import MemoryStore
    >>> read_block(MemoryStore(np.arange(5)), Box((1,), (3,)))
    array([1, 2])
    """
    box = Box.whole(store.shape) if box is None else box
    block = np.empty(box.shape, store.dtype)
    store.read(box, block)
    return block


def require_fit(store: Store, box: Box, block: np.ndarray[Any, Any]) -> None:
    """Raise ValueError unless the box lies in the store and the block fills it.

    Examples
    --------
    >>> from jask.stores.memory import MemoryStore
    >>> require_fit(MemoryStore(np.zeros(3)), Box((0,), (4,)), np.zeros(4))
    Traceback (most recent call last):
    ...
    ValueError: The box must lie inside an array of shape (3,); got Box(...).
    """
    shape, dtype = store.shape, store.dtype
    if len(box.start) != len(shape) or box not in Box.whole(shape):
        msg = f"The box must lie inside an array of shape {shape}; got {box}."
        raise ValueError(msg)
    if block.shape != box.shape or block.dtype != dtype:
        msg = (
            f"The block must have shape {box.shape} and dtype {dtype}; "
            f"got shape {block.shape} and dtype {block.dtype}."
        )
        raise ValueError(msg)
