"""Rules of gather."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES
from jask.trace.ir import Equation
from tests.rules.helpers import (
    boxes,
    check_fold,
    check_map,
    emit,
    equation,
    numbers,
    same,
)
from tests.trace.graphs import program_for

MODES = ["clip", "fill", "promise_in_bounds"]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_a_box_of_a_take_needs_the_taken_axis_whole(axis: int, mode: str) -> None:
    x = numbers((4, 5, 6), np.float32)
    places = np.array([[0, 3, 3], [2, 1, 0]])
    if mode != "promise_in_bounds":
        places[0] = [-9, 7, 50]
    dims = lax.GatherDimensionNumbers(
        offset_dims=tuple(o for o in range(4) if o not in (axis, axis + 1)),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = tuple(1 if d == axis else n for d, n in enumerate(x.shape))
    eqn = equation(
        lambda x, i: lax.gather(x, i, dims, sizes, mode=mode, fill_value=-1),
        x,
        places[..., None],
    )
    out = eqn.outputs[0].shape
    box = Box(tuple(int(n > 2) for n in out), tuple(max(1, n - 1) for n in out))
    check_map(eqn, box, x, places[..., None])


@settings(max_examples=8)
@given(data=st.data())
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_windows_smaller_than_an_axis_are_cropped(
    data: st.DataObject, mode: str
) -> None:
    x = numbers((4, 5, 6), np.float32)
    places = np.asarray(
        data.draw(
            st.lists(st.tuples(*[st.integers(-2, 6)] * 2), min_size=3, max_size=3)
        )
    )
    dims = lax.GatherDimensionNumbers(
        offset_dims=(0, 2), collapsed_slice_dims=(1,), start_index_map=(2, 1)
    )
    eqn = equation(
        lambda x, i: lax.gather(x, i, dims, (4, 1, 3), mode=mode, fill_value=-1),
        x,
        places,
    )
    check_map(eqn, data.draw(boxes((4, 3, 3))), x, places)


@pytest.mark.parametrize("box", [Box((0, 0), (4, 3)), Box((1, 1), (3, 2))])
def test_batches_of_gathers_are_independent(box: Box) -> None:
    x, places = numbers((4, 5), np.float32), numbers((4, 3, 1), np.int64, seed=1) % 5
    dims = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )
    eqn = equation(lambda x, i: lax.gather(x, i, dims, (1, 1)), x, places)
    check_map(eqn, box, x, places)
    need = RULES["gather"].need(eqn, Box((1, 1), (3, 2)))
    assert need.boxes[0] == Box((1, 0), (3, 5))


def _take(mode: str, shape: tuple[int, ...] = (6, 4, 5)) -> tuple[Equation, Any, Any]:
    """Return x[i, :, j] with indices of which some are out of bounds."""
    x = numbers(shape, np.float32)
    places = np.array([[[0, 3], [5, 4]], [[2, 0], [1, 1]], [[5, 2], [3, 3]]])
    if mode != "promise_in_bounds":
        places[0, 0], places[2, 1] = (-1, 2), (3, 17)
    dims = lax.GatherDimensionNumbers(
        offset_dims=(1,), collapsed_slice_dims=(0, 2), start_index_map=(0, 2)
    )
    eqn = equation(
        lambda x, i: lax.gather(x, i, dims, (1, 4, 1), mode=mode, fill_value=-1),
        x,
        places,
    )
    return eqn, x, places


@settings(max_examples=3)
@given(data=st.data())
@pytest.mark.parametrize("mode", MODES)
def test_axes_that_are_walked_give_the_elements_of_each_part(
    data: st.DataObject, mode: str
) -> None:
    eqn, x, places = _take(mode)
    rule: Any = RULES["gather"]
    assert rule.can_fold(eqn)
    cuts = [data.draw(st.lists(st.integers(0, n), max_size=2)) for n in (6, 5)]
    check_fold(eqn, data.draw(boxes((3, 4, 2))), cuts, x, places)


def test_walked_batches_stay_in_their_batch() -> None:
    x, places = numbers((4, 5), np.float32), numbers((4, 3, 1), np.int64, seed=1) % 5
    dims = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )
    eqn = equation(lambda x, i: lax.gather(x, i, dims, (1, 1)), x, places)
    check_fold(eqn, Box((1, 0), (3, 3)), [[2, 3]], x, places)


def test_slices_of_several_elements_are_not_walked() -> None:
    x, places = numbers((6, 4), np.float32), np.array([[1], [3]])
    dims = lax.GatherDimensionNumbers((1, 2), (), (0,))
    eqn = equation(lambda x, i: lax.gather(x, i, dims, (2, 4)), x, places)
    rule: Any = RULES["gather"]
    assert not rule.can_fold(eqn)


@pytest.mark.parametrize("offset", [-2, 0, 3])
def test_a_box_of_a_diagonal_needs_the_square_around_it(offset: int) -> None:
    x = numbers((9, 11), np.float32)
    program = program_for(lambda x: jnp.diagonal(x, offset=offset), x)
    (eqn,) = (e for e in program.equations if e.name == "gather")
    low = (max(-offset, 0), max(offset, 0))
    need = RULES["gather"].need(eqn, Box((2,), (5,)))
    assert need.boxes[0] == Box.of((a + 2, a + 5) for a in low)
    (length,) = eqn.outputs[0].shape
    rows = np.arange(length)
    places = np.stack([rows + low[0], rows + low[1]], axis=1).astype("i4")
    (got,) = emit(eqn, Box((2,), (5,)), [x, places])
    same(got, np.diagonal(x, offset)[2:5])
