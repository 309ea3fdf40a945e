"""Distinct elements of arrays that do not fit memory, against NumPy."""

from typing import Any

import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.stores.base import read_block

RNG = np.random.default_rng(11)
BUDGET = 60_000

ARRAYS: dict[str, np.ndarray[Any, Any]] = {
    "few": RNG.integers(0, 9, (90, 100)).astype("i4"),
    "many": RNG.integers(0, 10**9, 9000),
    "one": np.full(20_000, 7, "i2"),
    "floats": RNG.choice(np.array([0.0, -0.0, 1, np.nan, np.inf], "f4"), 9000),
    "complex": RNG.choice(np.array([1j, 1, 1 + 1j, np.nan], "c8"), (3, 3000)),
    "booleans": RNG.random(40_000) < 0.5,
}


def values(x: Any) -> np.ndarray[Any, Any]:
    return read_block(x.persist().node.store)


@pytest.mark.parametrize("name", ARRAYS)
def test_all_about_distinct_elements_is_numpys(name: str) -> None:
    x = ARRAYS[name]
    want = np.unique(
        x,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        equal_nan=False,
    )
    with jask.config(memory_budget=BUDGET):
        got = [values(part) for part in jnp.unique_all(jask.from_numpy(x))]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g, w.reshape(g.shape), strict=True)


def test_parts_of_it_are_the_same() -> None:
    x = ARRAYS["many"] % 1000
    want = np.unique(x, return_inverse=True, return_counts=True)
    with jask.config(memory_budget=BUDGET):
        disk = jask.from_numpy(x)
        counted, inverted = jnp.unique_counts(disk), jnp.unique_inverse(disk)
        np.testing.assert_array_equal(values(jnp.unique_values(disk)), want[0])
        np.testing.assert_array_equal(values(counted.values), want[0])
        np.testing.assert_array_equal(values(counted.counts), want[2])
        np.testing.assert_array_equal(values(inverted.values), want[0])
        np.testing.assert_array_equal(values(inverted.inverse_indices), want[1])
