"""Elementwise functions against jax.numpy, and where jask follows the standard."""

from typing import Any

import jax
import jax.numpy as real
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.numpy import binary, unary
from tests.numpy.samples import (
    BOOLS,
    BYTES,
    COMPLEX,
    FLOATS,
    INF,
    INTS,
    NAN,
    UNIT,
    assert_equal,
    disk,
)

SAMPLES: dict[str, Any] = {
    "floats": FLOATS,
    "unit": UNIT,
    "ints": INTS,
    "bytes": BYTES,
    "bools": BOOLS,
    "complex": COMPLEX,
}


def answer(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except (TypeError, ValueError) as error:
        return error


@pytest.mark.parametrize("kind", sorted(SAMPLES))
@pytest.mark.parametrize("name", unary.__all__)
def test_a_unary_function_gives_what_jax_numpy_gives(name: str, kind: str):
    x = SAMPLES[kind]
    expected = answer(getattr(real, name), x)
    if isinstance(expected, Exception):
        with pytest.raises(type(expected)):
            getattr(jnp, name)(disk(x))
    else:
        assert_equal(getattr(jnp, name)(disk(x)), expected, ulps=4)


OWN = {"floor_divide", "remainder"}
"""Their zeros and infinities are rows of docs/deviations.md."""


@pytest.mark.parametrize("kind", sorted(SAMPLES))
@pytest.mark.parametrize("name", sorted(set(binary.__all__) - OWN))
def test_a_binary_function_gives_what_jax_numpy_gives(name: str, kind: str):
    x = SAMPLES[kind]
    y = x[::-1].reshape(-1, 1)
    expected = answer(getattr(real, name), x, y)
    operands = disk(x), disk(y)
    if isinstance(expected, Exception):
        with pytest.raises(type(expected)):
            getattr(jnp, name)(*operands)
    else:
        assert_equal(getattr(jnp, name)(*operands), expected, ulps=8)


@pytest.mark.parametrize("name", sorted(OWN))
@pytest.mark.parametrize("kind", ["ints", "bytes"])
def test_integer_division_is_numpys(name: str, kind: str):
    x = SAMPLES[kind]
    y = np.asarray([3, 7], x.dtype).reshape(-1, 1)
    found = getattr(jnp, name)(disk(x), disk(y))
    assert_equal(found, getattr(np, name)(x, y))


N = np.asarray([-6.0, -0.0, 0.0, 6.0, 5.0, -5.0, 7.5])
D = np.asarray([3.0, 2.0, -4.0, -2.0, -3.0, 3.0, 2.0])


def test_a_zero_remainder_has_the_sign_of_the_divisor():
    found = np.asarray(disk(N) % disk(D))
    np.testing.assert_array_equal(found, [0, 0, 0, 0, -1, 1, 1.5])
    np.testing.assert_array_equal(np.signbit(found), np.signbit(D))


def test_floor_division_of_special_values_is_the_standards():
    x = np.asarray([1.0, -1.0, 0.0, INF, -INF, 1.0, -1.0, NAN, INF, 0.0, -3.0])
    y = np.asarray([0.0, 0.0, 0.0, 2.0, 2.0, INF, INF, 1.0, INF, -5.0, 2.0])
    right = [INF, -INF, NAN, INF, -INF, 0.0, -0.0, NAN, NAN, -0.0, -2.0]
    found = np.asarray(disk(x) // disk(y))
    np.testing.assert_array_equal(found, right)
    assert np.signbit(found[9])


@pytest.mark.parametrize(
    ("name", "x", "right"),
    [
        ("exp", complex(-INF, INF), 0j),
        ("exp", complex(INF, NAN), complex(INF, NAN)),
        ("expm1", complex(-INF, NAN), -1 + 0j),
        ("log", complex(NAN, INF), complex(INF, NAN)),
        ("sqrt", complex(-INF, NAN), complex(NAN, INF)),
        ("sinh", complex(0.0, INF), complex(0.0, NAN)),
        ("cosh", complex(INF, INF), complex(INF, NAN)),
        ("tanh", complex(INF, 2.0), 1 + 0j),
        ("sign", complex(-0.0, -0.0), 0j),
        ("atanh", complex(0.0, NAN), complex(0.0, NAN)),
        ("acos", complex(0.0, NAN), complex(np.pi / 2, NAN)),
    ],
)
def test_complex_infinities_are_the_standards(name: str, x: complex, right: complex):
    found = np.asarray(getattr(jnp, name)(disk(np.asarray([x]))))[0]
    np.testing.assert_array_equal([found.real, found.imag], [right.real, right.imag])


EDGES = [0.0, -0.0, 0.5, -0.5, 2.0, -2.0, 1e300, -1e300, INF, -INF, NAN]
GRID_OF_EDGES = np.asarray([complex(a, b) for a in EDGES for b in EDGES])
OF_NUMPY = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "exp", "log", "log10", "log1p",
    "log2", "sqrt",
]  # fmt: skip
"""Where NumPy is the standard's in every case."""


@pytest.mark.parametrize("name", OF_NUMPY)
def test_complex_edges_are_the_standards_with_their_signs(name: str):
    with np.errstate(all="ignore"):
        right = getattr(np, name)(GRID_OF_EDGES)
    found = np.asarray(getattr(jnp, name)(disk(GRID_OF_EDGES)))
    for f, r in ((found.real, right.real), (found.imag, right.imag)):
        np.testing.assert_allclose(f, r, rtol=1e-13)
        signed = ~np.isnan(r)
        np.testing.assert_array_equal(np.signbit(f)[signed], np.signbit(r)[signed])


@pytest.mark.parametrize("name", [*OF_NUMPY, "cos", "cosh", "expm1", "sin", "sinh",
                                  "tan", "tanh"])  # fmt: skip
@pytest.mark.parametrize("z", [0.3 + 0.2j, -0.3 - 0.2j, 0.25 + 0j, 0.0 - 0.5j])
def test_complex_functions_have_jax_numpys_derivatives(name: str, z: complex):
    if name == "acosh":
        z += 2  # away from its branch cut
    at = jax.numpy.asarray(z)

    def ours(w: Any) -> Any:
        return jask.materialize(getattr(jnp, name)(jnp.asarray(w)))

    if name in ("log", "log10", "log2", "sqrt"):
        at = at + 1
    found = jax.grad(ours, holomorphic=True)(at)
    expected = jax.grad(getattr(real, name), holomorphic=True)(at)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_the_sign_of_a_zero_is_a_positive_zero(dtype: Any):
    found = np.asarray(jnp.sign(disk(np.asarray([-0.0, 0.0, -2.0, NAN], dtype))))
    np.testing.assert_array_equal(found, np.asarray([0.0, 0.0, -1.0, NAN], dtype))
    assert not np.signbit(found.real[:2]).any()
    assert not np.signbit(found.imag[:2]).any()


@pytest.mark.parametrize("exponent", [0, 1, 2, -2, 5, 0.5])
def test_powers_are_jax_numpys(exponent: float):
    x = np.asarray([0.5, -2.0, 3.0], np.float32)
    assert_equal(disk(x) ** exponent, real.asarray(x) ** exponent, ulps=4)


def test_an_integer_exponent_is_part_of_the_program():
    x = disk(np.asarray([-2.0, 3.0]))
    assert np.asarray(x**2).tolist() == [4.0, 9.0]
    assert np.asarray(2 ** disk(np.asarray([1, 3]))).tolist() == [2, 8]


@pytest.mark.parametrize(("low", "high"), [(0, 3), (None, 2), (-1, None), (0.5, 2.5)])
def test_clip_is_jax_numpys(low: Any, high: Any):
    for x in (INTS, UNIT):
        assert_equal(jnp.clip(disk(x), low, high), real.clip(x, low, high))


def test_round_takes_decimals():
    x = np.asarray([1.25, 2.345, -0.5])
    assert_equal(jnp.round(disk(x), 2), real.round(x, 2), ulps=2)


@pytest.mark.parametrize("wrong", [[1, 2], "text", None, np.asarray(["a"])])
def test_what_is_not_an_array_is_refused_with_the_remedy(wrong: Any):
    with pytest.raises(TypeError, match=r"sin: .*must"):
        jnp.sin(wrong)


def test_an_angle_does_not_cut_a_number_to_the_integers_of_the_array():
    x = np.asarray([3, 1, 2], np.int8)
    for name in ("atan2", "arctan2"):
        found = np.asarray(getattr(jnp, name)(disk(x), 300))
        np.testing.assert_allclose(found, np.arctan2(x, 300.0), rtol=1e-6)  # float32
