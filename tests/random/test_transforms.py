"""Draws under jit, grad and vmap."""

from pathlib import Path
from typing import Any

import jax
import numpy as np

import jask
import jask.numpy as jnp
from jask.stores.traffic import snapshot
from jask.trace.counters import COUNTERS

KEY = jax.random.key(2)
A = np.random.default_rng(0).normal(size=(29, 7)).astype("float32")


def draws(module: Any, key: Any) -> Any:
    """Return noise from a key that is split and folded."""
    first, second = jax.random.split(jax.random.fold_in(key, 3))
    noise = module.normal(first, A.shape, "float32")
    return noise * module.uniform(second, A.shape, "float32")


def noisy(module: Any, mean: Any, w: Any, x: Any, key: Any) -> Any:
    """Return a loss on inputs with noise."""
    return mean(((x + draws(module, key)) @ w) ** 2)


def jask_loss(w: Any, x: Any, key: Any) -> Any:
    return jask.materialize(noisy(jask.random, jnp.mean, w, x, key))


def jax_loss(w: Any, x: Any, key: Any) -> Any:
    return noisy(jax.random, jax.numpy.mean, w, x, key)


W = np.linspace(-1, 1, 7, dtype="float32")


def test_a_jitted_function_draws_with_its_key():
    run = jax.jit(lambda key: jask.materialize(draws(jask.random, key)))
    for seed in (0, 1):
        got = run(jax.random.key(seed))
        want = draws(jax.random, jax.random.key(seed))
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


def test_a_draw_leaves_a_jitted_function_lazily():
    x = jax.jit(lambda key: jask.random.normal(key, A.shape, "float32"))(KEY)
    assert isinstance(x, jask.DiskArray)
    want = jax.random.normal(KEY, A.shape, "float32")
    np.testing.assert_array_equal(np.asarray(x), np.asarray(want), strict=True)


def test_gradients_of_a_noisy_loss_agree_with_jax():
    x = jask.from_numpy(A)
    want = jax.value_and_grad(jax_loss, (0, 1))(W, A, KEY)
    for transformed in (
        jax.value_and_grad(jask_loss, (0, 1)),
        jax.jit(jax.value_and_grad(jask_loss, (0, 1))),
        jask.value_and_grad(jask_loss, (0, 1)),
    ):
        value, (dw, dx) = transformed(W, x, KEY)
        # float32 gradients, summed in another order
        np.testing.assert_allclose(value, want[0], rtol=1e-5)
        np.testing.assert_allclose(dw, want[1][0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(np.asarray(dx), want[1][1], rtol=1e-4, atol=1e-6)


def test_gradients_pass_through_the_parameters_of_a_sampler():
    def loss(module: Any, total: Any) -> Any:
        key = jax.random.key(1)
        return lambda low: total(module.uniform(key, (50,), "float32", low, 2.0) ** 2)

    got = jask.grad(loss(jask.random, jnp.sum))(np.float32(0.5))
    want = jax.grad(loss(jax.random, jax.numpy.sum))(np.float32(0.5))
    # float32 gradients, summed in another order
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-6)


def test_vmap_over_keys_draws_what_each_key_draws():
    keys = jax.random.split(KEY, 5)
    got = jax.vmap(lambda key: jask.random.normal(key, (11,), "float32"))(keys)
    want = jax.vmap(lambda key: jax.random.normal(key, (11,), "float32"))(keys)
    assert got.shape == (5, 11)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


def test_vmap_of_a_gradient_over_keys():
    keys = jax.random.split(KEY, 3)
    x = jask.from_numpy(A)
    got = jax.vmap(jax.grad(jask_loss), (None, None, 0))(W, x, keys)
    want = jax.vmap(jax.grad(jax_loss), (None, None, 0))(W, A, keys)
    # float32 gradients, summed in another order
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-4, atol=1e-5)


def test_a_scan_over_keys_draws_in_each_step():
    def total(module: Any, mean: Any, finish: Any) -> Any:
        def step(carry: Any, key: Any) -> Any:
            drawn = finish(mean(module.uniform(key, (40,), "float32")))
            return carry + drawn, drawn

        return jax.lax.scan(step, np.float32(0), jax.random.split(KEY, 4))

    got = total(jask.random, jnp.mean, jask.materialize)
    want = total(jax.random, jax.numpy.mean, lambda x: x)
    # float32 gradients, summed in another order
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-6)


