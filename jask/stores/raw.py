"""A file of bare elements in row-major order, and all that disk stores share.

`RawStore` moves boxes of one array between a file and memory. `.npy` files are raw
stores with an offset; scratch and output files are raw stores that jask made itself.
"""

import mmap
import os
import threading
import time
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jask.errors import FileFormatError
from jask.geometry.box import Box
from jask.stores import traffic
from jask.stores._dtypes import checked_dtype, checked_shape
from jask.stores._file import DiskFile, absolute
from jask.stores._move import MAPPED_RUN, Array, fetch, put
from jask.stores._runs import Runs, pieces, runs_of
from jask.stores.base import require_fit

__all__ = ["RawStore", "open_raw"]

_COPY_ELEMENTS = 1 << 17
_CALL = 20_000
_CACHED = 4
"""Nanoseconds for a call, and bytes per nanosecond beyond them, that reading what is in
the page cache takes at most; a disk takes longer to answer at all."""


class RawStore:
    """An array in a file, row by row, from some offset on.

    Parameters
    ----------
    file
        The open file.
    shape
        Number of elements along each axis.
    stored
        The element type in the file, in either byte order.
    offset
        Where the first element starts.
    mappable
        Whether the space is allocated and nobody else may cut the file, so that
        writing through mapped pages cannot fail.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as named:
    ...     _ = named.write(np.arange(6.0).tobytes())
    ...     named.flush()
    ...     store = open_raw(named.name, (2, 3), "f8")
    ...     buffer = np.empty((2, 2))
    ...     store.read(Box((0, 1), (2, 3)), buffer)
    ...     buffer.tolist()
    [[1.0, 2.0], [4.0, 5.0]]
    """

    def __init__(
        self,
        file: DiskFile,
        shape: tuple[int, ...],
        stored: np.dtype[Any],
        offset: int = 0,
        *,
        mappable: bool = False,
    ) -> None:
        self._file = file
        self._shape = shape
        self._dtype = stored.newbyteorder("=")
        self._foreign = not stored.isnative
        self._offset = offset
        self._mappable = mappable
        self._cached = False
        self._written = False
        self._mapped: Array | None = None
        self._map_lock = threading.Lock()

    def reshaped(self, shape: tuple[int, ...]) -> "RawStore":
        """Return the same bytes as an array of another shape, for reading."""
        return self._view(shape, self._offset)

    def part(self, box: Box, shape: tuple[int, ...]) -> "RawStore | None":
        """Return a box as an array of this shape, if its bytes are one run."""
        runs = self._runs(box)
        if runs.grid or box.size == 0:
            return None
        return self._view(shape, runs.base)

    def _view(self, shape: tuple[int, ...], offset: int) -> "RawStore":
        stored = self._dtype.newbyteorder("S") if self._foreign else self._dtype
        view = RawStore(self._file, shape, stored, offset)
        view._written = self._written
        return view

    def __repr__(self) -> str:
        """Return the kind, path, shape and element type."""
        name = type(self).__name__
        return f"{name}({str(self.path)!r}, {self._shape}, {self._dtype})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type, in native byte order."""
        return self._dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return prod(self._shape) * self._dtype.itemsize

    @property
    def on_disk(self) -> bool:
        """True: reading costs I/O."""
        return True

    @property
    def path(self) -> Path | None:
        """The file that holds the bytes."""
        return self._file.path

    @property
    def offset(self) -> int:
        """Where in the file the first element starts."""
        return self._offset

    def read(self, box: Box, buffer: Array) -> None:
        """Fill `buffer`, a C-contiguous array of the box's shape and this dtype."""
        require_fit(self, box, buffer)
        if not buffer.flags.c_contiguous:
            msg = f"The buffer must be C-contiguous; got strides {buffer.strides}."
            raise ValueError(msg)
        if buffer.size == 0:
            return
        self._fetch(self._runs(box), buffer)
        if self._foreign:
            buffer.byteswap(inplace=True)
        if self._dtype.kind == "b":  # a byte that is not 0 or 1 would confuse XLA
            np.not_equal(buffer.view(np.uint8), 0, out=buffer)

    def _fetch(self, runs: Runs, buffer: Array) -> None:
        """Read, count, and note whether that was slow enough to read ahead."""
        file = self._file
        fd = file.acquire()
        try:
            start = time.perf_counter_ns()
            nbytes, calls = fetch(fd, file.path, runs, buffer)
            elapsed = time.perf_counter_ns() - start
        finally:
            file.release()
        traffic.count_read(nbytes, calls)
        self._cached = nbytes > _CACHED * (elapsed - _CALL * calls)

    def write(self, box: Box, block: Array) -> None:
        """Store `block`, an array of the box's shape and this dtype, at `box`."""
        require_fit(self, box, block)
        if not self._file.writable:
            msg = f"The store must be opened for writing: {self.path}"
            raise PermissionError(msg)
        if block.size == 0:
            return
        self._written = True
        runs = self._runs(box)
        if runs.grid and runs.length < MAPPED_RUN and self._mappable:
            self._mapping()[box.slices] = block
            traffic.count_write(runs.nbytes, 1)
        elif block.flags.c_contiguous and not self._foreign:
            self._put(runs, block)
        else:
            self._write_copies(box, block)

    def _write_copies(self, box: Box, block: Array) -> None:
        """Write a block that needs copying, in small pieces."""
        for piece in pieces(block.shape, _COPY_ELEMENTS):
            part = np.array(block[piece.slices], order="C", copy=True)
            if self._foreign:
                part.byteswap(inplace=True)
            start = tuple(a + b for a, b in zip(box.start, piece.start, strict=True))
            stop = tuple(a + b for a, b in zip(box.start, piece.stop, strict=True))
            self._put(self._runs(Box(start, stop)), part)

    def _put(self, runs: Runs, block: Array) -> None:
        file = self._file
        fd = file.acquire()
        try:
            calls = put(fd, file.path, runs, block)
        finally:
            file.release()
        traffic.count_write(runs.nbytes, calls)

    def mapped(
        self, shape: tuple[int, ...], order: Literal["C", "F"] = "C"
    ) -> np.memmap[Any, Any]:
        """Return the file as a read-only memory map, in its own byte order.

        What is mapped is the file that was opened, whatever has its name now.
        """
        self.check()
        stored = self._dtype.newbyteorder("S") if self._foreign else self._dtype
        with self._file.descriptor() as fd, os.fdopen(os.dup(fd), "rb") as file:
            pages: Any = np.memmap(file, stored, "r", self._offset, shape, order)
        pages.filename = self._file.path  # as NumPy has it for a path
        found: np.memmap[Any, Any] = pages
        return found

    def prefetch(self, box: Box) -> None:
        """Ask the kernel to read `box` ahead, if its bytes lie close together.

        Nothing is asked while reads come from the page cache: for what is there
        already, asking costs a tenth to a quarter of reading.
        """
        if self._cached or box.size == 0 or not hasattr(os, "posix_fadvise"):
            return
        runs = self._runs(box)
        if runs.hull <= 2 * runs.nbytes:
            with self._file.descriptor() as fd:
                os.posix_fadvise(fd, runs.base, runs.hull, os.POSIX_FADV_WILLNEED)

    def check(self) -> None:
        """Raise SourceChangedError if others changed the file since it was opened.

        A store that was itself written to is not checked.
        """
        if not self._written:
            self._file.check()

    def close(self) -> None:
        """Release the file; reading afterwards is an error."""
        self._mapped = None
        self._file.close()

    def _runs(self, box: Box) -> Runs:
        return runs_of(self._shape, self._dtype.itemsize, box, self._offset)

    def _mapping(self) -> Array:
        with self._map_lock:
            if self._mapped is None:
                with self._file.descriptor() as fd:
                    pages = mmap.mmap(fd, 0)
                self._mapped = np.ndarray(self._shape, self._dtype, pages, self._offset)
            return self._mapped


