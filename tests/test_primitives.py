"""Primitives of our own, beside loops that say what they mean."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import test_util

from jask._primitives import linear_recurrence, previous

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 4, 3)).astype("f4")


def loop(a: Any, b: Any, axis: int, reverse: bool) -> Any:
    order = range(a.shape[axis])
    s: Any = 0
    found: dict[int, Any] = {}
    for k in reversed(order) if reverse else order:
        s = jnp.take(a, k, axis) * s + jnp.take(b, k, axis)
        found[k] = s
    return jnp.stack([found[k] for k in order], axis)


WAYS = [(axis, reverse) for axis in (0, 1) for reverse in (False, True)]


@pytest.mark.parametrize(("axis", "reverse"), WAYS)
def test_a_recurrence_is_what_a_loop_computes(axis: int, reverse: bool) -> None:
    ours = partial(linear_recurrence, axis=axis, reverse=reverse)
    want = loop(A, B, axis, reverse)
    for run in (ours, jax.jit(ours)):
        np.testing.assert_allclose(run(A, B), want, rtol=1e-6)


@pytest.mark.parametrize(("axis", "reverse"), WAYS)
def test_a_recurrence_is_differentiated_twice(axis: int, reverse: bool) -> None:
    ours = partial(linear_recurrence, axis=axis, reverse=reverse)
    model = partial(loop, axis=axis, reverse=reverse)
    square = lambda f, a, b: jnp.sum(jnp.square(f(a, b)))
    for found, want in (
        (jax.grad(partial(square, f), (0, 1))(A, B) for f in (ours, model)),
        (jax.hessian(partial(square, f))(A, B) for f in (ours, model)),
        (jax.jvp(f, (A, B), (B, A))[1] for f in (ours, model)),
    ):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)
    test_util.check_grads(ours, (A, B), order=2, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 1), (2, 0)])
def test_a_recurrence_is_batched(axes: tuple[int | None, int | None]) -> None:
    sides = [(2, 4, 3), (4, 2, 3), (4, 3, 2)]
    draw = lambda d: RNG.normal(size=(4, 3) if d is None else sides[d]).astype("f4")
    a, b = map(draw, axes)
    found = jax.vmap(partial(linear_recurrence, axis=1), axes)(a, b)
    want = jax.vmap(partial(loop, axis=1, reverse=False), axes)(a, b)
    np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_what_comes_before_the_first_is_zero(n: int) -> None:
    x = np.arange(1, n + 1)
    np.testing.assert_array_equal(previous(x, 0), [0, *x[:-1]][:n])
    np.testing.assert_array_equal(previous(x, 0, reverse=True), [*x[1:], 0][:n])
