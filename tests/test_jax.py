"""What is taken from JAX's internals, where no other test looks at it."""

import os
from concurrent.futures import ThreadPoolExecutor

from jask._jax import worker_device


def test_clients_that_threads_make_at_once_leave_the_environment_alone():
    before = dict(os.environ)
    make = lambda k: worker_device(workers=2, worker=90 + k)
    with ThreadPoolExecutor(8) as pool:
        devices = list(pool.map(make, range(8)))
    assert dict(os.environ) == before
    assert len(set(devices)) == 8
