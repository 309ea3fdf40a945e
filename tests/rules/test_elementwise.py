"""Elementwise rules."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from tests.rules.helpers import boxes, check_map, equation, numbers, shapes

EXACT = ["abs", "neg", "sign", "ceil", "floor", "square", "is_finite", "sqrt"]
ROUNDED = [
    "exp", "exp2", "expm1", "log", "log1p", "logistic", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "cbrt", "rsqrt",
    "bessel_i0e", "bessel_i1e", "digamma", "erf", "erfc", "erf_inv", "lgamma",
]  # fmt: skip
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor", "shift_left"]
PAIRS = ["add", "sub", "mul", "max", "min", "rem", "eq", "ne", "lt", "le", "gt", "ge"]
OUT = Box((1, 0), (3, 4))


@pytest.mark.parametrize("name", EXACT)
def test_a_unary_box_is_made_from_the_same_box(name: str) -> None:
    x = numbers((4, 5), np.float32)
    eqn = equation(getattr(lax, name), x)
    check_map(eqn, OUT, x)


@pytest.mark.parametrize("name", ROUNDED)
def test_a_rounded_unary_box_is_made_from_the_same_box(name: str) -> None:
    x = np.abs(numbers((4, 5), np.float64)) * 0.3
    eqn = equation(getattr(lax, name), x)
    check_map(eqn, OUT, x, rtol=1e-12)


@pytest.mark.parametrize("name", PAIRS)
def test_a_binary_box_is_made_from_two_boxes(name: str) -> None:
    x, y = numbers((4, 5), np.float32), numbers((4, 5), np.float32, seed=1)
    check_map(equation(getattr(lax, name), x, y), OUT, x, y)


@pytest.mark.parametrize("name", BITS)
def test_a_box_of_bits_is_made_from_two_boxes(name: str) -> None:
    x, y = numbers((4, 5), np.int8), numbers((4, 5), np.int8, seed=1)
    check_map(equation(getattr(lax, name), x, y), OUT, x, y)


@settings(max_examples=15)
@given(data=st.data(), shape=shapes(1, 3))
def test_axes_of_length_one_and_scalars_are_broadcast(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    thin = tuple(data.draw(st.sampled_from([1, n])) for n in shape)
    scalar = data.draw(st.booleans())
    x = numbers(shape, np.float32)
    y = numbers(() if scalar else thin, np.float32, seed=1)
    eqn = equation(lax.add_p.bind, x, y)
    check_map(eqn, data.draw(boxes(shape)), x, y)


@settings(max_examples=10)
@given(data=st.data(), shape=shapes(0, 3))
def test_selection_takes_a_scalar_or_a_full_predicate(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    which = numbers(data.draw(st.sampled_from([(), shape])), bool)
    x, y = numbers(shape, np.int32), numbers(shape, np.int32, seed=1)
    eqn = equation(lax.select_n, which, x, y)
    check_map(eqn, data.draw(boxes(shape)), which, x, y)


def test_clamp_takes_scalar_limits() -> None:
    x = numbers((4, 5), np.float32)
    eqn = equation(lambda x: lax.clamp(np.float32(-0.5), x, np.float32(0.5)), x)
    check_map(eqn, OUT, x)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.int8, np.bool_, np.complex64])
def test_conversion_is_elementwise(dtype: Any) -> None:
    x = numbers((4, 5), np.float32)
    check_map(equation(lambda x: lax.convert_element_type(x, dtype), x), OUT, x)


@pytest.mark.parametrize(
    ("source", "target"),
    [("float32", "int32"), ("float32", "int8"), ("float64", "uint16")],
)
def test_bitcast_to_narrower_parts_adds_a_trailing_axis(
    source: str, target: str
) -> None:
    x = numbers((4, 5), source)
    eqn = equation(lambda x: lax.bitcast_convert_type(x, np.dtype(target)), x)
    n = eqn.outputs[0].ndim
    check_map(eqn, Box((1, 2, 1)[:n], (3, 4, 3)[:n]), x)


def test_bitcast_to_a_wider_type_takes_the_trailing_axis_whole() -> None:
    x = numbers((4, 5, 4), np.int8)
    check_map(equation(lambda x: lax.bitcast_convert_type(x, np.float32), x), OUT, x)
