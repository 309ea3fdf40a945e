"""The standard promotes dtypes as JAX does by default, not as its strict setting."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def _default_promotion() -> Iterator[None]:
    with jax.numpy_dtype_promotion("standard"):
        yield
