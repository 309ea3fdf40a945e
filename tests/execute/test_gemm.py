"""Products added in place: every way in which the operands can lie."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jask.execute.gemm import add_product

RNG = np.random.default_rng(0)

type Array = np.ndarray[Any, Any]

WAYS: dict[str, Callable[[Array], Array]] = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "rows of a wider block": lambda x: np.pad(x, ((1, 2), (3, 1)))[1:-2, 3:-1],
    "columns of a wider block": lambda x: np.pad(x.T, ((0, 2), (2, 1)))[:-2, 2:-1].T,
}


def integers(*shape: int, dtype: str) -> Array:
    """Return small ones: sums of their products are exact."""
    return RNG.integers(-9, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("left", WAYS)
@pytest.mark.parametrize("right", WAYS)
def test_operands_may_lie_in_any_way(left: str, right: str, dtype: str) -> None:
    for m, k, n in [(5, 7, 4), (1, 3, 4), (5, 1, 4), (5, 3, 1), (1, 1, 1)]:
        a, b = integers(m, k, dtype=dtype), integers(k, n, dtype=dtype)
        sums = integers(m, n, dtype=dtype)
        want = sums + a @ b
        add_product(WAYS[left](a), WAYS[right](b), sums)
        np.testing.assert_array_equal(sums, want)


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_operand_may_be_a_vector(side: str) -> None:
    x, v = integers(6, 4, dtype="float32"), integers(6, dtype="float32")
    sums = integers(4, dtype="float32")
    want = sums + v @ x
    add_product(*((v, x) if side == "left" else (x.T, v)), sums)
    np.testing.assert_array_equal(sums, want)


def test_a_sum_that_is_read_only_is_left_alone() -> None:
    x, sums = integers(3, 3, dtype="float32"), np.zeros((3, 3), "float32")
    sums.flags.writeable = False
    with pytest.raises(AssertionError):
        add_product(x, x, sums)
    assert not sums.any()


def test_what_is_summed_along_an_empty_axis_is_nothing() -> None:
    sums = np.ones((2, 3), "float32")
    add_product(np.empty((2, 0), "f4"), np.empty((0, 3), "f4"), sums)
    np.testing.assert_array_equal(sums, np.ones((2, 3)))
