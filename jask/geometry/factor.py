"""Row-major reshapes: which axes become which, and where a box lies in memory order.

1. `factor` splits a reshape into independent groups of axes with equal products, so
   that (N, 8, 8) -> (N, 64) is N -> N and (8, 8) -> 64. Axes of length 1 carry no
   information and belong to no group.
2. Within a group, `enclosing` grows a box until it is one contiguous run of elements.
3. `covering` is the way back: the smallest contiguous box that holds a run;
   `over_edge` gives two boxes where that would be large.
"""

from dataclasses import dataclass
from math import prod

from jask.geometry.box import Box


@dataclass(frozen=True, slots=True)
class Group:
    """Axes before and after a reshape that hold the same elements in the same order."""

    before: tuple[int, ...]
    """Axes of the operand, ascending, none of length 1."""

    after: tuple[int, ...]
    """Axes of the result, ascending, none of length 1."""


def factor(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[Group, ...]:
    """Split a reshape between two shapes of equal, positive size into groups.

    Examples
    --------
    >>> factor((5, 8, 1, 8), (5, 64))
    (Group(before=(0,), after=(0,)), Group(before=(1, 3), after=(1,)))
    """
    left = [d for d, n in enumerate(before) if n != 1]
    right = [d for d, n in enumerate(after) if n != 1]
    groups: list[Group] = []
    while left and right:
        taken, given = [left.pop(0)], [right.pop(0)]
        p, q = before[taken[0]], after[given[0]]
        while p != q:
            if p < q:
                taken.append(left.pop(0))
                p *= before[taken[-1]]
            else:
                given.append(right.pop(0))
                q *= after[given[-1]]
        groups.append(Group(tuple(taken), tuple(given)))
    return tuple(groups)


def enclosing(box: Box, shape: tuple[int, ...]) -> Box:
    """Return the smallest box around a non-empty `box` that is contiguous in memory.

    Examples
    --------
    >>> enclosing(Box((2, 1, 3), (3, 4, 5)), (4, 6, 8))
    Box(start=(2, 1, 0), stop=(3, 4, 8))
    """
    lengths = box.shape
    lead = next((d for d, n in enumerate(lengths) if n != 1), len(lengths))
    rest = range(lead + 1, len(shape))
    return Box(
        (*box.start[: lead + 1], *(0 for _ in rest)),
        (*box.stop[: lead + 1], *(shape[d] for d in rest)),
    )


def position(start: tuple[int, ...], shape: tuple[int, ...]) -> int:
    """Return the row-major number of an element.

    Examples
    --------
    >>> position((1, 2), (4, 10))
    12
    """
    flat = 0
    for a, n in zip(start, shape, strict=True):
        flat = flat * n + a
    return flat


def covering(first: int, last: int, shape: tuple[int, ...]) -> Box:
    """Return the smallest contiguous box that holds elements `first` to `last`.

    Examples
    --------
    >>> covering(12, 14, (4, 10)), covering(12, 31, (4, 10))
    (Box(start=(1, 2), stop=(2, 5)), Box(start=(1, 0), stop=(4, 10)))
    """
    spans: list[tuple[int, int]] = []
    for d in range(len(shape)):
        inner = prod(shape[d + 1 :])
        a, b = first // inner, last // inner
        spans.append((a, b + 1))
        if a != b:
            spans.extend((0, n) for n in shape[d + 1 :])
            break
        first, last = first - a * inner, last - b * inner
    return Box.of(spans)


def over_edge(first: int, size: int, shape: tuple[int, ...]) -> tuple[Box, Box] | None:
    """Return two boxes that hold a run over the edge of two larger parts, if it is so.

    The smallest box around such a run is both parts, however short the run. The boxes
    end and start at the edge, and their shapes depend on the run's size only.

    Examples
    --------
    >>> over_edge(18, 4, (3, 20))
    (Box(start=(0, 16), stop=(1, 20)), Box(start=(1, 0), stop=(2, 4)))
    >>> over_edge(12, 4, (3, 20)), over_edge(5, 30, (3, 20))
    (None, None)
    """
    for d in range(len(shape)):
        inner = prod(shape[d + 1 :])
        a, b = first // inner, (first + size - 1) // inner
        if a != b:
            edge = b * inner
            if size >= inner:
                return None
            left = covering(edge - size, edge - 1, shape)
            return left, covering(edge, edge + size - 1, shape)
    return None
