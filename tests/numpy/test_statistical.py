"""Reductions and running sums against NumPy and jax.numpy, block by block."""

from typing import Any

import jax.numpy as real
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from tests.numpy.samples import GRID, assert_equal, disk

FLOATS = GRID.astype(np.float32) / 4 - 2
AXES = [None, 0, -1, (0, 2), (-1, -2), ()]
REDUCTIONS = ["sum", "prod", "min", "max", "mean", "var", "std", "all", "any"]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=map(str, AXES))
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_is_jax_numpys(name: str, axis: Any, keepdims: bool):
    with jask.config(block_bytes=40):
        x = disk(FLOATS)
        found = getattr(jnp, name)(x, axis=axis, keepdims=keepdims)
        expected = getattr(real, name)(FLOATS, axis=axis, keepdims=keepdims)
        assert_equal(found, expected, ulps=64)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "mean", "var", "any"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "complex64"])
def test_a_reduction_of_other_types_is_jax_numpys(name: str, dtype: str):
    a = (GRID[:, :, :2] % 3).astype(dtype)
    if (name, dtype) == ("max", "complex64"):
        a = a.real
    found = getattr(jnp, name)(disk(a), axis=1)
    assert_equal(found, getattr(real, name)(a, axis=1), ulps=16)


def test_a_method_is_the_function():
    x = disk(FLOATS)
    for name in REDUCTIONS:
        assert_equal(getattr(x, name)(1), getattr(real, name)(FLOATS, 1), ulps=64)


def test_dtype_where_and_initial_are_taken():
    x, mask = disk(GRID), disk(GRID % 2 == 0)
    even = GRID % 2 == 0
    assert_equal(jnp.sum(x, dtype=jnp.float32), GRID.sum(dtype=np.float32))
    assert_equal(jnp.sum(x, 0, where=mask), GRID.sum(0, where=even))
    assert_equal(jnp.max(x, where=mask, initial=-1), GRID.max(where=even, initial=-1))
    assert_equal(jnp.sum(x, initial=5), GRID.sum(initial=5))
    assert_equal(jnp.mean(x, where=mask), GRID.mean(where=even), ulps=4)
    assert_equal(jnp.var(x, correction=1), GRID.var(ddof=1), ulps=8)
    assert_equal(jnp.std(x, ddof=1), GRID.std(ddof=1), ulps=8)


@pytest.mark.parametrize("include_initial", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "float32", "bool"])
@pytest.mark.parametrize("product", [False, True])
def test_running_sums_are_numpys(product: bool, dtype: str, include_initial: bool):
    a = (GRID % 3 + 1).astype(dtype)
    ours = jnp.cumulative_prod if product else jnp.cumulative_sum
    theirs = np.cumulative_prod if product else np.cumulative_sum
    with jask.config(block_bytes=24):
        found = ours(disk(a), axis=1, include_initial=include_initial)
        expected = theirs(a, axis=1, include_initial=include_initial)
        assert_equal(found, expected, ulps=4)


def test_running_sums_of_a_vector_need_no_axis():
    assert_equal(jnp.cumulative_sum(disk(np.arange(4))), [0, 1, 3, 6])
    with pytest.raises(ValueError, match="axis must be given"):
        jnp.cumulative_sum(disk(GRID))


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, -1])
def test_differences_are_numpys(axis: int, n: int):
    x = disk(GRID)
    assert_equal(jnp.diff(x, axis=axis, n=n), np.diff(GRID, axis=axis, n=n))
    found = jnp.diff(x, axis=axis, prepend=x, append=0 * x)
    assert_equal(found, np.diff(GRID, axis=axis, prepend=GRID, append=0 * GRID))


def test_an_empty_axis_has_a_sum_but_no_maximum():
    x = disk(np.zeros((0, 3)))
    assert_equal(jnp.sum(x, axis=0), np.zeros(3))
    assert_equal(jnp.prod(x), np.float64(1))
    assert_equal(jnp.max(x, axis=1), np.zeros(0))
    for function in (jnp.max, jnp.min, jnp.argmax, jnp.argmin):
        with pytest.raises(ValueError, match="length 0"):
            function(x, axis=0)
    assert_equal(jnp.max(x, initial=2), np.float64(2))


@pytest.mark.parametrize("axis", [3, -4, (0, 3), (1, -2), 1.5])
def test_a_wrong_axis_is_refused_at_the_call(axis: Any):
    with pytest.raises((ValueError, IndexError, AttributeError, TypeError)):
        jnp.sum(disk(GRID), axis=axis)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["all", "any"])
def test_a_complex_number_is_true_where_it_is_not_zero(name: str, axis: Any):
    x = np.array([[1j, 0, 2], [1, 0, np.nan * 1j]], np.complex64)
    for array in (disk(x), jnp.asarray(x)):
        found = getattr(jnp, name)(array, axis=axis)
        assert_equal(found, getattr(np, name)(x, axis=axis))


def test_extremes_of_complex_numbers_are_found_by_their_parts_in_turn():
    x = np.array([2, 2 + 1j, 1 + 5j, 1 - 5j], np.complex64)
    for name in ("argmax", "argmin", "nanargmax", "nanargmin"):
        assert int(getattr(jnp, name)(disk(x))) == getattr(np, name)(x)
