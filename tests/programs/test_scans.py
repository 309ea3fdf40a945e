"""Scans of one array in several directions, in one program, at any block size."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

import jask

ROWS = st.integers(1, 9)
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "there and back": lambda x: lax.cumsum(x, 0) * lax.cumsum(x, 0, reverse=True),
    "back, and its sum": lambda x: lax.cumsum(x, 0, reverse=True) + x.sum(0),
    "back of there": lambda x: lax.cummax(lax.cumsum(x, 0), 0, reverse=True),
    "along both axes": lambda x: (
        lax.cumsum(x, 0) + lax.cumsum(x, x.ndim - 1, reverse=True)
    ),
    "three": lambda x: (
        lax.cumsum(x, 0)
        + 2 * lax.cummax(x, 0, reverse=True)
        + 3 * lax.cummin(x + 1, 0, reverse=True)
    ),
}


@settings(max_examples=8)
@given(shape=st.one_of(st.tuples(ROWS), st.tuples(ROWS, ROWS)), data=st.data())
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_scan_is_walked_in_its_own_direction(
    name: str, shape: tuple[int, ...], data: st.DataObject
) -> None:
    x = np.random.default_rng(0).integers(-9, 9, shape).astype("float32")  # exact sums
    block = data.draw(st.sampled_from([4, 8, 16, 40, None]))
    with jask.config(block_bytes=block):
        found = np.asarray(jask.lift(PROGRAMS[name])(jask.from_numpy(x)))
    np.testing.assert_array_equal(found, PROGRAMS[name](x))
