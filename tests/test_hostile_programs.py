"""Programs that once gave a wrong result, each with what was wrong."""

import jax.numpy as jnp
import numpy as np
import pytest

import jask
from jask.testing.same import assert_same


@pytest.mark.parametrize("width", [1, 16])
def test_products_of_float16_are_summed_in_single_precision(width: int) -> None:
    # 300 * 300 is infinite in float16, and 1e-4 * 1e-4 is zero
    for value in (300, 1e-4):
        x = np.full((4096, width), value, "f2")
        y = np.full((4096, 2), value, "f2")
        y[:2048] *= -1 if value > 1 else 1
        got = jask.from_numpy(x).T @ jask.from_numpy(y)
        assert_same(jask.materialize(got), jnp.asarray(x).T @ jnp.asarray(y))


def test_a_gram_matrix_of_float16_rounds_once() -> None:
    x = np.full((20_000, 32), 0.1, "f2")
    got = jask.materialize(jask.from_numpy(x).T @ jask.from_numpy(x))
    exact = x.astype("f8").T @ x.astype("f8")
    assert_same(got, exact.astype("f2"))
