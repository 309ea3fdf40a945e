"""The facade is compared with jax.numpy under JAX's default promotion."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jask


@pytest.fixture(autouse=True)
def _default_promotion() -> Iterator[None]:
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Callable[[Any], Any]]:
    """Put an array into a file of its own; blocks of two elements of four bytes."""
    paths = (tmp_path / f"{i}.npy" for i in itertools.count())

    def put(x: Any) -> Any:
        path = next(paths)
        np.save(path, np.asarray(x))
        return jask.open(path)

    with jask.config(block_bytes=8):
        yield put
