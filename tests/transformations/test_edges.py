"""Gradients where functions have no slope, or two, are those of jax.numpy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jask
import jask.numpy as dnp

F32 = np.float32
NAN = F32(np.nan)
INF = F32(np.inf)

TIES = np.asarray([[2, 1, 2], [0, 2, 0]], F32)
SIGNS = np.asarray([[-1, 0, 2], [-0.0, 3, -4]], F32)

EDGES: dict[str, tuple[Any, np.ndarray[Any, Any]]] = {
    "ties of max": (lambda np, x: np.sum(np.max(x, axis=1)), TIES),
    "ties of max of all": (lambda np, x: np.max(x), TIES),
    "ties of min": (lambda np, x: np.sum(np.min(x, axis=0)), TIES),
    "ties of maximum": (lambda np, x: np.sum(np.maximum(x, x[:, ::-1]) * x), TIES),
    "ties of minimum": (lambda np, x: np.sum(np.minimum(x, F32(2))), TIES),
    "ties of sort": (lambda np, x: np.sum(np.sort(x, axis=1)[:, 0]), TIES),
    "ties of median": (lambda np, x: np.sum(np.median(x, axis=1)), TIES),
    "where with NaN on the other side": (
        lambda np, x: np.sum(np.where(x > F32(0), np.sqrt(x), F32(0))),
        SIGNS,
    ),
    "where guarded twice": (
        lambda np, x: np.sum(
            np.where(x > F32(0), np.log(np.where(x > F32(0), x, F32(1))), F32(0))
        ),
        SIGNS,
    ),
    "abs at 0": (lambda np, x: np.sum(np.abs(x)), SIGNS),
    "sqrt at 0": (lambda np, x: np.sum(np.sqrt(np.abs(x))), SIGNS),
    "norm of a row of zeros": (
        lambda np, x: np.sum(np.linalg.vector_norm(x, axis=1)),
        np.asarray([[0, 0], [3, 4]], F32),
    ),
    "prod with one zero": (lambda np, x: np.sum(np.prod(x, axis=1)), SIGNS[:1]),
    "prod with two zeros": (
        lambda np, x: np.prod(x),
        np.asarray([[0, 2], [0, 3]], F32),
    ),
    "cumprod with a zero": (lambda np, x: np.sum(np.cumprod(x, axis=1)), SIGNS),
    "cumprod of a vector with a zero": (
        lambda np, x: np.sum(np.cumprod(x)),
        np.asarray([3, 0, 2, 5], F32),
    ),
    "cumprod with infinity": (
        lambda np, x: np.sum(np.cumprod(x, axis=1)),
        np.asarray([[2, INF, 3], [INF, 0, 1]], F32),
    ),
    "ties of maxima so far": (lambda np, x: np.sum(np.maximum.accumulate(x, 1)), TIES),
    "ties of minima so far": (lambda np, x: np.sum(np.minimum.accumulate(x)), TIES),
    "logaddexp of -inf so far": (
        lambda np, x: np.sum(np.logaddexp.accumulate(x, 1)),
        np.asarray([[0, -INF, 1], [3, 1, -INF]], F32),
    ),
    "power at 0": (lambda np, x: np.sum(np.pow(np.abs(x), F32(0.5)) * x), SIGNS),
    "clip at its bounds": (lambda np, x: np.sum(np.clip(x, F32(0), F32(2)) * x), TIES),
    "multiples of a divisor": (
        lambda np, x: np.sum(np.mod(x, F32(1.5)) * x + x % F32(1)),
        np.asarray([[0, 1.5, 3], [-1.5, -0.0, 2]], F32),
    ),
    "divisors of a number": (
        lambda np, x: np.sum(np.mod(F32(3), x)),
        np.asarray([1.5, 1, 2, -1.5], F32),
    ),
    "sign and floor": (lambda np, x: np.sum(np.sign(x) * x + np.floor(x)), SIGNS),
    "var of one element": (
        lambda np, x: np.sum(np.var(x, axis=0)),
        np.asarray([[2, 3]], F32),
    ),
    "std of equal elements": (
        lambda np, x: np.std(x),
        np.asarray([[2, 2], [2, 2]], F32),
    ),
    "logsumexp with -inf": (
        lambda np, x: np.sum(np.logaddexp(x[0], x[1])),
        np.asarray([[0, -INF], [1, 2]], F32),
    ),
    "NaN in a sum": (
        lambda np, x: np.sum(x * x),
        np.asarray([[1, NAN], [2, 3]], F32),
    ),
    "infinite elements": (
        lambda np, x: np.sum(np.tanh(x) + np.exp(-x)),
        np.asarray([[INF, 1]], F32),
    ),
    "an empty array": (
        lambda np, x: np.sum(np.sin(x)) + np.sum(np.prod(x, axis=0)),
        np.zeros((0, 3), F32),
    ),
    "an array of no columns": (
        lambda np, x: np.sum(x @ x.T),
        np.zeros((3, 0), F32),
    ),
    "what the loss ignores": (
        lambda np, x: np.sum(np.zeros_like(x)) + np.sum(np.cos(x[:0])),
        TIES,
    ),
    "integers in between": (
        lambda np, x: np.sum(x * np.astype(np.astype(x, np.int32), np.float32)),
        SIGNS,
    ),
    "stop_gradient": (lambda np, x: np.sum(x * jax.lax.stop_gradient(x)), SIGNS),
}


W = np.random.default_rng(5).normal(size=(4, 7)).astype(F32)
EXTREMES: dict[str, Any] = {
    "of sums of products": lambda np, x: np.max(x * F32(1.7) + np.sin(x) * F32(0.3)),
    "of differences from means": lambda np, x: np.sum(
        np.max((x - np.mean(x, axis=1, keepdims=True)) * F32(1.7) + x * x, axis=0)
    ),
    "of standardised columns": lambda np, x: np.sum(
        np.min((x - np.mean(x, axis=0)) / np.std(x, axis=0), axis=0)
    ),
    "of both ends": lambda np, x: np.sum(np.ptp(np.exp(x) * x + x, axis=0)),
    "of a product": lambda np, x: np.sum(np.max(np.tanh(x @ W), axis=0)),
    "of sums": lambda np, x: np.max(np.sum(x * x + x, axis=1)),
    "of running sums": lambda np, x: np.sum(
        np.max(np.cumulative_sum(x * F32(1.3) + x * x, axis=1), axis=0)
    ),
}


@pytest.mark.parametrize("name", EXTREMES)
@settings(max_examples=max(1, settings().max_examples // 5))
@given(
    rows=st.sampled_from([5, 30, 301]),
    block=st.sampled_from([32, 64, 256, 1024]),
    seed=st.integers(0, 2**32 - 1),
)
def test_an_extreme_is_found_again_where_it_was(
    name: str, rows: int, block: int, seed: int
) -> None:
    x = np.random.default_rng(seed).normal(size=(rows, 4)).astype(F32)
    f = EXTREMES[name]
    want = jax.jit(jax.grad(lambda x: f(jnp, x)))(x)
    with jask.config(block_bytes=block):
        got = np.asarray(jask.grad(lambda x: f(dnp, x))(jask.from_numpy(x)))
    # float32, in another order; an extreme that is lost is 0 or NaN
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_the_second_derivative_of_sorted_rows_is_that_of_jax() -> None:
    x = np.random.default_rng(0).normal(size=(5, 3)).astype(F32)

    def pushed(np_: Any, x: Any) -> Any:
        cubes = lambda x: jask.materialize(np_.sum(np_.sort(x, axis=1) ** 3))
        return jax.jvp(jax.grad(cubes), (x,), (x,))[1]

    with jask.config(block_bytes=24):
        got = np.asarray(pushed(dnp, jask.from_numpy(x)))
    # float32 powers
    np.testing.assert_allclose(got, pushed(jnp, jnp.asarray(x)), rtol=1e-5)


def gradients(np_: Any, f: Any, x: Any) -> Any:
    loss = lambda x: jask.materialize(f(np_, x))
    return jax.grad(loss)(x), jax.jit(jax.grad(loss))(x)


@pytest.mark.parametrize("block", [pytest.param(None, marks=pytest.mark.slow), 8])
@pytest.mark.parametrize("name", EDGES)
def test_a_gradient_at_an_edge_is_that_of_jax(name: str, block: int | None) -> None:
    f, x = EDGES[name]
    want = gradients(jnp, f, jnp.asarray(x))
    with jask.config(block_bytes=block):
        got = [np.asarray(g) for g in gradients(dnp, f, jask.from_numpy(x))]
    for g, w in zip(got, want, strict=True):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        # float32 gradients, summed in another order
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_an_integer_has_a_gradient_of_float0(transform):
    def loss(np_: Any, x: Any, n: Any) -> Any:
        return jask.materialize(np_.sum(x * np_.astype(n, np.float32)))

    n = np.asarray([1, 2, 3], np.int32)
    x = TIES[0]
    got = transform(jax.grad(lambda x, n: loss(dnp, x, n), (0, 1), allow_int=True))(
        jask.from_numpy(x), jask.from_numpy(n)
    )
    want = jax.grad(lambda x, n: loss(jnp, x, n), (0, 1), allow_int=True)(
        jnp.asarray(x), jnp.asarray(n)
    )
    np.testing.assert_array_equal(np.asarray(got[0]), want[0])
    assert (got[1].shape, got[1].dtype) == (want[1].shape, want[1].dtype)


@pytest.mark.parametrize("argument", ["x", "n"])
def test_a_vjp_leaves_integers_alone(argument):
    x, n = jask.from_numpy(TIES), jask.from_numpy(np.asarray([[1], [2]], np.int32))
    _, pull = jax.vjp(lambda x, n: dnp.take_along_axis(x, n, axis=1), x, n)
    got = pull(dnp.ones((2, 1), dtype=np.float32))[("x", "n").index(argument)]
    if argument == "x":
        np.testing.assert_array_equal(np.asarray(got), [[0, 1, 0], [0, 0, 1]])
    else:
        assert got.dtype == jax.dtypes.float0


SMOOTH = (
    lambda np, x, w: np.mean(np.square(np.tanh(x @ w))),
    lambda np, x, w: np.sum(np.log1p(np.exp(-(x @ w)))),
    lambda np, x, w: np.sum(np.exp(x * w - np.max(x * w, axis=1, keepdims=True))),
    lambda np, x, w: np.sum(np.var(x * w, axis=0) * np.cumsum(w)),
)


@settings(max_examples=5)
@given(
    f=st.sampled_from(SMOOTH),
    rows=st.integers(1, 7),
    block=st.sampled_from([16, 40, 4096]),
    seed=st.integers(0, 2**16),
)
def test_derivatives_are_differences(f, rows, block, seed):
    """First and second derivatives along a direction, in float64."""
    rng = np.random.default_rng(seed)
    x, d = rng.normal(size=(rows, 3)), rng.normal(size=(rows, 3))
    w = jnp.asarray(rng.normal(size=3))
    disk, direction = jask.from_numpy(x), jask.from_numpy(d)

    def loss(x: Any) -> Any:
        return jask.materialize(f(dnp, x, w))

    with jask.config(block_bytes=block):
        slope = float(dnp.sum(jax.grad(loss)(disk) * direction))
        hvp = jax.jvp(jax.grad(loss), (disk,), (direction,))[1]
        curvature = float(dnp.sum(hvp * direction))
    h = 1e-4
    low, mid, high = (float(f(jnp, jnp.asarray(x + t * d), w)) for t in (-h, 0, h))
    scale = 1 + abs(mid) + abs(slope) + abs(curvature)
    assert slope == pytest.approx((high - low) / (2 * h), abs=1e-5 * scale)
    assert curvature == pytest.approx((high - 2 * mid + low) / h**2, abs=1e-4 * scale)


@pytest.mark.parametrize("block", [8, 16, 24, 1 << 20])
@pytest.mark.parametrize("function", [dnp.var, dnp.mean], ids=["var", "mean"])
def test_equal_values_have_no_spread_at_any_block_size(function: Any, block: int):
    """3 - 15 / 5 is zero: the mean is rounded before it is subtracted."""
    x = jask.from_numpy(np.full(5, 3.0))
    with jask.config(block_bytes=block):
        slope = np.asarray(jask.grad(function)(x))
    assert np.array_equal(slope, np.full(5, 0.2 if function is dnp.mean else 0.0))
