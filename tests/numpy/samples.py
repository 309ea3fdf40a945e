"""Small arrays of every kind, and the comparison that the tests of this folder use."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import jask

INF, NAN = np.inf, np.nan

FLOATS = np.asarray([0.0, -0.0, 1.0, -1.5, 0.25, 7.0, INF, -INF, NAN], np.float32)
UNIT = np.asarray([-1.0, -0.5, 0.0, 0.5, 1.0], np.float64)
INTS = np.asarray([-7, -3, -1, 0, 1, 2, 5, 100], np.int16)
BYTES = np.asarray([0, 1, 2, 7, 255], np.uint8)
BOOLS = np.asarray([True, False])
COMPLEX = np.asarray([0j, 1 + 2j, -1.5 + 0.5j, 0 - 2j, 3 + 0j], np.complex64)
GRID = (np.arange(24) * 7 % 24).reshape(2, 3, 4)


disk: Callable[[Any], Any] = jask.from_numpy
"""A NumPy array as a DiskArray, whose operators are attached at run time."""


def on_disk(x: Any) -> Any:
    """Return the NumPy arrays in a pytree as DiskArrays."""
    return jax.tree.map(lambda v: disk(v) if isinstance(v, np.ndarray) else v, x)


def value(x: Any) -> Any:
    """Return the values of a pytree of DiskArrays."""
    return jax.tree.map(np.asarray, x)


def assert_equal(found: Any, expected: Any, *, ulps: int = 0) -> None:
    """Raise unless shape, dtype and values agree, floats up to some roundings."""
    f, e = np.asarray(found), np.asarray(expected)
    assert (f.shape, f.dtype) == (e.shape, e.dtype)
    if ulps and e.dtype.kind in "fc":
        eps = float(np.finfo(e.dtype).eps)
        np.testing.assert_allclose(f, e, rtol=ulps * eps, atol=ulps * eps)
    else:
        np.testing.assert_array_equal(f, e)
