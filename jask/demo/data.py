"""Where the demo's images come from.

1. scikit-learn's handwritten digits are split into training and held-out originals.
2. The training originals are grown, block by block, into a file of the wanted size:
   each row is one of them, perhaps shifted by a pixel, with noise.
3. Or the user's own features and labels are opened, checked, and every tenth row is
   held out.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import jask
from jask.demo.extras import extra, progress_bar

type Array = np.ndarray[Any, np.dtype[Any]]
type OnDisk = Any
"""A DiskArray, whose operators are attached when jask is imported."""

SIDE = 8
"""Pixels along each side of a digit."""
HELD_OUT = 360
"""Originals that no training row is made from: a fifth."""
SHIFTED = 0.1
"""Probability of a shift by a pixel, in each of the four directions."""
NOISE = 1.0
"""Standard deviation of the noise; pixels are 0 to 16."""
GROWN_ROWS = 2**15
"""Rows that are made at a time."""
EVERY = 10
"""One row in so many of a user's file is held out."""


class DemoError(ValueError):
    """Input that the demo cannot use, with what would be right."""


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to train on and rows to test on; the last axis of `x` is the features."""

    x: OnDisk
    """Training features."""
    labels: OnDisk
    """Training labels, one integer a row."""
    held_x: OnDisk
    """Held-out features."""
    held_labels: OnDisk
    """Held-out labels."""
    classes: int
    """Number of classes."""


def grown_digits(folder: Path, size: int, seed: int) -> Split:
    """Write digits grown to about `size` bytes of float32 features into a folder."""
    random = np.random.default_rng(seed)
    images, labels = _originals()
    order = random.permutation(len(images))
    held, training = order[:HELD_OUT], order[HELD_OUT:]
    rows = size // (images.shape[1] * images.itemsize)
    if rows < GROWN_ROWS:
        least = GROWN_ROWS * images.shape[1] * images.itemsize
        msg = f"--size must be at least {least} bytes; got {size}."
        raise DemoError(msg)
    _write_grown(folder, images[training], labels[training], rows, random)
    np.save(folder / "held_x.npy", images[held])
    np.save(folder / "held_labels.npy", labels[held])
    return Split(
        x=jask.open(folder / "x.npy"),
        labels=jask.open(folder / "labels.npy"),
        held_x=jask.open(folder / "held_x.npy"),
        held_labels=jask.open(folder / "held_labels.npy"),
        classes=int(labels.max()) + 1,
    )


def _originals() -> tuple[Array, Array]:
    # Imported here: it takes a second, which `python -m jask info` need not wait.
    load_digits = extra("sklearn.datasets").load_digits

    images, labels = load_digits(return_X_y=True)
    return images.astype(np.float32), labels.astype(np.int32)


def _write_grown(
    folder: Path,
    images: Array,
    labels: Array,
    rows: int,
    random: np.random.Generator,
) -> None:
    """Write `rows` variations of the images, and their labels, block by block."""
    with (
        _new_npy(folder / "x.npy", (rows, images.shape[1]), images.dtype) as x_file,
        _new_npy(folder / "labels.npy", (rows,), labels.dtype) as label_file,
        progress_bar(rows, "growing digits", "row") as bar,
    ):
        for start in range(0, rows, GROWN_ROWS):
            chosen = random.integers(len(images), size=min(GROWN_ROWS, rows - start))
            x_file.write(memoryview(_varied(images[chosen], random)).cast("B"))
            label_file.write(memoryview(labels[chosen]).cast("B"))
            bar.update(len(chosen))


def _new_npy(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> BinaryIO:
    file = path.open("wb")
    description = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(
        file, {"descr": description, "fortran_order": False, "shape": shape}
    )
    return file


def _varied(images: Array, random: np.random.Generator) -> Array:
    """Return each image shifted by at most a pixel along each axis, with noise."""
    n = len(images)
    wide = np.pad(images.reshape(n, SIDE, SIDE), ((0, 0), (1, 1), (1, 1)))
    down, right = random.choice(3, (2, n), p=[SHIFTED, 1 - 2 * SHIFTED, SHIFTED])
    varied = random.standard_normal((n, SIDE, SIDE), np.float32) * np.float32(NOISE)
    for i in range(3):
        for j in range(3):
            these = (down == i) & (right == j)
            varied[these] += wide[these, i : i + SIDE, j : j + SIDE]
    return varied.reshape(n, SIDE * SIDE)


def own_data(data: Path, labels: Path) -> Split:
    """Open a user's features and labels and hold every tenth row out."""
    x, y = jask.open(data), jask.open(labels)
    _check(data, x, labels, y)
    groups = x.shape[0] // EVERY
    x_groups = x[: groups * EVERY].reshape((groups, EVERY, x.shape[1]))
    y_groups = y[: groups * EVERY].reshape((groups, EVERY))
    low, high = jask.materialize(y.min(), y.max())
    if int(low) < 0:
        msg = f"{labels}: labels must be 0, 1, 2, ...; got {int(low)}."
        raise DemoError(msg)
    return Split(
        x_groups[:, 1:].astype(np.float32),
        y_groups[:, 1:],
        x_groups[:, 0].astype(np.float32),
        y_groups[:, 0],
        int(high) + 1,
    )


def _check(data: Path, x: OnDisk, labels: Path, y: OnDisk) -> None:
    if x.ndim != 2 or x.dtype.kind not in "fiu":
        msg = (
            f"{data}: the data must be real numbers of shape (rows, features); got "
            f"{x.dtype} of shape {x.shape}."
        )
        raise DemoError(msg)
    if y.shape != x.shape[:1] or y.dtype.kind not in "iu":
        msg = (
            f"{labels}: the labels must be integers of shape ({x.shape[0]},), one for "
            f"each row of {data}; got {y.dtype} of shape {y.shape}."
        )
        raise DemoError(msg)
    if x.shape[0] < 2 * EVERY:
        msg = f"{data}: at least {2 * EVERY} rows are needed; got {x.shape}."
        raise DemoError(msg)
