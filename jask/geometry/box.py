"""Boxes: rectangular regions of an array, as half-open intervals per axis."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from operator import gt, le, sub


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangular region of an array.

    Examples
    --------
    >>> Box((0, 4), (2, 8)).shape
    (2, 4)
    >>> Box((0, 4), (2, 8)) & Box((1, 0), (9, 5))
    Box(start=(1, 4), stop=(2, 5))
    >>> Box((0, 4), (2, 8)) | Box((1, 0), (9, 5))
    Box(start=(0, 0), stop=(9, 8))
    """

    start: tuple[int, ...]
    """First coordinate of each axis."""

    stop: tuple[int, ...]
    """One past the last coordinate of each axis."""

    def __post_init__(self) -> None:
        if len(self.start) != len(self.stop):
            msg = f"start and stop must have one entry per axis; got {self}"
            raise ValueError(msg)
        if any(map(gt, self.start, self.stop)):
            msg = f"start must not exceed stop on any axis; got {self}"
            raise ValueError(msg)

    @classmethod
    def whole(cls, shape: tuple[int, ...]) -> "Box":
        """Return the box that covers an array of this shape."""
        return cls((0,) * len(shape), tuple(shape))

    @classmethod
    def of(cls, intervals: Iterable[tuple[int, int]]) -> "Box":
        """Return the box with these (start, stop) intervals, one per axis."""
        pairs = tuple(intervals)
        return cls(tuple(p[0] for p in pairs), tuple(p[1] for p in pairs))

    @property
    def intervals(self) -> tuple[tuple[int, int], ...]:
        """The (start, stop) pair of each axis."""
        return tuple(zip(self.start, self.stop, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis."""
        return tuple(map(sub, self.stop, self.start))

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The index that cuts this box out of an array."""
        return tuple(map(slice, self.start, self.stop))

    def __and__(self, other: "Box") -> "Box":
        """Return the common region, empty on an axis where the boxes do not meet."""
        start = tuple(map(max, self.start, other.start))
        stop = tuple(map(min, self.stop, other.stop))
        return Box(start, tuple(map(max, start, stop)))

    def __or__(self, other: "Box") -> "Box":
        """Return the smallest box that holds both."""
        return Box(
            tuple(map(min, self.start, other.start)),
            tuple(map(max, self.stop, other.stop)),
        )

    def __contains__(self, other: "Box") -> bool:
        """Return whether `other` lies inside this box."""
        below, above = (*self.start, *other.stop), (*other.start, *self.stop)
        return len(self.start) == len(other.start) and all(map(le, below, above))

    def relative_to(self, outer: "Box") -> tuple[int, ...]:
        """Return where this box starts, counted from the start of `outer`."""
        return tuple(a - b for a, b in zip(self.start, outer.start, strict=True))
