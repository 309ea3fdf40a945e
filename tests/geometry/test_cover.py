"""Covers: every demanded box lies in one, few shapes, few boxes."""

from itertools import pairwise

from hypothesis import given, strategies as st

from jask.geometry.box import Box
from jask.geometry.cover import MANY, cover

SPANS = st.tuples(st.integers(0, 40), st.integers(1, 9)).map(
    lambda p: (p[0], p[0] + p[1])
)
BOXES = st.lists(st.tuples(SPANS, SPANS).map(Box.of), min_size=1, max_size=2 * MANY)


@given(BOXES)
def test_every_box_lies_in_a_box_of_the_cover(boxes: list[Box]) -> None:
    found = cover(boxes)
    assert all(any(box in other for other in found) for box in boxes)
    assert len(found) <= len(set(boxes))


def test_overlapping_boxes_are_joined_and_distant_ones_are_not() -> None:
    assert cover([Box((0,), (9,)), Box((2,), (11,))]) == [Box((0,), (11,))]
    apart = [Box((0,), (9,)), Box((90,), (99,))]
    assert cover(apart) == apart


def test_boxes_that_move_apart_have_hulls_of_few_shapes() -> None:
    shapes = {
        tuple(sorted(b.shape for b in cover([Box((k,), (k + 4,)), Box((0,), (4,))])))
        for k in range(200)
    }
    assert len(shapes) <= 14  # two fours, or one of the lengths from 4 to 16


def test_many_boxes_side_by_side_are_left_apart() -> None:
    rows = [Box((k, 0), (k + 1, 8)) for k in range(MANY + 1)]
    assert sorted(cover(rows), key=lambda b: b.start) == rows


def test_many_overlapping_boxes_are_joined() -> None:
    shifted = [Box((k,), (k + 1000,)) for k in range(10 * MANY)]
    assert len(cover(shifted)) <= 2
    for a, b in pairwise(shifted):
        assert any(a in c and b in c for c in cover([a, b]))
