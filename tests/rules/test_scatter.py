"""Rules of scatter."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES
from jask.rules.scatter import known
from jask.trace.ir import Equation, Literal, Var
from tests.rules.helpers import (
    Array,
    boxes,
    check_fold,
    check_map,
    emit,
    equation,
    fold,
    numbers,
    same,
)

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


@settings(max_examples=2)
@given(data=st.data())
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize(
    "name", ["scatter-add", "scatter-mul", "scatter-min", "scatter-max"]
)
def test_updates_that_are_walked_join_as_if_at_once(
    data: st.DataObject, name: str, mode: str, dtype: str
) -> None:
    x = numbers((7, 5), dtype)
    places = np.asarray(
        data.draw(st.lists(st.integers(-3, 9), min_size=6, max_size=6))
    ).reshape(2, 3, 1)
    updates = numbers((2, 3, 5), dtype, seed=1)
    dims = lax.ScatterDimensionNumbers((2,), (0,), (0,))
    eqn = equation(
        lambda x, i, u: SCATTERS[name](x, i, u, dims, mode=mode), x, places, updates
    )
    rule: Any = RULES[eqn.name]
    assert rule.can_fold(eqn)
    eps = 0 if dtype == "int32" else 20 * float(np.finfo(dtype).eps)
    cuts = [[1], data.draw(st.lists(st.integers(0, 3), max_size=2))]
    check_fold(eqn, data.draw(boxes((7, 5))), cuts, x, places, updates, rtol=eps)


def test_walked_updates_of_batches_stay_in_their_batch() -> None:
    x, places = numbers((4, 5), np.int32), numbers((4, 3, 1), np.int64, seed=1) % 5
    updates = numbers((4, 3), np.int32, seed=2)
    dims = lax.ScatterDimensionNumbers((), (1,), (1,), (0,), (0,))
    eqn = equation(lambda x, i, u: lax.scatter_add(x, i, u, dims), x, places, updates)
    check_fold(eqn, Box((1, 1), (3, 4)), [[1, 2]], x, places, updates)


@settings(max_examples=8)
@given(data=st.data())
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_of_walked_updates_of_one_element_the_last_wins(
    data: st.DataObject, mode: str
) -> None:
    x = numbers((7, 5), np.float32)
    rows = data.draw(st.lists(st.integers(-3, 9), min_size=6, max_size=6))
    updates = numbers((2, 3, 5), np.float32, seed=1)
    dims = lax.ScatterDimensionNumbers((2,), (0,), (0,))
    places = np.asarray(rows).reshape(2, 3, 1)
    eqn = equation(
        lambda x, i, u: lax.scatter(x, i, u, dims, mode=mode), x, places, updates
    )
    wanted = x.copy()
    for row, new in zip(rows, updates.reshape(6, 5), strict=True):
        if mode == "clip" or 0 <= row < 7:
            wanted[min(max(row, 0), 6)] = new
    kept = data.draw(boxes((7, 5)))
    cuts = data.draw(st.permutations([[1], [2]]))
    (got,) = fold(eqn, kept, cuts, x, places, updates)
    same(got, wanted[kept.slices])


def test_windows_of_several_elements_are_not_walked() -> None:
    x, places, updates = (
        numbers((6,), "f4"),
        np.zeros((3, 1), int),
        np.ones((3, 2), "f4"),
    )
    dims = lax.ScatterDimensionNumbers((1,), (), (0,))
    eqn = equation(lambda x, i, u: lax.scatter_add(x, i, u, dims), x, places, updates)
    rule: Any = RULES["scatter-add"]
    assert not rule.can_fold(eqn)


@pytest.mark.parametrize("name", SCATTERS)
def test_a_scatter_without_an_index_reaches_everything(name):
    """As `x.at[:].add(y)` is traced."""
    dims = lax.ScatterDimensionNumbers((0,), (), ())
    x, new = np.arange(1.0, 6, dtype="f4"), np.arange(3.0, 8, dtype="f4")
    nowhere = np.zeros(0, "i4")
    eqn = equation(lambda x, i, u: SCATTERS[name](x, i, u, dims), x, nowhere, new)
    right = SCATTERS[name](x, nowhere, new, dims)
    box = Box((1,), (4,))
    need = RULES[name].need(eqn, box)
    assert need.boxes[2] == box
    (got,) = emit(eqn, box, [x, nowhere, new])
    np.testing.assert_array_equal(got, right[1:4])
