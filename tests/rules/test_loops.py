"""Loops whose rows do not look at each other stream, with the results of JAX."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import jask
import jask.numpy as jnp
from jask.stores.base import read_block
from jask.trace.counters import COUNTERS

RNG = np.random.default_rng(7)
KEY = jax.random.key(5)
TABLE = np.sort(RNG.standard_normal(77).astype("f4"))
TABLE[40:43] = TABLE[40]
QUERIES = RNG.standard_normal((150, 99)).astype("f4")
QUERIES.flat[:200] = RNG.choice(TABLE, 200)
QUERIES.flat[200:204] = [np.nan, np.inf, -np.inf, -0.0]
BUDGET = 40_000

type Array = np.ndarray[Any, Any]


def evaluate(fn: Callable[..., Any], *arrays: Any, budget: int = BUDGET) -> list[Any]:
    """Return the results on disk arrays, and how many steps were opaque."""
    before = COUNTERS.opaque_steps
    with jask.config(memory_budget=budget):
        found = jax.tree.leaves(fn(*map(jask.from_numpy, arrays)))
        stores = [x.persist().node.store for x in found]
        values = [read_block(s) for s in stores]
    return [COUNTERS.opaque_steps - before, *values]


def expect(fn: Callable[..., Any], *arrays: Any, opaque: int, **more: Any) -> None:
    """Compare a lifted function with itself in memory."""
    wanted = [np.asarray(w) for w in jax.tree.leaves(jax.jit(fn)(*arrays))]
    number, *found = evaluate(jask.lift(fn), *arrays, **more)
    assert number == opaque
    for got, want in zip(found, wanted, strict=True):
        assert got.tobytes() == want.tobytes()


SEARCHES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "left": lambda xp, a, x: xp.searchsorted(a, x).astype("int32"),
    "right": lambda xp, a, x: xp.searchsorted(a, x, side="right").astype("int32"),
    "digitize": lambda xp, a, x: xp.digitize(x, a).astype("int32"),
    "digitize, right": lambda xp, a, x: xp.digitize(x, a, right=True).astype("int32"),
    "counts": lambda xp, a, x: xp.histogram(x[1:], a)[0],
    "counts in two": lambda xp, a, x: xp.histogram2d(
        x[1:].ravel(), x[:-1].ravel()[::-1], [a, a]
    )[0],
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_in_a_short_table_streams_over_the_queries(name: str) -> None:
    fn = SEARCHES[name]
    x = np.nan_to_num(QUERIES) if "counts" in name else QUERIES
    want = np.asarray(fn(jax.numpy, jax.numpy.asarray(TABLE), jax.numpy.asarray(x)))
    opaque, got = evaluate(lambda a, x: fn(jnp, a, x), TABLE, x, budget=80_000)
    np.testing.assert_array_equal(got, want, strict=True)
    assert opaque == 0


def test_interp_streams_over_its_points() -> None:
    x = np.nan_to_num(QUERIES)
    xp = np.unique(TABLE)
    want = np.asarray(jax.numpy.interp(x, xp, xp**2))
    opaque, got = evaluate(lambda a, x: jnp.interp(x, a, a * a), xp, x)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)  # fused otherwise
    assert opaque == 0


def newton(x: Any) -> Any:
    return lax.fori_loop(0, 9, lambda i, y: (y + x / y) * np.float32(0.5), x + 1)


def walk(x: Any) -> Any:
    def turn(i: Any, state: Any) -> Any:
        y, key = state
        key, own = jax.random.split(key)
        return y + jax.random.uniform(own, x.shape, "float32"), key

    return lax.fori_loop(0, 5, turn, (x, KEY))[0]


def doubled(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 7, lambda s: (s[0] + 1, s[1] * 2), (0, x))[1]


def nested(x: Any) -> Any:
    inner = lambda i, y: lax.fori_loop(0, 3, lambda j, z: z * np.float32(0.5) + x, y)
    return lax.fori_loop(0, 4, inner, x)


@pytest.mark.parametrize(
    "fn", [newton, walk, doubled, nested], ids=lambda f: f.__name__
)
def test_a_loop_that_treats_all_elements_alike_streams(fn: Callable[..., Any]) -> None:
    expect(fn, np.abs(np.nan_to_num(QUERIES, posinf=1, neginf=1)), opaque=0)


def rolled(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, y: y + jax.numpy.roll(y, 1, axis=1), x)


def centred(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda i, y: y - y.max(), x)


def until_all(x: Any) -> Any:
    """Rows go on and off: how often the loop runs is no matter of one block."""
    goes = lambda s: jax.numpy.any(s[1] % 7 != s[0]) & (s[0] < 20)
    return lax.while_loop(goes, lambda s: (s[0] + 1, s[1] * 3), (0, x))[1]


@pytest.mark.parametrize("fn", [rolled, centred, until_all], ids=lambda f: f.__name__)
def test_a_loop_whose_elements_look_at_each_other_stays_whole(
    fn: Callable[..., Any],
) -> None:
    x = RNG.integers(0, 9, (30, 40)).astype("i4")
    expect(fn, x, opaque=1, budget=400_000)


@pytest.mark.parametrize(
    ("shape", "mean", "block"),
    [((2,), 0.5, 4096), ((700,), 12.0, 512), ((30, 40), 300.0, 1024)],
)
def test_draws_by_rejection_have_the_bits_of_jax(
    shape: tuple[int, ...], mean: float, block: int
) -> None:
    want = np.asarray(jax.random.poisson(KEY, mean, shape))
    with jask.config(block_bytes=block):
        got = np.asarray(jask.materialize(jask.random.poisson(KEY, mean, shape)))
    np.testing.assert_array_equal(got, want, strict=True)


def test_draws_with_a_mean_each_have_the_bits_of_jax() -> None:
    mean = np.abs(RNG.standard_normal(3000) * 20).astype("f4")
    mean[:3] = [0, 1e5, 3e-3]
    want = np.asarray(jax.random.poisson(KEY, mean))
    opaque, got = evaluate(lambda m: jask.random.poisson(KEY, m), mean)
    np.testing.assert_array_equal(got, want, strict=True)
    assert opaque == 0


def test_what_is_drawn_under_jit_streams_too(tmp_path: Path) -> None:
    drawn = jax.jit(lambda key: jask.random.binomial(key, 30.0, 0.4, (5000,)))
    want = np.asarray(jax.random.binomial(KEY, 30.0, 0.4, (5000,)))
    with jask.config(memory_budget=BUDGET):
        jask.save(tmp_path / "x.npy", drawn(KEY))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), want, strict=True)
