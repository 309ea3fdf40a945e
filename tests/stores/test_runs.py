"""The byte ranges of a box are those of NumPy."""

from itertools import pairwise

import numpy as np
from hypothesis import given, strategies as st

from jask.geometry.box import Box
from jask.stores._runs import Runs, offsets, pieces, runs_of

SHAPES = st.lists(st.integers(1, 5), max_size=4).map(tuple)


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], int, Box]:
    shape = draw(SHAPES)
    intervals = []
    for size in shape:
        start = draw(st.integers(0, size - 1))
        intervals.append((start, draw(st.integers(start + 1, size))))
    return shape, draw(st.sampled_from([1, 2, 4, 8, 16])), Box.of(intervals)


def bytes_of(runs: Runs) -> list[int]:
    starts = offsets(runs.grid, runs.base)
    return [start + k for start in starts for k in range(runs.length)]


@given(cases())
def test_the_runs_are_the_bytes_of_the_box_in_order(
    case: tuple[tuple[int, ...], int, Box],
):
    shape, itemsize, box = case
    nbytes = int(np.prod(shape)) * itemsize
    numbered = np.arange(nbytes).reshape(*shape, itemsize)
    right = numbered[box.slices].reshape(-1).tolist()
    runs = runs_of(shape, itemsize, box)
    assert bytes_of(runs) == right
    assert runs.nbytes == len(right)
    assert runs.hull == right[-1] - right[0] + 1


@given(cases())
def test_the_runs_are_as_long_as_they_can_be(
    case: tuple[tuple[int, ...], int, Box],
):
    shape, itemsize, box = case
    runs = runs_of(shape, itemsize, box)
    starts = offsets(runs.grid, runs.base)
    gaps = [b - a - runs.length for a, b in pairwise(starts)]
    assert all(gap > 0 for gap in gaps)
    assert len(starts) == runs.count


def test_axes_without_a_gap_between_them_are_one():
    box = Box((0, 0, 0, 0), (3, 4, 1, 5))
    assert runs_of((3, 4, 1, 10), 1, box) == Runs(0, 5, ((12, 10),))


@given(SHAPES, st.integers(1, 40))
def test_the_pieces_of_a_shape_cover_it_once_and_in_order(
    shape: tuple[int, ...], most: int
):
    numbered = np.arange(int(np.prod(shape))).reshape(shape)
    found = [numbered[p.slices].reshape(-1) for p in pieces(shape, most)]
    assert np.concatenate(found).tolist() == numbered.reshape(-1).tolist()
    assert all(part.size <= most for part in found)
