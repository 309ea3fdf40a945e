"""What is taken from JAX's internals, where no other test looks at it."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import numpy as np

import jask
import jask.numpy as jnp
from jask._jax import forget_traces, worker_device
from jask.execute import run


def test_clients_that_threads_make_at_once_leave_the_environment_alone():
    before = dict(os.environ)
    make = lambda k: worker_device(workers=2, worker=90 + k)
    with ThreadPoolExecutor(8) as pool:
        devices = list(pool.map(make, range(8)))
    assert dict(os.environ) == before
    assert len(set(devices)) == 8


def test_no_dialect_is_left_to_import_where_ctrl_c_could_spoil_it():
    code = """
import sys, numpy as np, jask, jask.numpy as jnp

loaded = lambda: {m for m in sys.modules if "mlir" in m and "dialect" in m}
before = loaded()
assert float(jnp.sum(jnp.sin(jask.from_numpy(np.zeros((300, 300)))))) == 0
print(sorted(loaded() - before))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_jax_keeps_no_traces_of_ever_more_programs():
    """Of 40 programs it kept some hundreds of each kind."""
    code = f"""
import numpy as np, jask, jask.numpy as jnp
from jask import _jax

count = lambda: [len(c.cache_keys()) for c in (*_jax._TRACES, *_jax._ARGUMENTS)]
before = count()
for side in range(400, 440):
    x = jask.from_numpy(np.ones((side, 200), np.float32))
    assert float(jnp.sum(jnp.sin(x) * 2 + x)) != 0
most = {4 * run.MOST_TRACED}
print([n for n, old in zip(count(), before, strict=True) if n > old + most])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


class _Counted:
    """Counts how often a function is traced."""

    def __init__(self) -> None:
        self.traces = 0

    def __call__(self, x: Any) -> Any:
        self.traces += 1
        return jax.numpy.tanh(x @ x) + jax.numpy.sum(x)


def test_what_a_user_has_jitted_is_not_traced_again_once_traces_are_forgotten():
    compiled: list[str] = []
    listen = lambda event, *_, **__: compiled.append(event)
    x, known = np.ones((37, 37), np.float32), _Counted()
    disk = jask.from_numpy(np.ones((400, 200), np.float32))
    square, names = jax.jit(known), list[str]()

    def loss(y: Any) -> Any:
        names.append("loss")
        return jask.materialize(jnp.sum(jnp.square(y)))

    calls: list[Any] = [
        partial(square, x),
        partial(jax.jit(lambda y: square(y) + 1), x),
        partial(jax.vmap(square), x[None]),
        partial(jax.grad(lambda y: square(y).sum()), x),
        partial(jax.numpy.matmul, x, x),
        partial(jax.jit(loss), disk),
        partial(jax.jit(jax.value_and_grad(loss)), disk),
        partial(jax.jit(jask.value_and_grad(loss)), disk),
        partial(jax.jit(jnp.sum), disk),
    ]
    first = [jax.tree.map(np.asarray, call()) for call in calls]
    [call() for call in calls]
    traces = (known.traces, len(names))
    forget_traces()
    jax.monitoring.register_event_duration_secs_listener(listen)
    again = [jax.tree.map(np.asarray, call()) for call in calls]
    jax.jit(lambda y: square(y) * 3).trace(x)
    jax.monitoring.clear_event_listeners()
    assert (known.traces, len(names)) == traces
    assert [e for e in compiled if "backend_compile" in e] == []
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, first, again)))
