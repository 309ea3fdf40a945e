"""How each peer is told to work: two threads, and where it has one, the budget."""

import os
from pathlib import Path

import numpy as np

BUDGET = int(os.environ.get("BENCH_BUDGET", str(256 * 10**6)))
CHUNK_BYTES = 2**24


class Named:
    """An array with a name, so that dask does not copy it into memory to hash it."""

    def __init__(self, path: Path) -> None:
        self._array = np.load(path, mmap_mode="r")
        self.shape, self.dtype = self._array.shape, self._array.dtype
        self.ndim = self._array.ndim

    def __getitem__(self, where):
        return np.asarray(self._array[where])


def row_chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return whole rows, about 16 MiB of them."""
    width = int(np.prod(shape[1:], dtype=int)) * 4
    return (min(max(CHUNK_BYTES // width, 1), shape[0]), *shape[1:])


def even_chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return `row_chunks` that divide the rows, if any near there do.

    cubed's cumulative sum refuses others.
    """
    most, *rest = row_chunks(shape)
    near = range(most, most // 2, -1)
    return (next((n for n in near if shape[0] % n == 0), most), *rest)


def dask_array(path: Path, chunks: tuple[int, ...] | None = None):
    """Open a `.npy` file as a dask array, on two threads from now on."""
    import dask
    import dask.array as da

    dask.config.set(scheduler="threads", num_workers=2)
    source = Named(path)
    chunks = chunks or row_chunks(source.shape)
    return da.from_array(source, chunks=chunks, name=path.name, asarray=False)


def dask_store(array, out: Path) -> None:
    """Write a dask array into a `.npy` file."""
    import dask.array as da

    target = np.lib.format.open_memmap(out, "w+", array.dtype, array.shape)
    da.store(array, target, lock=False)


def cubed_array(path: Path, out: Path, chunks: tuple[int, ...] | None = None):
    """Open the Zarr copy of a `.npy` file as a cubed array."""
    import cubed
    from inputs import as_zarr

    shape = np.load(path, mmap_mode="r").shape
    spec = cubed.Spec(
        work_dir=str(out.parent / "cubed"),
        allowed_mem=BUDGET,
        reserved_mem=0,
        executor_name="threads",
        executor_options={"max_workers": 2},
    )
    zarr = as_zarr(path, chunks or even_chunks(shape))
    return cubed.from_zarr(str(zarr), spec=spec)


def blosc2_array(path: Path):
    """Open the blosc2 copy of a `.npy` file, on two threads from now on."""
    import blosc2
    from inputs import as_blosc2

    blosc2.set_nthreads(2)
    return blosc2.open(str(as_blosc2(path)))
