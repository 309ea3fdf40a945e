"""The facade is compared with jax.numpy under JAX's default promotion."""

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def _default_promotion() -> Iterator[None]:
    with jax.numpy_dtype_promotion("standard"):
        yield
