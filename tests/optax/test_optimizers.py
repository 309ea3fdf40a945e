"""Optimisers of optax over parameters on disk: values, and bytes moved."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.stores.traffic import snapshot
from jask.trace.counters import COUNTERS

optax = pytest.importorskip("optax")

RNG = np.random.default_rng(0)
SHAPES = {"w": (2048, 320), "b": (655_360,)}
PARAMETERS = {k: RNG.normal(size=s).astype("float32") for k, s in SHAPES.items()}
GRADIENTS = {k: RNG.normal(size=s).astype("float32") for k, s in SHAPES.items()}
TOTAL = sum(a.nbytes for a in PARAMETERS.values())
BUDGET = "3MB"  # of parameters of 5.2 MB

FUSED: dict[str, tuple[Callable[[], Any], int, int]] = {
    "sgd": (lambda: optax.sgd(1e-2), 2, 1),
    "momentum": (lambda: optax.sgd(1e-2, momentum=0.9), 3, 2),
    "adam": (lambda: optax.adam(1e-3), 4, 3),
    "adamw": (lambda: optax.adamw(1e-3, weight_decay=1e-2), 4, 3),
    "lion": (lambda: optax.lion(1e-3), 3, 2),
}
"""An optimiser; how often it reads and writes as many bytes as there are parameters."""

OTHERS: dict[str, Callable[[], Any]] = {
    "rmsprop": lambda: optax.rmsprop(1e-2),
    "adafactor": lambda: optax.adafactor(1e-2),
    "noisy": lambda: optax.noisy_sgd(1e-2, key=jax.random.key(0)),
    "clipped": lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3)),
    "scheduled": lambda: optax.adam(optax.cosine_decay_schedule(1e-2, 10)),
    "masked": lambda: optax.adamw(1e-3, mask={"w": True, "b": False}),
    "injected": lambda: optax.inject_hyperparams(optax.adam)(learning_rate=1e-3),
    "several": lambda: optax.multi_transform(
        {"a": optax.adam(1e-3), "s": optax.sgd(1e-2)}, {"w": "a", "b": "s"}
    ),
    "every other step": lambda: optax.MultiSteps(optax.adam(1e-3), 2),
}


@pytest.fixture(autouse=True)
def _as_a_user():
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
        yield


def on_disk(folder: Path, arrays: dict[str, Any]) -> dict[str, Any]:
    """Return arrays saved and opened."""
    folder.mkdir()
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return {name: jask.open(folder / f"{name}.npy") for name in arrays}


def lifted(optimizer: Any) -> Any:
    """Return an optimiser over arrays on disk."""
    init, update = jask.lift(optimizer.init), jask.lift(optimizer.update)
    return optax.GradientTransformation(init, update)


apply_updates = jask.lift(optax.apply_updates)


def step(optimizer: Any, p: Any, g: Any, state: Any) -> Any:
    """Return parameters and state after one update, not evaluated."""
    updates, state = optimizer.update(g, state, p)
    return apply_updates(p, updates), state


def expected(optimizer: Any, steps: int, p: Any, g: Any) -> Any:
    """Return the parameters after some updates in memory."""
    state = optimizer.init(p)
    for _ in range(steps):
        updates, state = optimizer.update(g, state, p)
        p = optax.apply_updates(p, updates)
    return p


@pytest.mark.parametrize("name", FUSED)
def test_an_update_reads_and_writes_each_array_once(name: str, tmp_path: Path):
    make, reads, writes = FUSED[name]
    disk = lifted(make())
    p, g = on_disk(tmp_path / "p", PARAMETERS), on_disk(tmp_path / "g", GRADIENTS)
    with jask.config(memory_budget=BUDGET, scratch_dir=tmp_path):
        state = jask.persist(disk.init(p))
        for number in range(3):
            before, counts = snapshot(), COUNTERS.snapshot()
            p, state = jask.persist(*step(disk, p, g, state))
            moved = snapshot() - before
            assert moved.bytes_read == reads * TOTAL
            assert moved.bytes_written == writes * TOTAL
            assert COUNTERS.evaluations == counts["evaluations"] + 1
            assert COUNTERS.opaque_steps == counts["opaque_steps"]
            if number:  # nothing is traced, planned or compiled again
                assert {**COUNTERS.snapshot(), "evaluations": 0} == {
                    **counts,
                    "evaluations": 0,
                }
    for key, want in expected(make(), 3, PARAMETERS, GRADIENTS).items():
        got = np.asarray(p[key])
        # three updates of float32; XLA fuses them in other ways
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, strict=True)


def test_one_parameter_is_updated_in_one_pass(tmp_path: Path):
    disk = lifted(optax.adam(1e-3))
    p, g = on_disk(tmp_path / "p", PARAMETERS), on_disk(tmp_path / "g", GRADIENTS)
    state = jask.persist(disk.init(p["w"]))
    new, state = step(disk, p["w"], g["w"], state)
    moments = state[0].mu, state[0].nu
    assert jask.explain(new, *moments).startswith("1 pass:")


def test_scratch_does_not_grow_with_the_steps(tmp_path: Path):
    disk = lifted(optax.adam(1e-3))
    p, g = on_disk(tmp_path / "p", PARAMETERS), on_disk(tmp_path / "g", GRADIENTS)
    # old and new parameters and moments at once, and no more
    with jask.config(memory_budget=BUDGET, scratch_limit=6 * TOTAL + (1 << 20)):
        state = jask.persist(disk.init(p))
        for _ in range(4):
            p, state = jask.persist(*step(disk, p, g, state))
    assert int(state[0].count) == 4


def test_parameters_and_moments_can_be_saved_over_their_files(tmp_path: Path):
    disk = lifted(optax.adam(1e-3))
    p, g = on_disk(tmp_path / "p", PARAMETERS), on_disk(tmp_path / "g", GRADIENTS)
    state = disk.init(p)
    for _ in range(2):
        p, state = step(disk, p, g, state)
        with jask.config(memory_budget=BUDGET):
            jask.save({tmp_path / "p" / f"{k}.npy": p[k] for k in p})
        p, state = jask.persist(p, state)
    want = expected(optax.adam(1e-3), 2, PARAMETERS, GRADIENTS)
    for key in want:
        saved = np.load(tmp_path / "p" / f"{key}.npy")
        # float32 gradients, summed in another order
        np.testing.assert_allclose(saved, want[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_other_optimisers_have_their_values_by_the_same_path(name: str):
    arrays = {"w": PARAMETERS["w"][:20, :30], "b": PARAMETERS["b"][:50]}
    slopes = {"w": GRADIENTS["w"][:20, :30], "b": GRADIENTS["b"][:50]}
    disk = lifted(OTHERS[name]())
    p, g = (jax.tree.map(jask.from_numpy, t) for t in (arrays, slopes))
    state = disk.init(p)
    for _ in range(3):
        p, state = jask.persist(*step(disk, p, g, state))
    for key, want in expected(OTHERS[name](), 3, arrays, slopes).items():
        # float32 gradients, summed in another order
        np.testing.assert_allclose(np.asarray(p[key]), want, rtol=1e-5, atol=1e-6)


@pytest.fixture
def problem(tmp_path: Path) -> tuple[Any, Any]:
    """Return parameters and targets, both on disk."""
    files = on_disk(tmp_path / "f", {"w": PARAMETERS["b"], "t": GRADIENTS["b"]})
    return files["w"], files["t"]


def loss(w: Any, t: Any) -> Any:
    return jask.materialize(jnp.mean(jnp.log1p(jnp.square(w - t))))


def memory_loss(w: Any, t: Any) -> Any:
    return jax.numpy.mean(jax.numpy.log1p(jax.numpy.square(w - t)))


def train_in_memory(steps: int) -> Any:
    optimizer, w, t = optax.adam(1e-2), PARAMETERS["b"], GRADIENTS["b"]
    state = optimizer.init(w)
    for _ in range(steps):
        updates, state = optimizer.update(jax.grad(memory_loss)(w, t), state, w)
        w = optax.apply_updates(w, updates)
    return w


def test_gradient_and_update_under_jit_never_write_the_gradient(
    problem: tuple[Any, Any], tmp_path: Path
):
    w, t = problem
    disk = lifted(optax.adam(1e-2))

    @jax.jit
    def train(w: Any, state: Any, t: Any) -> Any:
        value, slope = jax.value_and_grad(loss)(w, t)
        return value, *step(disk, w, slope, state)

    state = jask.persist(disk.init(w))
    losses = []
    with jask.config(memory_budget="1.5MB"):
        for _ in range(3):
            before = snapshot()
            value, *new = train(w, state, t)
            w, state = jask.persist(*new)
            moved = snapshot() - before
            losses.append(float(value))
            # the loss reads w and t; the update reads w, t, m, v and writes w, m, v
            assert moved.bytes_read == 6 * w.nbytes
            assert moved.bytes_written == 3 * w.nbytes
    assert losses == sorted(losses, reverse=True)
    # float32 gradients, summed in another order
    np.testing.assert_allclose(np.asarray(w), train_in_memory(3), rtol=1e-4, atol=1e-5)
    assert not list(tmp_path.rglob("*.grad"))


def test_loss_gradient_and_update_are_one_sweep_when_evaluated_together(
    problem: tuple[Any, Any],
):
    w, t = problem
    disk = lifted(optax.adam(1e-2))
    state = jask.persist(disk.init(w))
    before = snapshot()
    lazy, pull = jax.vjp(
        lambda w: jnp.mean(jnp.log1p(jnp.square(w - t))), w
    )  # nothing is read: the loss stays a disk array
    (slope,) = pull(jnp.ones((), "float32"))
    with jask.config(memory_budget=BUDGET):
        value, w, state = jask.persist(lazy, *step(disk, w, slope, state))
    moved = snapshot() - before
    assert moved.bytes_read == 4 * w.nbytes
    assert moved.bytes_written == 3 * w.nbytes
    want = memory_loss(PARAMETERS["b"], GRADIENTS["b"])
    # float32 gradients, summed in another order
    np.testing.assert_allclose(float(value), want, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(w), train_in_memory(1), rtol=1e-5, atol=1e-6)


def test_a_jitted_step_whose_loss_stays_on_disk_is_one_sweep(
    problem: tuple[Any, Any],
):
    w, t = problem
    disk = lifted(optax.adam(1e-2))

    @jax.jit
    def train(w: Any, state: Any, t: Any) -> Any:
        value, slope = jax.value_and_grad(
            lambda w: jnp.mean(jnp.log1p(jnp.square(w - t)))
        )(w)
        return value, *step(disk, w, slope, state)

    state = jask.persist(disk.init(w))
    for _ in range(3):
        before = snapshot()
        with jask.config(memory_budget="1.5MB"):
            value, w, state = jask.persist(*train(w, state, t))
        moved = snapshot() - before
        assert moved.bytes_read == 4 * w.nbytes
        assert moved.bytes_written == 3 * w.nbytes
        assert value.shape == ()
    # float32 gradients, summed in another order
    np.testing.assert_allclose(np.asarray(w), train_in_memory(3), rtol=1e-4, atol=1e-5)
