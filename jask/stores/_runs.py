"""Where the bytes of a box lie in a row-major file.

A box is a number of equally long runs of bytes. Their starts form a small grid: one
axis per array axis that is not covered whole, merged where two follow without a gap.
Pure arithmetic.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from jask.geometry.box import Box


@dataclass(frozen=True, slots=True)
class Runs:
    """The byte ranges of a box that is not empty.

    Examples
    --------
    >>> runs_of((4, 10), 8, Box((1, 2), (3, 5)))
    Runs(base=96, length=24, grid=((2, 80),))
    >>> runs_of((4, 10), 8, Box((1, 0), (3, 10)))
    Runs(base=80, length=160, grid=())
    """

    base: int
    """First byte."""

    length: int
    """Bytes in each run."""

    grid: tuple[tuple[int, int], ...]
    """(number, distance in bytes) of each axis of the grid of runs, outermost first."""

    @property
    def count(self) -> int:
        """Number of runs."""
        return prod(number for number, _ in self.grid)

    @property
    def nbytes(self) -> int:
        """Bytes in the box."""
        return self.count * self.length

    @property
    def hull(self) -> int:
        """Bytes from the first byte of the box to the last."""
        return span(self.grid, self.length)


def span(grid: tuple[tuple[int, int], ...], length: int) -> int:
    """Return the bytes from the start of the first run to the end of the last.

    Examples
    --------
    >>> span(((2, 80),), 24)
    104
    """
    return length + sum((number - 1) * distance for number, distance in grid)


def runs_of(shape: tuple[int, ...], itemsize: int, box: Box, base: int = 0) -> Runs:
    """Return the byte ranges of a box of an array of this shape, from `base` on."""
    length = distance = itemsize
    grid: list[tuple[int, int]] = []
    for size, start, stop in zip(
        reversed(shape), reversed(box.start), reversed(box.stop), strict=True
    ):
        number = stop - start
        base += start * distance
        if number == 1:
            pass
        elif not grid and distance == length:
            length *= number
        elif grid and grid[-1][0] * grid[-1][1] == distance:
            grid[-1] = (grid[-1][0] * number, grid[-1][1])
        else:
            grid.append((number, distance))
        distance *= size
    return Runs(base, length, tuple(reversed(grid)))


def offsets(grid: tuple[tuple[int, int], ...], base: int) -> list[int]:
    """Return where the cells of a grid start, in row-major order.

    Examples
    --------
    >>> offsets(((2, 100), (3, 10)), 5)
    [5, 15, 25, 105, 115, 125]
    """
    starts = np.array([base], np.int64)
    for number, distance in grid:
        steps = np.arange(number, dtype=np.int64) * distance
        starts = np.add.outer(starts, steps).reshape(-1)
    found: list[int] = starts.tolist()
    return found


def pieces(shape: tuple[int, ...], most: int) -> Iterator[Box]:
    """Cut an array into boxes of at most `most` elements, in row-major order.

    Examples
    --------
    >>> [piece.intervals for piece in pieces((2, 5), 3)]
    [((0, 1), (0, 3)), ((0, 1), (3, 5)), ((1, 2), (0, 3)), ((1, 2), (3, 5))]
    """
    axis = next((k for k, n in enumerate(shape) if n > 1), None)
    if prod(shape) <= most or axis is None:
        yield Box.whole(shape)
        return
    inner = prod(shape[axis + 1 :])
    step = max(1, most // inner)
    for start in range(0, shape[axis], step):
        stop = min(start + step, shape[axis])
        for sub in pieces((*shape[:axis], stop - start, *shape[axis + 1 :]), most):
            low, high = list(sub.start), list(sub.stop)
            low[axis] += start
            high[axis] += start
            yield Box(tuple(low), tuple(high))
