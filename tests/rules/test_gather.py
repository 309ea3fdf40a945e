"""Rules of gather and scatter."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES
from jask.rules.gather import known
from jask.trace.ir import Equation, Literal, Var
from tests.rules.helpers import (
    Array,
    boxes,
    check_map,
    emit,
    equation,
    numbers,
    same,
)

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


SCATTERS = {
    "scatter": lax.scatter,
    "scatter-add": lax.scatter_add,
    "scatter-mul": lax.scatter_mul,
    "scatter-min": lax.scatter_min,
    "scatter-max": lax.scatter_max,
}


@settings(max_examples=5)
@given(data=st.data())
@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("name", SCATTERS)
def test_a_box_of_a_scatter_takes_the_updates_that_reach_it(
    data: st.DataObject, name: str, mode: str
) -> None:
    x = numbers((7, 5), np.float32)
    rows = data.draw(st.lists(st.integers(-3, 9), min_size=1, max_size=4, unique=True))
    if name == "scatter" and mode == "clip":  # which of two updates wins is not defined
        rows = sorted({min(max(r, 0), 6) for r in rows})
    places = np.asarray(rows)[:, None]
    updates = numbers((len(rows), 5), np.float32, seed=1)
    dims = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    eqn = equation(
        lambda x, i, u: SCATTERS[name](x, i, u, dims, mode=mode), x, places, updates
    )
    assert eqn.name == name
    check_map(eqn, data.draw(boxes((7, 5))), x, places, updates)


@settings(max_examples=8)
@given(data=st.data())
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_windows_of_a_scatter_may_be_anywhere(data: st.DataObject, mode: str) -> None:
    x = numbers((6, 5, 3), np.int32)
    corner = np.asarray(data.draw(st.tuples(st.integers(-1, 6), st.integers(-1, 5))))
    updates = numbers((3, 2, 1), np.int32, seed=1)
    dims = lax.ScatterDimensionNumbers((0, 1), (2,), (1, 0))
    eqn = equation(
        lambda x, i, u: lax.scatter_add(x, i, u, dims, mode=mode),
        x,
        corner,
        updates[..., 0],
    )
    check_map(eqn, data.draw(boxes((6, 5, 3))), x, corner, updates[..., 0])


def test_batches_of_scatters_are_independent() -> None:
    x, places = numbers((4, 5), np.float32), numbers((4, 3, 1), np.int64, seed=1) % 5
    updates = numbers((4, 3), np.float32, seed=2)
    dims = lax.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))
    eqn = equation(lambda x, i, u: lax.scatter_add(x, i, u, dims), x, places, updates)
    check_map(eqn, Box((1, 1), (3, 4)), x, places, updates)
    need = RULES["scatter-add"].need(eqn, Box((1, 1), (3, 4)))
    assert need.boxes[2] == Box((1, 0), (3, 3))


def test_no_updates_leave_the_operand() -> None:
    x = numbers((4, 5), np.float32)
    places, updates = np.zeros((0, 1), np.int64), np.zeros((0, 5), np.float32)
    dims = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    eqn = equation(lambda x, i, u: lax.scatter(x, i, u, dims), x, places, updates)
    check_map(eqn, Box((1, 1), (3, 4)), x, places, updates)


def _window(name: str, corner: tuple[int, ...], mode: str) -> tuple[Equation, Any, Any]:
    """Return a scatter of one window whose position is known."""
    x, u = numbers((6, 5), np.float32), numbers((3, 2), np.float32, seed=1)
    dims = lax.ScatterDimensionNumbers((0, 1), (), (0, 1))
    places = np.asarray(corner, np.int32)
    eqn = equation(
        lambda x, i, u: SCATTERS[name](x, i, u, dims, mode=mode), x, places, u
    )
    eqn.inputs = (eqn.inputs[0], _constant(places), eqn.inputs[2])
    return eqn, x, u


def _constant(values: Array) -> Var:
    """Return a vector as the program holds it: scalars, broadcast and joined."""
    parts: list[Var] = []
    for value in values:
        make = Equation(None, "broadcast_in_dim", {}, (Literal(np.asarray(value)),))
        parts.append(Var((1,), values.dtype, make))
        make.outputs = (parts[-1],)
    join = Equation(None, "concatenate", {"dimension": 0}, tuple(parts))
    joined = Var(values.shape, values.dtype, join)
    join.outputs = (joined,)
    return joined


@settings(max_examples=8)
@given(data=st.data(), corner=st.tuples(st.integers(-1, 4), st.integers(-1, 4)))
@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("name", ["scatter", "scatter-add"])
def test_a_window_at_a_known_place_gives_each_box_its_share(
    data: st.DataObject, corner: tuple[int, int], name: str, mode: str
) -> None:
    eqn, x, u = _window(name, corner, mode)
    places = np.asarray(corner, np.int32)
    out = data.draw(boxes((6, 5)))
    (got,) = emit(eqn, out, [x, places, u])
    with jax.enable_x64(True):
        wanted = np.asarray(eqn.primitive.bind(x, places, u, **eqn.params))
    same(got, wanted[out.slices])


def test_a_known_window_that_covers_the_box_spares_the_operand() -> None:
    eqn, _, _ = _window("scatter", (2, 1), "fill")
    need = RULES["scatter"].need(eqn, Box((3, 1), (5, 3)))
    assert need.boxes == (None, None, Box((1, 0), (3, 2)))
    need = RULES["scatter"].need(eqn, Box((0, 1), (2, 3)))
    assert need.boxes == (Box((0, 1), (2, 3)), None, None)


def test_small_vectors_of_literals_are_known() -> None:
    vector = known(_constant(np.array([3, -1], np.int32)))
    np.testing.assert_array_equal(vector, [3, -1])
    assert known(Var((2,), np.dtype(np.int32))) is None
