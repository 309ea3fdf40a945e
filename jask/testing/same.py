"""Equality of results, with a stated bound where sums round differently."""

from typing import Any

import jax.numpy as jnp
import numpy as np

type Array = np.ndarray[Any, Any]


def tolerance_of(expected: Any, *, sums: int) -> float:
    """Return the error that so many rounded additions may make at the largest value.

    Examples
    --------
    >>> tolerance_of(np.array([1.0, -4.0]), sums=0)
    0.0
    >>> tolerance_of(np.array([1.0, -4.0]), sums=2) / float(np.finfo("f8").eps)
    8.0
    """
    array = np.asarray(expected)
    if not sums or not jnp.issubdtype(array.dtype, jnp.inexact):
        return 0.0
    magnitude = np.abs(array).astype(np.float64)
    largest = float(np.max(magnitude, initial=1.0, where=np.isfinite(magnitude)))
    return float(sums * float(jnp.finfo(array.dtype).eps) * largest)


def assert_same(
    actual: Any, expected: Any, *, sums: int = 0, error: float = 0.0
) -> None:
    """Raise AssertionError unless two arrays have the same type and the same values.

    NaN must meet NaN and infinities must be equal. Without a bound the values must be
    equal, and zeros must have the same sign.

    Parameters
    ----------
    actual, expected
        Arrays.
    sums
        How many rounded additions the longest chain has: each element may differ by
        that many units of rounding of the largest expected element (at least of one).
    error
        A further absolute difference that is allowed.

    Examples
    --------
    >>> assert_same(np.float32(0.1) * 3, np.float32(0.3), sums=3)
    >>> assert_same(np.array([0.0]), np.array([-0.0]))
    Traceback (most recent call last):
        ...
    AssertionError: zeros must have the same sign; they differ first at (0,): 0.0, -0.0
    """
    a, e = np.asarray(actual), np.asarray(expected)
    _require_equal("dtype", a.dtype, e.dtype)
    _require_equal("shape", a.shape, e.shape)
    bound = tolerance_of(e, sums=sums) + error
    if e.dtype.kind == "c":
        _compare(a.real, e.real, bound)
        _compare(a.imag, e.imag, bound)
    else:
        _compare(a, e, bound)


def _require_equal(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        msg = f"{what} must be {expected}; got {actual}"
        raise AssertionError(msg)


def _compare(actual: Array, expected: Array, bound: float) -> None:
    if not jnp.issubdtype(expected.dtype, jnp.floating):
        _require(actual == expected, "values must be equal", actual, expected)
        return
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    _require(np.isnan(a) == np.isnan(e), "NaN must meet NaN", a, e)
    with np.errstate(invalid="ignore"):
        close = (a == e) | np.isnan(e) | (np.abs(a - e) <= bound)
    what = f"values must differ by at most {bound:.3g}"
    _require(close, what if bound else "values must be equal", a, e)
    if not bound:
        zeros = (a != 0) | (np.signbit(a) == np.signbit(e))
        _require(zeros, "zeros must have the same sign", a, e)


def _require(holds: Array, what: str, actual: Array, expected: Array) -> None:
    if not np.all(holds):
        where = tuple(int(i) for i in np.argwhere(~np.asarray(holds))[0])
        msg = (
            f"{what}; they differ first at {where}: {actual[where]}, {expected[where]}"
        )
        raise AssertionError(msg)
