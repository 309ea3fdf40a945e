import jax.numpy as jnp
import numpy as np
import pytest

from jask.testing.same import assert_same

ONE = np.float32(1)
NEXT = np.nextafter(ONE, np.float32(2))


@pytest.mark.parametrize(
    ("actual", "expected", "reason"),
    [
        (np.float32(1), np.float64(1), "dtype"),
        (np.ones(1), np.ones(()), "shape"),
        (np.array([1, 2]), np.array([1, 3]), "values must be equal"),
        (NEXT, ONE, "values must be equal"),
        (np.array([0.0]), np.array([-0.0]), "same sign"),
        (np.array([np.nan]), np.array([0.0]), "NaN must meet NaN"),
        (np.array([np.inf]), np.array([-np.inf]), "values"),
        (np.array([1 + 0j]), np.array([1 + 1j]), "values"),
        (np.array([True]), np.array([False]), "values"),
    ],
    ids=str,
)
def test_what_differs_is_named(actual, expected, reason):
    with pytest.raises(AssertionError, match=reason):
        assert_same(actual, expected)


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -0.0, 1 + 2j, True, 3, jnp.bfloat16(1.5)], ids=str
)
def test_a_value_is_the_same_as_itself(value):
    assert_same(value, value)


def test_sums_may_differ_by_units_of_rounding_of_the_largest_element():
    expected = np.array([8.0, 1.0], "float32")
    eps = np.finfo("float32").eps
    assert_same(expected + 8 * eps, expected, sums=1)
    with pytest.raises(AssertionError, match="at most"):
        assert_same(expected + 24 * eps, expected, sums=2)


def test_integers_are_exact_whatever_the_bound():
    with pytest.raises(AssertionError, match="equal"):
        assert_same(np.array([1]), np.array([2]), sums=100, error=5)


def test_infinities_are_exact_whatever_the_bound():
    with pytest.raises(AssertionError, match="at most"):
        assert_same(np.array([np.inf]), np.array([1e308]), error=1e300)
