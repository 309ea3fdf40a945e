"""Cover several needed boxes of one value by few boxes to compute.

1. Two boxes are joined when their hull costs little more than both. How far apart two
   boxes are may change from tile to tile; only hulls of few shapes come of it, so that
   few kernels do.
2. Many boxes are walked in the order of their starts, each compared with the last few,
   and joined only where that saves something: cutting a part out of a joined box costs
   a kernel more to compile than having the part as it is.
"""

from collections.abc import Iterable, Sequence

from jask.geometry.box import Box

SLACK = 1.25
"""Two boxes are joined when their hull is at most this many times their sum."""

NEAR, SMALL = 2, 512
"""Or this many times, if the hull has at most so many elements."""

MANY = 32
"""Number of boxes above which they are joined only where they overlap."""

OVERLAP = 0.9
"""Two of many boxes are joined when their hull is at most this many times their sum."""

WINDOW = 4
"""With how many boxes each of many is compared."""


def cover(boxes: Iterable[Box]) -> list[Box]:
    """Return boxes that together hold all of these, joined where that costs little.

    Examples
    --------
    >>> cover([Box((0,), (1000,)), Box((1,), (1001,))])
    [Box(start=(0,), stop=(1001,))]
    >>> len(cover([Box((0,), (1000,)), Box((9000,), (9999,))]))
    2
    """
    distinct = list(dict.fromkeys(boxes))
    if len(distinct) == 1:
        return distinct
    if len(distinct) > MANY:
        return _cover_many(distinct)
    found: list[Box] = []
    for box in distinct:
        grown = box
        rest: list[Box] = []
        for other in found:
            if _joined(grown, other):
                grown |= other
            else:
                rest.append(other)
        found = [*rest, grown]
    return found


def _joined(a: Box, b: Box) -> bool:
    """Return whether one box in the place of two costs little."""
    hull, total = (a | b).size, a.size + b.size
    return hull <= max(SLACK * total, min(SMALL, NEAR * total))


def _cover_many(boxes: Sequence[Box]) -> list[Box]:
    found: list[Box] = []
    for box in sorted(boxes, key=lambda b: b.start):
        for i in range(len(found) - 1, max(len(found) - WINDOW, 0) - 1, -1):
            hull = found[i] | box
            if hull.size <= OVERLAP * (found[i].size + box.size):
                found[i] = hull
                break
        else:
            found.append(box)
    return found