def test_a_lifted_function_takes_keys_under_jit_and_vmap():
    noisy = jask.lift(lambda key, x: x + jax.random.uniform(key, x.shape, x.dtype))
    keys = jax.random.split(KEY, 3)
    want = jax.vmap(lambda key: A + jax.random.uniform(key, A.shape, A.dtype))(keys)
    x = jask.from_numpy(A)
    for run in (jax.vmap(noisy, (0, None)), jax.jit(jax.vmap(noisy, (0, None)))):
        np.testing.assert_array_equal(np.asarray(run(keys, x)), want, strict=True)


def test_gradients_with_respect_to_the_shape_of_a_gamma_distribution():
    a = np.linspace(0.5, 3, 6, dtype="float32")

    def total(module: Any, a: Any) -> Any:
        return module.gamma(KEY, a, dtype="float32").sum()

    got = jask.grad(lambda a: total(jask.random, a))(jask.from_numpy(a))
    want = jax.grad(lambda a: total(jax.random, a))(a)
    # float32 gradients, summed in another order
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-4)


def test_dropout_in_a_training_step_reads_the_file_once(tmp_path: Path):
    a = np.random.default_rng(1).normal(size=(40_000, 16)).astype("float32")
    np.save(tmp_path / "a.npy", a)
    x = jask.open(tmp_path / "a.npy")

    def loss(module: Any, xp: Any, w: Any, x: Any, key: Any) -> Any:
        keep = module.bernoulli(key, 0.75, x.shape)
        dropped = xp.where(keep, x / np.float32(0.75), np.float32(0))
        return xp.mean((dropped @ w - 1) ** 2)

    def on_disk(w: Any, x: Any, key: Any) -> Any:
        return jask.materialize(loss(jask.random, jnp, w, x, key))

    w = np.linspace(-1, 1, 16, dtype="float32")
    step = jax.jit(jax.value_and_grad(on_disk))
    before, moved = COUNTERS.opaque_steps, snapshot()
    with jask.config(memory_budget=a.nbytes // 2):
        value, slope = step(w, x, KEY)
    assert (snapshot() - moved).bytes_read == a.nbytes
    assert (snapshot() - moved).bytes_written == 0
    assert COUNTERS.opaque_steps == before
    want = jax.value_and_grad(lambda w: loss(jax.random, jax.numpy, w, a, KEY))(w)
    # float32 gradients, summed in another order
    np.testing.assert_allclose(value, want[0], rtol=1e-5)
    np.testing.assert_allclose(slope, want[1], rtol=1e-4, atol=1e-6)


def test_a_jaxpr_names_the_sampler():
    text = str(jax.make_jaxpr(lambda key: jask.random.normal(key, (3,), "f4"))(KEY))
    assert "normal[" in text


def test_a_key_is_carried_through_the_rows_of_a_disk_array():
    def step(key: Any, row: Any) -> Any:
        key, now = jax.random.split(key)
        return key, row + jax.random.uniform(now, row.shape, row.dtype)

    last, ys = jask.scan(step, KEY, jask.from_numpy(A))
    want_last, want = jax.lax.scan(step, KEY, A)
    assert jax.random.key_data(last).tolist() == (
        jax.random.key_data(want_last).tolist()
    )
    np.testing.assert_array_equal(np.asarray(ys), np.asarray(want), strict=True)


def test_rows_are_mapped_with_a_key_for_each():
    keys = jax.random.split(KEY, len(A))
    noisy = lambda row, numbers: (
        row
        + jax.random.uniform(jax.random.wrap_key_data(numbers), row.shape, row.dtype)
    )
    rows = (jask.from_numpy(A), jask.from_numpy(np.asarray(jax.random.key_data(keys))))
    got = jask.map(lambda pair: noisy(*pair), rows)
    want = jax.vmap(noisy)(A, jax.random.key_data(keys))
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)
