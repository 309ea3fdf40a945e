from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import jask
import jask.numpy as jnp

X = np.arange(20, dtype=np.int32).reshape(4, 5)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("places", [0, -1, 4, [1], [0, 3, -1], [2, 1, 1], [1, 90, -90]])
@pytest.mark.parametrize("value", [7, 2.9])
def test_insert_at_a_few_places_is_jaxs(axis: Any, places: Any, value: Any):
    found = jnp.insert(jask.from_numpy(X), np.asarray(places), value, axis)
    want = jax.numpy.insert(X, np.asarray(places), value, axis)
    assert (found.shape, found.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(np.asarray(found), want)


@pytest.mark.parametrize(
    ("places", "shape", "axis"),
    [
        (2, (5,), 0),
        (2, (4,), 1),
        ([2], (5,), 0),
        ([2], (3, 5), 0),
        ([2], (4, 1), 1),
        ([2], (4, 3), 1),
        ([3, 1], (2, 5), 0),
        ([3, 1], (2, 1), 0),
        ([3, 1], (4, 2), 1),
        ([3, 1], (2,), 1),
        ([9, 1, 9], (3,), None),
    ],
)
def test_what_is_inserted_is_spread_as_jax_does(places: Any, shape: Any, axis: Any):
    values = 100 + np.arange(np.prod(shape)).reshape(shape)
    found = jnp.insert(jask.from_numpy(X), np.asarray(places), values, axis)
    want = jax.numpy.insert(X, np.asarray(places), values, axis)
    np.testing.assert_array_equal(np.asarray(found), want)


def test_what_does_not_fit_the_places_is_refused():
    with pytest.raises(ValueError, match=r"[Ii]ncompatible"):
        jnp.insert(jask.from_numpy(X), np.asarray([3, 1]), np.ones((3, 5)), 0)


def test_the_gradient_of_insert_is_jaxs():
    x = X.astype("float32")

    def loss(xp: Any, x: Any) -> Any:
        return xp.sum(xp.insert(x, np.asarray([1, 3]), 2.0, 1) ** 2)

    found = jax.grad(lambda x: loss(jnp, x))(jask.from_numpy(x))
    want = jax.grad(lambda x: loss(jax.numpy, x))(x)
    np.testing.assert_array_equal(np.asarray(found), want)


def test_insert_at_a_few_places_keeps_no_indices():
    with jask.config(memory_budget=200_000):
        x = jnp.zeros(10**9, "float32")
        more: jask.DiskArray = jnp.insert(x, np.asarray([5, 10**8]), 1.0)
        plan = jask.explain(more)
    assert plan.startswith("1 pass")  # with the indices of what was there: 8 GB
