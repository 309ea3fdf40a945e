"""The `.npy` format: a magic string, a version, a header, then the elements.

1. Reading: magic and version are checked, a header of limited length is parsed as a
   Python literal (no code is evaluated, nothing is unpickled), and every field of it
   is checked; then the size of the file, before anything is allocated.
2. Writing: the header is byte for byte what NumPy writes.
3. Types of `ml_dtypes` have no name in the format: NumPy writes bfloat16 as `V2`.
   jask writes the same header and adds the name in a comment within the padding,
   `{'descr': '<V2', ...}  # bfloat16`, which NumPy skips. A file without the
   comment needs `dtype=`.

Structured, string, date and object arrays are refused.
"""

import ast
import io
import os
import re
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from jask.errors import FileFormatError
from jask.stores._dtypes import (
    SMALL_TYPES,
    checked_dtype,
    checked_shape,
    is_computable,
    is_small,
)
from jask.stores._file import DiskFile, read_at
from jask.stores.raw import RawStore

__all__ = ["MAGIC", "NpyHeader", "npy_header", "open_npy", "parse_npy_header"]

MAGIC = b"\x93NUMPY"
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_LONGEST = 10_000
_FIELDS = {"descr", "fortran_order", "shape"}
_COMMENT = re.compile(r"\}\s*#\s*(\w+)\s*$")
_NAMELESS = re.compile(
    r"([<>|=]?)(?:V([1-9]\d{0,3})|f(1))"
)  # how NumPy writes small types
_OLD_LONG = re.compile(r"(?<=\d)L\b")  # Python 2 wrote 10L


@dataclass(frozen=True, slots=True)
class NpyHeader:
    """What the header of a `.npy` file says."""

    dtype: np.dtype[Any]
    """Element type in the file, in either byte order."""

    fortran: bool
    """Whether the first axis varies fastest."""

    shape: tuple[int, ...]
    """Number of elements along each axis."""

    offset: int
    """Where the first element starts."""

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return prod(self.shape) * self.dtype.itemsize


def npy_header(shape: tuple[int, ...], dtype: np.dtype[Any]) -> bytes:
    r"""Return the start of a `.npy` file in row-major order.

    Examples
    --------
    >>> header = npy_header((3,), np.dtype("f4"))
    >>> len(header), header[:6]
    (128, b'\x93NUMPY')
    """
    descr = f"<V{dtype.itemsize}" if is_small(dtype) else dtype.str
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    header = stream.getvalue()
    if not is_small(dtype):
        return header
    named = header.rstrip(b" \n") + f"  # {dtype.name}".encode()
    if len(named) >= len(header):
        msg = f"shape must not have so many axes; got {shape}."
        raise ValueError(msg)
    return named.ljust(len(header) - 1) + b"\n"


def open_npy(
    path: str | os.PathLike[str], dtype: Any = None, *, writable: bool = False
) -> tuple[RawStore, bool]:
    """Open a `.npy` file as a row-major store.

    Parameters
    ----------
    path
        The file.
    dtype
        The element type, needed only for types of `ml_dtypes` that NumPy wrote.
    writable
        Whether boxes may be written.

    Returns
    -------
    tuple
        The store, and whether it is the transpose of what the file means: a file in
        Fortran order is a row-major store of the reversed shape.

    Raises
    ------
    FileFormatError
        If the file is not a sound `.npy` file of numbers.
    """
    file = DiskFile(path, writable=writable)
    try:
        header = parse_npy_header(file, dtype)
    except BaseException:
        file.close()
        raise
    fortran = header.fortran and len(header.shape) > 1
    shape = header.shape[::-1] if fortran else header.shape
    return RawStore(file, shape, header.dtype, header.offset), fortran


def parse_npy_header(file: DiskFile, dtype: Any = None) -> NpyHeader:
    """Return what the header of an open file says, after checking all of it."""
    text, offset = _header_text(file)
    fields = _literal(text, file)
    fortran = fields["fortran_order"]
    if not isinstance(fortran, bool):
        raise _bad(file, "fortran_order", "True or False", repr(fortran))
    found = _dtype(fields["descr"], text, dtype, file)
    header = NpyHeader(found, fortran, _shape(fields["shape"], found, file), offset)
    if file.size != offset + header.nbytes:
        _raise_size(file, header)
    return header


def _bad(file: DiskFile, field: str, right: str, got: str) -> FileFormatError:
    msg = f"The {field} of a .npy file must be {right}; got {got}: {file.path}"
    return FileFormatError(msg)


