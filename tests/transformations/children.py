"""Programs that must come to an end, each in a process of its own.

`python -m tests.transformations.children NAME` runs one and prints `done`.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jask
import jask.numpy as dnp
from jask._jax import io_callback

F32 = np.float32
A = np.random.default_rng(0).normal(size=(64, 4)).astype(F32)
W = jnp.asarray([1.0, -2.0, 0.5, 0.25], F32)


def loss(w: Any, x: Any) -> Any:
    return jask.materialize(dnp.mean(dnp.square(dnp.tanh(x @ w))))


def right() -> Any:
    return jax.grad(lambda w: jnp.mean(jnp.square(jnp.tanh(A @ w))))(W)


def agree(found: list[Any]) -> None:
    for g in found:
        # float32 gradients, summed in another order
        np.testing.assert_allclose(np.asarray(g), right(), rtol=1e-4)


def hundreds_of_calls_in_flight() -> None:
    x = jask.from_numpy(A)
    f = jax.jit(jax.grad(loss))
    agree([f(W, x) for _ in range(400)])


def several_threads() -> None:
    x = jask.from_numpy(A)
    forms = (jax.jit(jax.grad(loss)), jax.grad(loss), jask.grad(loss))

    def work(k: int) -> Any:
        return [forms[(k + i) % 3](W, x) for i in range(12)]

    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(work, range(6)):
            agree(found)


def several_programs_at_once() -> None:
    x = jask.from_numpy(A)
    f = [
        jax.jit(lambda w, x, k=k: jax.grad(lambda w: loss(w, x) + 0 * k)(w))
        for k in range(12)
    ]
    agree([g(W, x) for _ in range(10) for g in f])


def a_callback_inside_a_callback() -> None:
    x = jask.from_numpy(A)
    inner = jax.jit(jax.grad(loss))
    shape = jax.ShapeDtypeStruct((4,), F32)

    def call_back(w: Any) -> Any:
        return np.asarray(inner(jnp.asarray(w), x))

    @jax.jit
    def outer(w: Any, x: Any) -> Any:
        value = loss(w, x)
        g = io_callback(call_back, shape, w)
        return g + 0 * value

    agree([outer(W, x) for _ in range(40)])


def loops_in_flight() -> None:
    x = jask.from_numpy(A)

    @jax.jit
    def descend(w: Any, x: Any) -> Any:
        def step(w: Any, _: None) -> Any:
            value, g = jax.value_and_grad(loss)(w, x)
            return w - F32(0.1) * g, value

        return jax.lax.scan(step, w, None, length=20)

    for last, values in [descend(W, x) for _ in range(20)]:
        assert np.isfinite(np.asarray(last)).all()
        assert values[-1] < values[0]


def exit_during_work() -> None:
    """The interpreter ends while calls are in flight."""
    x = jask.from_numpy(np.tile(A, (4000, 1)))
    f = jax.jit(jax.grad(loss))
    f(W, x).block_until_ready()
    for _ in range(20):
        f(W, x)


PROGRAMS: dict[str, Callable[[], None]] = {
    f.__name__: f
    for f in (
        hundreds_of_calls_in_flight,
        several_threads,
        several_programs_at_once,
        a_callback_inside_a_callback,
        loops_in_flight,
        exit_during_work,
    )
}
"""By name."""


if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
    print("done", flush=True)  # noqa: T201 - the parent waits for it
