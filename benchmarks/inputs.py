"""The input files of the benchmarks, made once per folder and size.

Every input is standard normal float32 in a `.npy` file, or for a name that starts with
`label` zeros and ones. The peers get the same values in the format that suits them
(cubed: uncompressed Zarr; blosc2: its own frames), converted before anything is timed.
"""

from pathlib import Path

import numpy as np

BLOCK_BYTES = 2**24


def make(folder: Path, name: str, shape: tuple[int, ...]) -> Path:
    """Return the `.npy` file of an input; write it if it is not there."""
    sizes = "x".join(map(str, shape))
    path = folder / f"{name}-{sizes}.npy"
    if path.exists():
        return path
    part = path.with_suffix(".part")
    seed = int.from_bytes(name.encode()[:6])
    random = np.random.default_rng([seed, *shape])
    array = np.lib.format.open_memmap(part, "w+", np.float32, shape)
    flat = array.reshape(-1)
    step = BLOCK_BYTES // 4
    for start in range(0, flat.size, step):
        block = flat[start : start + step]
        random.standard_normal(out=block, dtype=np.float32)
        if name.startswith("label"):
            block[:] = block > 0
    array.flush()
    part.replace(path)
    return path


def as_zarr(path: Path, chunks: tuple[int, ...]) -> Path:
    """Return a Zarr copy of a `.npy` file."""
    import zarr

    sizes = "x".join(map(str, chunks))
    target = path.with_name(f"{path.stem}-{sizes}.zarr")
    if not target.exists():
        source = np.load(path, mmap_mode="r")
        part = target.with_suffix(".part")
        copy = zarr.create_array(
            part,
            shape=source.shape,
            chunks=chunks,
            dtype=source.dtype,
            compressors=None,
        )
        for start in range(0, source.shape[0], chunks[0]):
            copy[start : start + chunks[0]] = source[start : start + chunks[0]]
        part.replace(target)
    return target


def as_blosc2(path: Path) -> Path:
    """Return a blosc2 copy of a `.npy` file, not compressed."""
    import blosc2

    target = path.with_suffix(".b2nd")
    if not target.exists():
        part = path.with_suffix(".part.b2nd")
        source = np.load(path, mmap_mode="r")
        blosc2.asarray(source, urlpath=str(part), mode="w", cparams={"clevel": 0})
        part.replace(target)
    return target
