"""Rules of arrays made from nothing."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES
from tests.rules.helpers import check_map, emit, equation


@pytest.mark.parametrize(
    "dtype", [np.int32, np.int8, np.uint16, np.float32, jnp.bfloat16, np.complex64]
)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_box_of_iota_starts_where_the_box_starts(dtype: Any, axis: int) -> None:
    eqn = equation(lambda: lax.broadcasted_iota(dtype, (300, 7), axis))
    check_map(eqn, Box((290, 2), (297, 7)))


def test_tiles_of_iota_share_a_kernel() -> None:
    eqn = equation(lambda: lax.iota(np.int32, 100))
    needs = [RULES["iota"].need(eqn, Box((a,), (a + 10,))) for a in range(0, 100, 10)]
    assert len({(n.key, len(n.offsets)) for n in needs}) == 1


def test_uninitialised_arrays_are_zeros() -> None:
    eqn = equation(lambda: lax.empty((4, 5), np.float32))
    (got,) = emit(eqn, Box((1, 2), (3, 4)), [])
    np.testing.assert_array_equal(got, np.zeros((2, 2), np.float32))
