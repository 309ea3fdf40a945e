"""Reductions: local on a box, and folded part by part."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES, Reduction
from tests.rules.helpers import (
    Array,
    bounds,
    boxes,
    check_fold,
    check_map,
    emit,
    equation,
    fold,
    numbers,
    shapes,
)

SUMS = ["sum", "prod"]
EXTREMES = ["max", "min"]
LOGIC = ["and", "or", "xor"]


def _reduce(name: str, axes: tuple[int, ...], x: Array) -> Any:
    primitive = getattr(lax, f"reduce_{name}_p")
    more = {} if name in LOGIC else {"out_sharding": None}
    return equation(lambda x: primitive.bind(x, axes=axes, **more), x)


@st.composite
def _axes(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(d for d in range(len(shape)) if draw(st.booleans()))


def _lengths(x: Array, axes: tuple[int, ...]) -> list[int]:
    return [x.shape[d] for d in axes]


@settings(max_examples=4)
@given(data=st.data(), shape=shapes(0, 3))
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.complex64])
@pytest.mark.parametrize("name", SUMS)
def test_sums_and_products_are_the_same_whole_and_in_parts(
    data: st.DataObject, shape: tuple[int, ...], dtype: Any, name: str
) -> None:
    x = numbers(shape, dtype)
    axes = data.draw(_axes(shape))
    eqn = _reduce(name, axes, x)
    out = data.draw(boxes(eqn.outputs[0].shape))
    eps = 0 if dtype == np.int8 else float(jnp.finfo(dtype).eps)
    check_map(eqn, out, x, rtol=20 * eps, atol=20 * eps)
    cuts = data.draw(bounds(_lengths(x, axes)))
    check_fold(eqn, out, cuts, x, rtol=20 * eps, atol=20 * eps)


@settings(max_examples=4)
@given(data=st.data(), shape=shapes(0, 3))
@pytest.mark.parametrize(
    "dtype",
    [np.float32, jnp.bfloat16, jnp.float8_e4m3fn, np.int16, np.uint8, np.bool_],
)
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_are_exact_and_let_nan_through(
    data: st.DataObject, shape: tuple[int, ...], dtype: Any, name: str
) -> None:
    x = numbers(shape, dtype)
    if jnp.issubdtype(dtype, jnp.floating) and x.size and data.draw(st.booleans()):
        x.reshape(-1)[data.draw(st.integers(0, x.size - 1))] = np.nan
    axes = data.draw(_axes(shape))
    eqn = _reduce(name, axes, x)
    out = data.draw(boxes(eqn.outputs[0].shape))
    check_map(eqn, out, x, rtol=0)
    check_fold(eqn, out, data.draw(bounds(_lengths(x, axes))), x, rtol=0)


@pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.bool_])
@pytest.mark.parametrize("name", LOGIC)
def test_logic_is_exact(dtype: Any, name: str) -> None:
    x = numbers((5, 4, 3), dtype)
    eqn = _reduce(name, (0, 2), x)
    check_map(eqn, Box((1,), (3,)), x)
    check_fold(eqn, Box((1,), (3,)), [[2, 3], [1]], x)


@pytest.mark.parametrize("name", [*SUMS, *EXTREMES])
def test_a_reduction_over_an_empty_axis_gives_the_identity(name: str) -> None:
    x = np.zeros((0, 5), np.float32)
    eqn = _reduce(name, (0,), x)
    check_map(eqn, Box((1,), (3,)), x)
    check_fold(eqn, Box((1,), (3,)), [[]], x)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_sums_of_negative_zeros_have_the_sign_that_xla_gives(n: int) -> None:
    x = np.full((n, 2), -0.0, np.float32)
    eqn = _reduce("sum", (0,), x)
    for k in range(n):
        check_fold(eqn, Box.whole((2,)), [[k]], x)


def test_float32_sums_are_kept_in_float64_across_parts() -> None:
    x = np.array([2**24, 1, 1, 1, 1], np.float32)
    eqn = _reduce("sum", (0,), x)
    (got,) = fold(eqn, Box((), ()), [[1, 2, 3, 4]], x)
    assert got == 2**24 + 4  # in float32 each 1 would be lost


@settings(max_examples=5)
@given(data=st.data(), shape=shapes(1, 3))
@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.int8, np.bool_])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_the_first_extreme_wins_and_nan_is_extreme(
    data: st.DataObject, shape: tuple[int, ...], dtype: Any, name: str
) -> None:
    x = np.asarray(numbers(shape, np.int8) % 3).astype(dtype)
    if jnp.issubdtype(dtype, jnp.floating):
        for _ in range(data.draw(st.integers(0, 2))):
            k = data.draw(st.integers(0, x.size - 1))
            x.reshape(-1)[k] = data.draw(
                st.sampled_from([np.nan, -0.0, np.inf, -np.inf])
            )
    axis = data.draw(st.integers(0, len(shape) - 1))
    index = data.draw(st.sampled_from([np.int32, np.int64, np.uint8]))
    eqn = equation(lambda x: getattr(lax, name)(x, axis, index), x)
    out = data.draw(boxes(eqn.outputs[0].shape))
    check_map(eqn, out, x)
    check_fold(eqn, out, data.draw(bounds([shape[axis]])), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_parts_of_an_argmax_may_come_in_any_order(dtype: Any) -> None:
    x = np.array([3, 1, 3, 3, 0, 3], dtype)
    eqn = equation(lambda x: lax.argmax(x, 0, np.int64), x)
    rule = RULES["argmax"]
    assert isinstance(rule, Reduction)
    parts = [rule.partial(eqn, [jnp.int64(k)], [x[k : k + 2]]) for k in (4, 0, 2)]
    acc: Any = rule.init(eqn, ())
    for part in parts:
        acc = rule.combine(eqn, acc, part)
    assert int(rule.finish(eqn, acc)[0]) == 0


def test_reductions_link_the_kept_axes() -> None:
    x = numbers((4, 5, 6), np.float32)
    eqn = _reduce("sum", (1,), x)
    links = {(k.operand, k.axis, k.out) for k in RULES["reduce_sum"].links(eqn)}
    assert links == {(0, 0, 0), (0, 2, 1)}


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, 1])
def test_nan_is_found_in_long_rows(name: str, axis: int) -> None:
    """XLA's own maximum of an array of this shape loses it."""
    x = np.random.default_rng(0).standard_normal((5, 1009)).astype(np.float32)
    x[1, 500] = np.nan
    if name.startswith("arg"):
        eqn = equation(lambda x: getattr(lax, name)(x, axis, np.int64), x)
        wanted = getattr(np, name)(x, axis)
    else:
        eqn = _reduce(name, (axis,), x)
        wanted = getattr(np, name)(x, axis)
    out = Box.whole(eqn.outputs[0].shape)
    for got in (emit(eqn, out, [x]), fold(eqn, out, [[1]], x)[0]):
        np.testing.assert_array_equal(np.squeeze(np.asarray(got)), wanted)
