"""Windows that slide along an axis: which elements they see.

Element `j` of an axis lies at the place `j * spread`; the places in between and those
outside the axis hold padding. Tap `t` of window `i` is at the place
`i * stride + t * step - low`.
"""

from dataclasses import dataclass

type Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Reach:
    """What some taps of some windows see of an axis."""

    span: Span
    """The elements."""

    padding: Span
    """Places of padding before the first of them and after the last one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """How a window slides along one axis."""

    size: int
    """Number of its taps."""

    stride: int = 1
    """Places between two windows."""

    low: int = 0
    """Places of padding before the axis (negative: how much of it is left out)."""

    spread: int = 1
    """Places between two elements of the axis."""

    step: int = 1
    """Places between two taps."""

    @property
    def slides(self) -> bool:
        """Whether window and element of the same number keep their distance."""
        return self.stride == self.spread == 1

    def reach(
        self, length: int, windows: Span, taps: Span | None = None
    ) -> Reach | None:
        """Return what these windows see of an axis; None: nothing but padding.

        Examples
        --------
        >>> Window(size=3, low=1).reach(10, (0, 4))
        Reach(span=(0, 5), padding=(1, 0))
        >>> Window(size=3, low=1).reach(10, (4, 6), taps=(0, 1))
        Reach(span=(3, 5), padding=(0, 0))
        """
        (first, after), (tap, end) = windows, taps or (0, self.size)
        start = first * self.stride + tap * self.step - self.low
        last = start + (after - 1 - first) * self.stride + (end - 1 - tap) * self.step
        low = max(0, -(-start // self.spread))
        high = min(length, last // self.spread + 1)
        if low >= high:
            return None
        before, behind = low * self.spread - start, last - (high - 1) * self.spread
        return Reach((low, high), (before, behind))

    def touching(self, count: int, part: Span) -> Span | None:
        """Return which of `count` windows without gaps see some of these elements.

        Examples
        --------
        >>> Window(size=3, stride=2, low=1).touching(5, (4, 5))
        (2, 3)
        >>> Window(size=1, stride=2).touching(5, (1, 2)) is None
        True
        """
        first = max(0, -((self.size - 1 - part[0] - self.low) // self.stride))
        after = min(count, (part[1] - 1 + self.low) // self.stride + 1)
        return (first, after) if first < after else None
