"""Rules of slice, pad, concatenate, stack, tile and slices at given starts."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES
from tests.rules.helpers import Array, boxes, check_map, equation, numbers, shapes


@settings(max_examples=25)
@given(data=st.data(), shape=shapes(1, 3))
def test_a_box_of_a_strided_slice_is_a_strided_slice(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    starts = [data.draw(st.integers(0, n - 1)) for n in shape]
    stops = [
        data.draw(st.integers(a + 1, n)) for a, n in zip(starts, shape, strict=True)
    ]
    strides = data.draw(
        st.none() | st.tuples(*(st.integers(1, 3) for _ in shape)), label="strides"
    )
    x = numbers(shape, np.float32)
    eqn = equation(lambda x: lax.slice(x, starts, stops, strides), x)
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), x)


def test_numpy_integers_in_the_parameters_do_not_reach_the_boxes() -> None:
    x = numbers((6, 4), np.float32)
    eqn = equation(lambda x: lax.slice(x, (1, 0), (6, 4), (2, 1)), x)
    eqn.params = {
        name: tuple(map(np.int64, value)) for name, value in eqn.params.items()
    }
    check_map(eqn, Box((1, 0), (2, 3)), x)


@settings(max_examples=25)
@given(data=st.data(), shape=st.tuples(st.integers(0, 5), st.integers(1, 4)))
def test_padding_may_be_negative_and_between_elements(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    config: list[tuple[int, int, int]] = []
    for n in shape:
        between = data.draw(st.integers(0, 2))
        long = n + max(n - 1, 0) * between
        low = data.draw(st.integers(-2, 3))
        high = data.draw(st.integers(max(-2, 1 - long - low), 4 + max(0, -low)))
        config.append((low, high, between))
    x, value = numbers(shape, np.float32), numbers((), np.float32, seed=1)
    eqn = equation(lambda x, v: lax.pad(x, v, config), x, value)
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), x, value)


@settings(max_examples=20)
@given(data=st.data(), shape=shapes(1, 3))
def test_a_box_of_a_concatenation_asks_each_operand_for_its_share(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    parts = [
        numbers((*shape[:axis], n, *shape[axis + 1 :]), np.int32, seed=i)
        for i, n in enumerate([*lengths, 1])
    ]
    eqn = equation(lambda *p: lax.concatenate(p, axis), *parts)
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), *parts)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_box_of_a_stack_asks_the_operands_inside(axis: int) -> None:
    parts = [numbers((4, 5), np.int32, seed=i) for i in range(4)]
    eqn = equation(lambda *p: jnp.stack(p, axis), *parts)
    assert eqn.name == "stack"
    check_map(eqn, Box((1, 1, 1), (3, 2, 3)), *parts)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_box_of_each_unstacked_result_is_made_from_the_whole_axis(axis: int) -> None:
    x = numbers((4, 5, 3), np.int32)
    eqn = equation(lambda x: jnp.unstack(x, axis=axis), x)
    assert eqn.name == "unstack"
    check_map(eqn, Box((1, 1), (3, 3)), x)


@settings(max_examples=20)
@given(data=st.data(), shape=shapes(1, 2))
def test_a_box_of_a_tiling_wraps_around(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    reps = tuple(data.draw(st.integers(1, 4)) for _ in shape)
    if set(reps) == {1}:
        reps = (2, *reps[1:])
    x = numbers(shape, np.int32)
    eqn = equation(lambda x: jnp.tile(x, reps), x)
    assert eqn.name == "tile"
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), x)


STARTS = st.integers(-3, 9)


@settings(max_examples=20)
@given(data=st.data(), shape=shapes(1, 3))
def test_starts_of_a_dynamic_slice_are_clamped_known_or_not(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    sizes = tuple(data.draw(st.integers(1, n)) for n in shape)
    x, known, starts = _starts(data, shape)

    def fn(x: Any, *run: Any) -> Any:
        return lax.dynamic_slice_p.bind(x, *_mixed(known, run), slice_sizes=sizes)

    check_map(equation(fn, x, *starts), data.draw(boxes(sizes)), x, *starts)


@settings(max_examples=25)
@given(data=st.data(), shape=shapes(1, 3))
def test_an_update_slice_is_placed_at_clamped_starts_known_or_not(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    sizes = tuple(data.draw(st.integers(0, n)) for n in shape)
    x, known, starts = _starts(data, shape)
    update = numbers(sizes, np.float32, seed=1)

    def fn(x: Any, update: Any, *run: Any) -> Any:
        return lax.dynamic_update_slice_p.bind(x, update, *_mixed(known, run))

    eqn = equation(fn, x, update, *starts)
    check_map(eqn, data.draw(boxes(shape)), x, update, *starts)


def _starts(
    data: st.DataObject, shape: tuple[int, ...]
) -> tuple[Array, list[int | None], list[Array]]:
    known = [data.draw(st.none() | STARTS) for _ in shape]
    run = [np.asarray(data.draw(STARTS)) for k in known if k is None]
    return numbers(shape, np.float32), known, run


def _mixed(known: list[int | None], run: tuple[Any, ...]) -> list[Any]:
    rest = iter(run)
    return [next(rest) if k is None else np.int64(k) for k in known]


def test_an_update_that_covers_the_box_spares_the_operand() -> None:
    x, update = numbers((6, 4), np.float32), numbers((3, 4), np.float32, seed=1)
    eqn = equation(lambda x, u: lax.dynamic_update_slice(x, u, (2, 0)), x, update)
    need = RULES["dynamic_update_slice"].need(eqn, Box((2, 1), (5, 3)))
    assert need.boxes[0] is None
    assert need.boxes[1] == Box((0, 1), (3, 3))


def test_a_box_beside_the_update_spares_the_update() -> None:
    x, update = numbers((6, 4), np.float32), numbers((3, 4), np.float32, seed=1)
    eqn = equation(lambda x, u: lax.dynamic_update_slice(x, u, (2, 0)), x, update)
    need = RULES["dynamic_update_slice"].need(eqn, Box((0, 1), (2, 3)))
    assert need.boxes[:2] == (Box((0, 1), (2, 3)), None)
