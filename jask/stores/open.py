"""Opening a file for reading: `.npy` by its magic string, anything else as raw bytes.

A file is raw if `shape` is given, whatever its name.
"""

import os
from dataclasses import dataclass
from typing import Any, Literal

from jask.errors import FileFormatError
from jask.stores._file import DiskFile, read_at
from jask.stores.npy import MAGIC, open_npy
from jask.stores.raw import RawStore, open_raw

__all__ = ["Opened", "open_store"]


@dataclass(frozen=True, slots=True)
class Opened:
    """A store, and how the file's array follows from it."""

    store: RawStore
    """The bytes, in row-major order."""

    fortran: bool
    """Whether the array is the transpose of the store (a file in Fortran order)."""


def open_store(
    path: str | os.PathLike[str],
    *,
    dtype: Any = None,
    shape: tuple[int, ...] | None = None,
    offset: int = 0,
    mode: Literal["r", "r+"] = "r",
) -> Opened:
    """Open a file as a store.

    Parameters
    ----------
    path
        The file.
    dtype
        Element type; needed for raw files and for small types that NumPy wrote.
    shape
        Shape of a raw file.
    offset
        Where the elements of a raw file start, in bytes.
    mode
        `"r"`, or `"r+"` if boxes will be written.

    Raises
    ------
    FileFormatError
        If the file is not what it claims to be or what the arguments say.
    FileNotFoundError, IsADirectoryError, PermissionError
        If there is no file that can be read.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.NamedTemporaryFile() as named:
    ...     np.save(named, np.zeros((2, 3), order="F"))
    ...     named.flush()
    ...     opened = open_store(named.name)
    ...     opened.store.shape, opened.fortran
    ((3, 2), True)
    """
    if mode not in {"r", "r+"}:
        msg = f"mode must be 'r' or 'r+'; got {mode!r}."
        raise ValueError(msg)
    writable = mode == "r+"
    if shape is not None:
        store = open_raw(path, shape, dtype, offset, writable=writable)
        return Opened(store, fortran=False)
    if offset != 0:
        msg = f"offset must come with dtype and shape, for a raw file; got {offset!r}."
        raise ValueError(msg)
    _require_npy(path)
    store, fortran = open_npy(path, dtype, writable=writable)
    return Opened(store, fortran=fortran)


def _require_npy(path: str | os.PathLike[str]) -> None:
    file = DiskFile(path)
    try:
        start = bytearray(min(len(MAGIC), file.size))
        with file.descriptor() as fd:
            read_at(fd, memoryview(start), 0, file.path)
    finally:
        file.close()
    if not start:
        msg = f"The file must not be empty: {file.path}"
        raise FileFormatError(msg)
    if not MAGIC.startswith(bytes(start)):
        msg = (
            f"A file that is opened without shape= must be a .npy file and begin with "
            f"{MAGIC!r}; it begins with {bytes(start)!r}. {_remedy(bytes(start))}: "
            f"{file.path}"
        )
        raise FileFormatError(msg)


_REMEDIES = {
    b"PK": "Of a .npz file, save the array that is wanted: "
    'numpy.save("x.npy", numpy.load(path)["x"]); or unzip it, to one .npy file for '
    "each array",
    b"\x89HDF": "Of an HDF5 file, save the array that is wanted with numpy.save, or "
    "give dtype=, shape= and offset= where it lies in one piece",
}
"""What to do with files of other formats, by how these begin."""


def _remedy(start: bytes) -> str:
    """Return what to do with a file that does not begin as a `.npy` file does."""
    for magic, remedy in _REMEDIES.items():
        if start.startswith(magic):
            return remedy
    return "Give dtype= and shape= to open a raw file"
