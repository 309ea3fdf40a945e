"""Cover several demanded boxes of one value by few boxes to compute."""

from collections.abc import Iterable

from jask.geometry.box import Box

SLACK = 1.25
"""Two boxes are joined when their hull is at most this many times their sum."""

ALWAYS = 512
"""Boxes whose hull has at most this many elements are always joined."""


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
    found: list[Box] = []
    for box in distinct:
        grown = box
        rest: list[Box] = []
        for other in found:
            hull = grown | other
            if hull.size <= max(SLACK * (grown.size + other.size), ALWAYS):
                grown = hull
            else:
                rest.append(other)
        found = [*rest, grown]
    return found
