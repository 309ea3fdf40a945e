"""Loops that look at their state compute each state once."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.stores.traffic import snapshot
from jask.trace.counters import COUNTERS

A = np.random.default_rng(0).normal(size=(4096, 8)).astype("f4")


@pytest.fixture
def a(tmp_path: Path) -> Any:
    np.save(tmp_path / "a.npy", A)
    return jask.open(tmp_path / "a.npy")


def power(np: Any, a: Any, v: Any) -> Any:
    """Return the next vector of a power iteration."""
    w = np.matmul(np.matrix_transpose(a), np.matmul(a, v))
    return w / np.sqrt(np.sum(w * w))


def reads(before: Any) -> float:
    read: int = (snapshot() - before).bytes_read
    return read / A.nbytes


def test_a_loop_until_convergence_reads_its_file_once_a_step_and_plans_once(a: Any):
    old, new, right = (
        jnp.zeros(8, dtype="f4"),
        jnp.ones(8, dtype="f4"),
        np.ones(8, "f4"),
    )
    steps = plans = 0
    before = snapshot()
    while float(jnp.linalg.vector_norm(new - old)) > 1e-3 and steps < 30:
        old, new, right = new, power(jnp, a, new), power(np, A, right)
        steps += 1
        plans = COUNTERS.plans if steps == 4 else plans
    assert steps > 5
    assert reads(before) == pytest.approx(steps, abs=0.01)
    assert COUNTERS.plans == plans
    np.testing.assert_allclose(np.asarray(new), right, rtol=1e-3, atol=1e-4)


def test_what_nobody_holds_or_is_not_computed_on_the_way_is_not_kept(a: Any):
    total, heavy = jnp.sum(a), jnp.max(a, axis=0)
    zeros = jnp.zeros_like(heavy)
    before = snapshot()
    assert float(jnp.sum(zeros)) == 0
    assert reads(before) == 0  # `heavy` was not asked for
    assert float(total + 1) == pytest.approx(A.sum() + 1, abs=0.1)
    assert float(total) == pytest.approx(A.sum(), abs=0.1)
    assert reads(before) == pytest.approx(1, abs=0.01)  # `total` was kept
    for _ in range(2):
        assert float(jnp.sum(a) + 1) == pytest.approx(A.sum() + 1, abs=0.1)
    assert reads(before) == pytest.approx(3, abs=0.01)  # a sum that nobody holds


def test_large_values_are_not_kept(a: Any):
    wide = jnp.sin(a)
    before = snapshot()
    for _ in range(2):
        float(jnp.sum(wide))
    assert reads(before) == pytest.approx(2, abs=0.01)


def test_a_kept_value_of_a_file_that_was_changed_is_an_error(a: Any):
    total = jnp.sum(a)
    later = total * 2
    float(total + 1)
    np.save(a.filename, A[:5])
    with pytest.raises(jask.errors.SourceChangedError):
        float(later)
    with pytest.raises(jask.errors.SourceChangedError):
        float(total + 2)


@pytest.mark.parametrize("looked_at", ["step", "value"])
def test_a_loop_of_jitted_steps_that_looks_at_its_state_computes_each_state_once(
    a: Any, looked_at: str
):
    step = jax.jit(jax.value_and_grad(lambda w, a: jnp.sum((a @ w - 1) ** 2)))
    w, right = jnp.zeros(8, dtype="f4"), np.zeros(8, "f4")
    plans, before = 0, snapshot()
    for number in range(8):
        value, gradient = step(w, a)
        old, w = w, w - 1e-4 * gradient
        seen = value if looked_at == "value" else jnp.linalg.vector_norm(w - old)
        assert float(seen) > 0
        if number == 3:
            plans, before = COUNTERS.plans, snapshot()
        right = right - 1e-4 * 2 * A.T @ (A @ right - 1)
    assert COUNTERS.plans == plans
    assert reads(before) <= 2 * 4
    np.testing.assert_allclose(np.asarray(w), right, rtol=1e-3, atol=1e-5)
