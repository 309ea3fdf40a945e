"""What is taken from JAX's internals, where no other test looks at it."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from jask._jax import worker_device


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