def open_raw(
    path: str | os.PathLike[str],
    shape: tuple[int, ...],
    dtype: Any,
    offset: int = 0,
    *,
    writable: bool = False,
) -> RawStore:
    """Open a file of bare elements, after checking that it has the right size.

    Raises
    ------
    FileFormatError
        If the file's size is not what shape, dtype and offset say.

    Examples
    --------
    >>> open_raw("/dev/null", (3,), "f4")
    Traceback (most recent call last):
    ...
    jask.errors.FileFormatError: The file must be a regular file, not ...
    """
    try:
        stored = checked_dtype(dtype)
        shape = checked_shape(shape, stored.itemsize)
        offset = _checked_offset(offset)
    except (TypeError, ValueError) as error:
        msg = f"{error} The raw file is {absolute(path)}"
        raise type(error)(msg) from error
    file = DiskFile(path, writable=writable)
    right = offset + prod(shape) * stored.itemsize
    if file.size != right:
        file.close()
        msg = (
            f"A raw file of shape {shape}, dtype {stored} and offset {offset} must "
            f"have {right} bytes; it has {file.size}. Correct shape, dtype or offset, "
            f"or get the whole file: {file.path}"
        )
        raise FileFormatError(msg)
    return RawStore(file, shape, stored, offset)


def _checked_offset(offset: Any) -> int:
    if type(offset) is bool or not isinstance(offset, int | np.integer) or offset < 0:
        msg = f"offset must be an int that is not negative; got {offset!r}."
        raise ValueError(msg)
    return int(offset)
