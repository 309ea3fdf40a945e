"""Boxes."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from jask.geometry.box import Box

SPAN = st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda p: (min(p), max(p)))
PAIRS = st.integers(0, 3).flatmap(
    lambda n: st.tuples(*[st.lists(SPAN, min_size=n, max_size=n).map(Box.of)] * 2)
)


def _mask(box: Box) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which elements of a 6 x ... x 6 array lie in a box."""
    mask = np.zeros((6,) * len(box.start), bool)
    mask[box.slices] = True
    return mask


@given(pair=PAIRS)
def test_the_common_region_holds_what_lies_in_both(pair: tuple[Box, Box]) -> None:
    a, b = pair
    np.testing.assert_array_equal(_mask(a & b), _mask(a) & _mask(b))


@given(pair=PAIRS)
def test_the_hull_holds_both_and_no_less(pair: tuple[Box, Box]) -> None:
    a, b = pair
    hull = a | b
    assert a in hull
    assert b in hull
    for d in range(len(hull.start)):
        assert hull.start[d] in {a.start[d], b.start[d]}
        assert hull.stop[d] in {a.stop[d], b.stop[d]}


@given(pair=PAIRS)
def test_a_box_lies_in_another_if_its_common_region_is_itself(
    pair: tuple[Box, Box],
) -> None:
    a, b = pair
    if a in b:
        assert a & b == a


@given(pair=PAIRS)
def test_a_relative_start_finds_the_same_elements(pair: tuple[Box, Box]) -> None:
    outer, inner = pair[0] | pair[1], pair[1]
    x = np.arange(6 ** len(outer.start)).reshape((6,) * len(outer.start))
    start = inner.relative_to(outer)
    moved = Box(start, tuple(s + n for s, n in zip(start, inner.shape, strict=True)))
    np.testing.assert_array_equal(x[outer.slices][moved.slices], x[inner.slices])


def test_size_is_the_number_of_elements() -> None:
    assert Box((1, 2), (4, 7)).size == 15
    assert Box((), ()).size == 1
    assert Box((3,), (3,)).size == 0


def test_the_whole_box_covers_the_shape() -> None:
    assert Box.whole((4, 0, 2)) == Box((0, 0, 0), (4, 0, 2))


def test_a_box_that_ends_before_it_starts_is_an_error() -> None:
    with pytest.raises(ValueError, match="start must not exceed stop"):
        Box((2,), (1,))


def test_a_box_needs_as_many_starts_as_stops() -> None:
    with pytest.raises(ValueError, match="one entry per axis"):
        Box((2,), (3, 4))