def _header_text(file: DiskFile) -> tuple[str, int]:
    """Return the header and where it ends."""
    start = _bytes(file, 0, 8)
    if not start.startswith(MAGIC):
        raise _bad(file, "magic string", repr(MAGIC), repr(start[:6]))
    width = _LENGTH_BYTES.get((start[6], start[7]))
    if width is None:
        got = f"{start[6]}.{start[7]}"
        raise _bad(file, "version", "1.0, 2.0 or 3.0", got)
    length = int.from_bytes(_bytes(file, 8, width), "little")
    if length > _LONGEST:
        right = f"at most {_LONGEST} bytes"
        raise _bad(file, "header length", right, f"{length}")
    raw = _bytes(file, 8 + width, length)
    try:
        text = raw.decode("utf8" if start[6] == 3 else "latin1")
    except UnicodeDecodeError as error:
        raise _bad(file, "header", "UTF-8 text", str(error)) from error
    return text, 8 + width + length


def _bytes(file: DiskFile, offset: int, count: int) -> bytes:
    if file.size < offset + count:
        msg = (
            f"A .npy file must have a header; it ends after {file.size} bytes, within "
            f"the header. It is truncated: {file.path}"
        )
        raise FileFormatError(msg)
    buffer = bytearray(count)
    with file.descriptor() as fd:
        read_at(fd, memoryview(buffer), offset, file.path)
    return bytes(buffer)


def _literal(text: str, file: DiskFile) -> dict[str, Any]:
    right = f"a dict of {', '.join(sorted(_FIELDS))}"
    try:
        fields = ast.literal_eval(_OLD_LONG.sub("", text).strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise _bad(file, "header", right, repr(text[:200])) from error
    if not isinstance(fields, dict) or set(fields) != _FIELDS:
        raise _bad(file, "header", right, repr(text[:200]))
    return fields


def _shape(shape: Any, dtype: np.dtype[Any], file: DiskFile) -> tuple[int, ...]:
    sound = isinstance(shape, tuple) and all(type(n) is int for n in shape)
    if not sound:
        raise _bad(file, "shape", "a tuple of ints", repr(shape))
    try:
        return checked_shape(shape, dtype.itemsize)
    except ValueError as error:
        raise _bad(file, "shape", "possible", f"{shape} ({error})") from error


def _dtype(descr: Any, text: str, wanted: Any, file: DiskFile) -> np.dtype[Any]:
    """Return the element type from the field, the comment and the `dtype` argument."""
    given = None if wanted is None else checked_dtype(wanted).newbyteorder("=")
    match = _NAMELESS.fullmatch(descr) if _is_text(descr) else None
    if match is not None:
        found = _small_type(descr, int(match[2] or match[3]), text, given, file)
    else:
        found = _plain_dtype(descr, file)
    if given is not None and given != found.newbyteorder("="):
        right = f"the dtype that was asked for, {given}"
        raise _bad(file, "descr", right, f"{found} ({descr!r}); leave out dtype=")
    return found


def _is_text(descr: Any) -> bool:
    return isinstance(descr, str) and len(descr) < 20


def _plain_dtype(descr: Any, file: DiskFile) -> np.dtype[Any]:
    right = "bool, integer, float or complex, as in JAX"
    if not _is_text(descr):
        got = f"{str(descr)[:200]!r}; save the fields as arrays of their own"
        raise _bad(file, "descr", right, got)
    kinds = {"O": "Python objects", "S": "bytes", "U": "strings", "M": "dates"}
    try:
        found: np.dtype[Any] = np.dtype(descr)
    except (TypeError, ValueError, SyntaxError) as error:
        raise _bad(file, "descr", right, repr(descr)) from error
    if not is_computable(found):
        what = {**kinds, "m": "time spans"}.get(found.kind, str(found))
        got = f"{descr!r} ({what}); convert with NumPy and save again"
        raise _bad(file, "descr", right, got)
    return found


def _small_type(
    descr: str, size: int, text: str, given: np.dtype[Any] | None, file: DiskFile
) -> np.dtype[Any]:
    """Return the type of elements that NumPy calls void."""
    comment = _COMMENT.search(text)
    named = SMALL_TYPES.get(comment[1]) if comment is not None else None
    found = given if named is None else named
    if found is None:
        right = "a type with a name"
        got = f"{descr!r}; say what it is, as in dtype='bfloat16'"
        raise _bad(file, "descr", right, got)
    if found.itemsize != size or not is_small(found):
        right = f"one of {found.itemsize} bytes for dtype {found}"
        raise _bad(file, "descr", right, repr(descr))
    return found.newbyteorder(">") if descr.startswith(">") else found


def _raise_size(file: DiskFile, header: NpyHeader) -> None:
    right = header.offset + header.nbytes
    if file.size < right:
        what = "It is truncated, or its header is wrong"
    else:
        what = (
            "It has more than one array in it, or its header is wrong; a part of it "
            "opens with dtype=, shape= and offset= as a raw file of the right size"
        )
    msg = (
        f"A .npy file of shape {header.shape} and dtype {header.dtype} must have "
        f"{right} bytes; it has {file.size}. {what}: {file.path}"
    )
    raise FileFormatError(msg)
