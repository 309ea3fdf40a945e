"""Draws larger than memory: block by block, with the same bits for all blocks."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask._jax import primitives
from jask.trace.counters import COUNTERS

KEY = jax.random.key(3)
SHAPE = (613, 1009)
WEIGHTS = jax.numpy.asarray([0.1, 0.2, 0.3, 0.4], "float32")


def dropout(key: Any, x: Any, rate: float) -> Any:
    """Return x with elements dropped, the others scaled."""
    keep = jask.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), np.float32(0))


DRAWS = {
    "uniform": lambda r: r.uniform(KEY, SHAPE, "float32"),
    "normal": lambda r: r.normal(KEY, SHAPE, "float32"),
    "bernoulli": lambda r: r.bernoulli(KEY, 0.25, SHAPE),
    "randint": lambda r: r.randint(KEY, SHAPE, 0, 100, "int32"),
    "exponential": lambda r: r.exponential(KEY, SHAPE, "float32"),
    "poisson": lambda r: r.poisson(KEY, 3.5, (113, 1009)),
    "permutation": lambda r: r.permutation(KEY, 120_000),
    "chosen": lambda r: r.choice(KEY, 300_000, (200_000,), replace=False),
    "chosen by weights": lambda r: r.choice(KEY, 4, SHAPE, p=WEIGHTS),
}


@pytest.mark.parametrize("draw", DRAWS)
def test_an_array_larger_than_the_budget_has_the_bits_of_jax(draw: str, tmp_path: Path):
    before = COUNTERS.opaque_steps
    x = DRAWS[draw](jask.random)
    path = tmp_path / "x.npy"
    with jask.config(memory_budget=x.nbytes // 4 + (1 << 18)):
        jask.save(path, x)
    want = np.asarray(DRAWS[draw](jax.random))
    np.testing.assert_array_equal(np.load(path), want, strict=True)
    assert COUNTERS.opaque_steps == before


@pytest.mark.parametrize("block", [1 << 12, 1 << 16, 1 << 20])
def test_the_bits_do_not_depend_on_the_blocks(block: int):
    want = np.asarray(jax.random.normal(KEY, SHAPE, "float32"))
    with jask.config(block_bytes=block, memory_budget="20MB"):
        drawn = jask.materialize(jask.random.normal(KEY, SHAPE, "float32"))
    np.testing.assert_array_equal(np.asarray(drawn), want, strict=True)


def test_the_bits_do_not_depend_on_how_an_array_is_read():
    x = jask.random.uniform(KEY, SHAPE, "float32")
    want = np.asarray(jax.random.uniform(KEY, SHAPE, "float32"))
    with jask.config(block_bytes=1 << 14):
        turned = np.asarray(x.T)
        part = np.asarray(x[100:420:7, 5:-3])
    np.testing.assert_array_equal(turned, want.T, strict=True)
    np.testing.assert_array_equal(part, want[100:420:7, 5:-3], strict=True)


def test_one_element_of_a_huge_array_is_drawn_alone():
    shape = (3, 1 << 33)  # 96 GiB; positions beyond 32 bits
    x = jask.random.bits(KEY, shape, "uint32")
    with jask.config(memory_budget="4MB"):
        got = np.asarray(x[2, -5:])
    hashed = jax.vmap(lambda c: jax.random.key_data(_hash(KEY, c)))
    start = 3 * (1 << 33) - 5
    words = np.asarray(hashed(np.arange(start, start + 5, dtype=np.uint64)))
    np.testing.assert_array_equal(got, words[:, 0] ^ words[:, 1], strict=True)


def _hash(key: Any, counter: Any) -> Any:
    """Return the key numbered so by `jax.random.split`: the hash of the counter."""
    high = (counter >> np.uint64(32)).astype(np.uint32)
    low = counter.astype(np.uint32)
    k = jax.random.key_data(key)
    return jax.random.wrap_key_data(
        jax.numpy.stack(primitives.threefry2x32_p.bind(k[0], k[1], high, low))
    )


def test_dropout_of_a_file_is_one_pass_and_reads_it_once(tmp_path: Path):
    a = np.random.default_rng(0).normal(size=SHAPE).astype("float32")
    np.save(tmp_path / "a.npy", a)
    x = jask.open(tmp_path / "a.npy")
    before = COUNTERS.opaque_steps
    with jask.config(memory_budget=a.nbytes // 2):
        plan = jask.explain(dropout(KEY, x, 0.4))
        jask.save(tmp_path / "b.npy", dropout(KEY, x, 0.4))
    assert plan.startswith("1 pass:")
    keep = np.asarray(jax.random.bernoulli(KEY, 0.6, SHAPE))
    want = np.where(keep, a / np.float32(0.6), np.float32(0))
    # float32 sums, added up in another order
    np.testing.assert_allclose(np.load(tmp_path / "b.npy"), want, rtol=1e-6)
    assert COUNTERS.opaque_steps == before


def test_a_program_is_the_same_for_all_keys():
    def mean(key: Any) -> float:
        return float(jnp.mean(jask.random.normal(key, (1000,), "float32")))

    first = mean(jax.random.key(0))
    before = COUNTERS.snapshot()
    second = mean(jax.random.key(1))
    after = COUNTERS.snapshot()
    assert first != second
    for stage in ("traces", "plans", "compiles"):
        assert after[stage] == before[stage]
