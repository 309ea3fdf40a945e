"""Running results: local on a box, and walked block by block with a carry."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jask
from jask._primitives import linear_recurrence
from jask.geometry.box import Box
from jask.rules._table import RULES, Scan
from tests.rules.helpers import (
    boxes,
    check_map,
    equation,
    numbers,
    same,
    scan,
    shapes,
    whole,
)

NAMES = ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"]


@settings(max_examples=4)
@given(data=st.data(), shape=shapes(1, 3))
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int16])
@pytest.mark.parametrize("name", NAMES)
def test_running_results_are_the_same_whole_and_block_by_block(
    data: st.DataObject, shape: tuple[int, ...], dtype: Any, name: str
) -> None:
    if name == "cumlogsumexp" and dtype == np.int16:
        dtype = np.float64
    x = numbers(shape, dtype)
    axis = data.draw(st.integers(0, len(shape) - 1))
    reverse = data.draw(st.booleans())
    eqn = equation(lambda x: getattr(lax, name)(x, axis, reverse), x)
    eps = 0 if dtype == np.int16 else 30 * float(jnp.finfo(dtype).eps)
    out = data.draw(boxes(shape))
    check_map(eqn, out, x, rtol=eps, atol=eps)
    spans = list(out.intervals)
    spans[axis] = (0, shape[axis])
    cuts = data.draw(st.lists(st.integers(0, shape[axis]), max_size=2))
    box = Box.of(spans)
    (wanted,) = whole(eqn, [x])
    same(scan(eqn, box, cuts, x), wanted[box.slices], rtol=eps, atol=eps)


@settings(max_examples=8)
@given(data=st.data(), shape=shapes(1, 3))
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_a_recurrence_is_the_same_whole_and_block_by_block(
    data: st.DataObject, shape: tuple[int, ...], dtype: Any
) -> None:
    a, b = numbers(shape, dtype), numbers(shape, dtype, seed=1)
    axis = data.draw(st.integers(0, len(shape) - 1))
    reverse = data.draw(st.booleans())
    eqn = equation(lambda a, b: linear_recurrence(a, b, axis, reverse=reverse), a, b)
    eps = 1e-5  # rounding, amplified by factors of up to about 2
    check_map(eqn, data.draw(boxes(shape)), a, b, rtol=eps, atol=eps)
    cuts = data.draw(st.lists(st.integers(0, shape[axis]), max_size=2))
    (wanted,) = whole(eqn, [a, b])
    same(scan(eqn, Box.whole(shape), cuts, a, b), wanted, rtol=eps, atol=eps)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("reverse", [False, True])
def test_nan_stays_in_running_extremes(name: str, reverse: bool) -> None:
    x = np.array([1, 3, np.nan, 2, -np.inf, 5], np.float32)
    eqn = equation(lambda x: getattr(lax, name)(x, 0, reverse), x)
    (wanted,) = whole(eqn, [x])
    same(scan(eqn, Box((0,), (6,)), [2, 4], x), wanted, rtol=0)


def test_a_long_running_sum_is_carried_in_float64() -> None:
    x = np.full(4096, 0.1, np.float32)
    eqn = equation(lambda x: lax.cumsum(x, 0), x)
    rule = RULES["cumsum"]
    assert isinstance(rule, Scan)
    (carry,) = rule.init_carry(eqn, (1,))
    assert carry.dtype == np.float64
    wanted = np.cumsum(x.astype(np.float64)).astype(np.float32)
    same(scan(eqn, Box((0,), (4096,)), [100, 2000], x), wanted)


@pytest.mark.parametrize("shape", [(1, 50), (4, 50)])
def test_a_running_sum_within_a_tile_has_the_zeros_of_jax(
    shape: tuple[int, int],
) -> None:
    x = np.full(shape, -0.0, "f4")
    with jask.config(block_bytes=64, memory_budget=100_000):
        found = np.asarray(jask.numpy.cumsum(jask.from_numpy(x), axis=0))
    expected = np.asarray(lax.cumsum(jnp.asarray(x), 0))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
