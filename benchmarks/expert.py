"""What the experts share: two threads that walk a `.npy` file in cache-sized blocks.

1. Block i belongs to thread i mod 2; a thread reads it with `preadv` into one
   buffer of its own, so the data are still in cache when it computes.
2. NumPy releases the GIL in its loops and in BLAS (held to one thread here).
3. Results are written with `pwrite` into a new file of known size.
"""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

THREADS = 2
BLOCK_BYTES = 2**21


class NpyIn:
    """The data of a `.npy` file in C order, read by `preadv`."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as f:
            version = np.lib.format.read_magic(f)
            assert version == (1, 0)
            self.shape, _, self.dtype = np.lib.format.read_array_header_1_0(f)
            self.offset = f.tell()
        self.fd = os.open(path, os.O_RDONLY)

    def read(self, into: np.ndarray, at: int) -> None:
        """Fill a contiguous buffer with the elements from number `at` on."""
        view = memoryview(into).cast("B")
        start = self.offset + at * self.dtype.itemsize
        done = os.preadv(self.fd, [view], start)
        while done < view.nbytes:
            done += os.preadv(self.fd, [view[done:]], start + done)

    def close(self) -> None:
        os.close(self.fd)


class NpyOut:
    """A new `.npy` file in C order, written by `pwrite`."""

    def __init__(self, path: Path, shape: tuple[int, ...], dtype=np.float32) -> None:
        self.dtype = np.dtype(dtype)
        with path.open("xb") as f:
            np.lib.format.write_array_header_1_0(
                f,
                {
                    "shape": shape,
                    "fortran_order": False,
                    "descr": np.lib.format.dtype_to_descr(self.dtype),
                },
            )
            self.offset = f.tell()
        self.fd = os.open(path, os.O_RDWR)
        os.ftruncate(self.fd, self.offset + int(np.prod(shape)) * self.dtype.itemsize)

    def write(self, block: np.ndarray, at: int) -> None:
        """Write a contiguous block from element number `at` on."""
        view = memoryview(block).cast("B")
        start = self.offset + at * self.dtype.itemsize
        done = os.pwrite(self.fd, view, start)
        while done < view.nbytes:
            done += os.pwrite(self.fd, view[done:], start + done)

    def close(self) -> None:
        os.close(self.fd)


def in_threads(work: Callable[[int], object]) -> list:
    """Run `work(thread number)` on every thread; return what each returned."""
    results: list = [None] * THREADS
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            results[number] = work(number)
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def row_blocks(
    source: NpyIn, thread: int, block_bytes: int = BLOCK_BYTES
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (first row, block) for the blocks of one thread; the buffer is reused."""
    rows, *rest = source.shape
    width = int(np.prod(rest, dtype=int))
    step = max(block_bytes // (width * source.dtype.itemsize), 1)
    buffer = np.empty((step, *rest), source.dtype)
    for start in range(thread * step, rows, THREADS * step):
        block = buffer[: min(step, rows - start)]
        source.read(block, start * width)
        yield start, block
