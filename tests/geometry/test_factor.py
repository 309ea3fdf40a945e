"""Reshapes, factored into groups of axes."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st

from jask.geometry.box import Box
from jask.geometry.factor import covering, enclosing, factor, position
from tests.geometry.strategies import reshapes

SHAPES = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@st.composite
def _boxed(draw: st.DrawFn) -> tuple[tuple[int, ...], Box]:
    shape = draw(SHAPES)
    spans = []
    for n in shape:
        a = draw(st.integers(0, n - 1))
        spans.append((a, draw(st.integers(a + 1, n))))
    return shape, Box.of(spans)


@pytest.mark.parametrize(
    ("before", "after", "groups"),
    [
        ((4, 4), (4, 2, 2), [((0,), (0,)), ((1,), (1, 2))]),
        ((6, 4), (4, 6), [((0, 1), (0, 1))]),
        ((1, 5, 1), (5,), [((1,), (0,))]),
        ((), (1, 1), []),
        ((2, 3, 5), (30,), [((0, 1, 2), (0,))]),
    ],
)
def test_axes_are_grouped_as_finely_as_their_products_allow(
    before: tuple[int, ...],
    after: tuple[int, ...],
    groups: list[tuple[tuple[int, ...], tuple[int, ...]]],
) -> None:
    assert [(g.before, g.after) for g in factor(before, after)] == groups


@given(pair=reshapes(6))
def test_groups_hold_each_axis_once_and_equal_products(
    pair: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    before, after = pair
    groups = factor(before, after)
    assert [d for g in groups for d in g.before] == [
        d for d, n in enumerate(before) if n != 1
    ]
    assert [d for g in groups for d in g.after] == [
        d for d, n in enumerate(after) if n != 1
    ]
    for g in groups:
        assert prod(before[d] for d in g.before) == prod(after[d] for d in g.after)


@given(case=_boxed())
def test_an_enclosing_box_is_contiguous_and_no_larger_than_needed(
    case: tuple[tuple[int, ...], Box],
) -> None:
    shape, box = case
    order = np.arange(prod(shape)).reshape(shape)
    grown = enclosing(box, shape)
    assert box in grown
    flat = order[grown.slices].reshape(-1)
    np.testing.assert_array_equal(flat, np.arange(flat[0], flat[-1] + 1))
    inside = order[box.slices].reshape(-1)
    if np.array_equal(inside, np.arange(inside[0], inside[-1] + 1)):
        assert grown == box


@given(case=_boxed())
def test_a_position_is_the_row_major_number(case: tuple[tuple[int, ...], Box]) -> None:
    shape, box = case
    order = np.arange(prod(shape)).reshape(shape)
    assert position(box.start, shape) == order[box.start]


@given(data=st.data(), shape=SHAPES)
def test_a_covering_box_is_contiguous_and_holds_the_run(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    order = np.arange(prod(shape)).reshape(shape)
    first = data.draw(st.integers(0, order.size - 1))
    last = data.draw(st.integers(first, order.size - 1))
    flat = order[covering(first, last, shape).slices].reshape(-1)
    np.testing.assert_array_equal(flat, np.arange(flat[0], flat[-1] + 1))
    assert flat[0] <= first
    assert flat[-1] >= last
