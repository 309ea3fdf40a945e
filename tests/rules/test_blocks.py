"""What rules share: extreme values."""

import jax.numpy as jnp
import numpy as np
import pytest

from jask.rules._blocks import extreme

BLOCKS = {
    "plain": [[3.0, -1.0, 2.0], [0.5, 4.0, 0.25]],
    "nan": [[3.0, np.nan, 2.0], [0.5, 4.0, 0.25]],
    "both infinities": [[np.inf, -np.inf, 2.0], [0.5, 4.0, 0.25]],
    "nan beside infinities": [[np.inf, -np.inf, 2.0], [0.5, np.nan, 0.25]],
    "sum overflows": [[3e38, 3e38, -1.0], [3e38, 3e38, -3e38]],
}


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", BLOCKS)
def test_extremes_are_nan_exactly_where_an_element_is(
    name: str, axes: tuple[int, ...], dtype: str, largest: bool
) -> None:
    with np.errstate(over="ignore"):
        block = np.array(BLOCKS[name]).astype(dtype)
    right = (np.max if largest else np.min)(block, axis=axes)
    found = np.asarray(extreme(jnp.asarray(block), axes, largest=largest))
    assert np.array_equal(found, right, equal_nan=True)
