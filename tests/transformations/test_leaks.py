"""A training loop leaves nothing behind and prepares nothing again."""

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from jask.hijax import callbacks
from jask.hijax.handles import TABLE
from jask.stores.scratch import scratch_in_use
from jask.trace.counters import COUNTERS
from jask.trace.graph import Node

F32 = np.float32
STEP = F32(0.1)
A = np.random.default_rng(0).normal(size=(256, 4)).astype(F32)
B = np.tanh(A @ np.ones(4, F32))


@pytest.fixture
def files(tmp_path: Path) -> Any:
    np.save(tmp_path / "x.npy", A)
    np.save(tmp_path / "y.npy", B)
    return jask.open(tmp_path / "x.npy"), jask.open(tmp_path / "y.npy")


def loss(w: Any, x: Any, y: Any) -> Any:
    return jask.materialize(dnp.mean(dnp.square(dnp.tanh(x @ w) - y)))


def descent(w: Any, x: Any, y: Any) -> Any:
    return w - STEP * jax.grad(loss)(w, x, y)


def at_once(w: Any, x: Any, y: Any) -> Any:
    return w - STEP * jask.grad(loss)(w, x, y)


def through_data(w: Any, x: Any, y: Any) -> Any:
    """The gradient of the data stays on disk, and leaves the call as a handle."""
    g = jax.grad(loss, 1)(w, x, y)
    return w - STEP * jask.materialize(dnp.mean(g, axis=0))


def walk(w: Any, x: Any, y: Any) -> Any:
    """A disk carry, in reverse."""

    def total(w: Any) -> Any:
        last = jax.lax.fori_loop(0, 2, lambda _, z: dnp.tanh(z) * F32(0.5), x * w)
        return jask.materialize(dnp.mean(last))

    return w - STEP * jax.grad(total)(w)


LOOPS: dict[str, tuple[Callable[..., Any], int]] = {
    "jit": (jax.jit(descent), 3000),
    "jit, handles": (jax.jit(through_data), 300),
    "jit, a loop": (jax.jit(walk), 100),
    "eager": (descent, 100),
    "jask.grad": (at_once, 100),
}


def census() -> dict[str, int]:
    """Return the number of everything that could pile up."""
    jax.effects_barrier()
    gc.collect()
    TABLE.collect()
    orphans = sum(e.kind == "orphan" for e in TABLE._entries.values())
    return {
        "handles": len(TABLE) - orphans,
        "parked values": len(callbacks._parked),
        "nodes": sum(isinstance(o, Node) for o in gc.get_objects()),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
        "scratch": scratch_in_use(),
    }


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n == "jit" else ()) for n in LOOPS],
)
def test_a_loop_leaves_nothing_and_prepares_nothing(name: str, files: Any) -> None:
    step, count = LOOPS[name]
    w = jnp.zeros(4, F32)
    for _ in range(3):
        w = step(w, *files)
    before, work = census(), COUNTERS.snapshot()
    for _ in range(count):
        w = step(w, *files)
    after, done = census(), COUNTERS.snapshot()
    assert np.isfinite(np.asarray(w)).all()
    for key in ("traces", "plans", "compiles", "opaque_steps"):
        assert done[key] == work[key], key
    for key, number in before.items():
        assert after[key] <= number + 3, (key, number, after[key])
