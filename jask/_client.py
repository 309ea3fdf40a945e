"""Clients of XLA that run kernels alone, apart from what users compute."""

import os
import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import jax
from jaxlib import xla_client

__all__ = ["kernel_device", "processors", "worker_device"]


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _private_cpu(threads: int, worker: int) -> Any:  # noqa: ARG001 (a client for each)
    """Return the device of a client with so many threads.

    XLA has no option for their number: it takes it from NPROC, once, as a client is
    made. Without the lock two threads that make clients could leave the other's value.
    """
    with _environment:
        before = os.environ.get("NPROC")
        os.environ["NPROC"] = str(threads)
        try:
            client: Any = xla_client.make_cpu_client(asynchronous=False)
        finally:
            if before is None:
                del os.environ["NPROC"]
            else:
                os.environ["NPROC"] = before
    return client.local_devices()[0]


_environment = threading.Lock()
os.register_at_fork(
    before=_environment.acquire,
    after_in_parent=_environment.release,
    after_in_child=_environment.release,
)


def kernel_device(*, workers: int = 1, worker: int = 0) -> AbstractContextManager[Any]:
    """Return a context in which this thread's JAX computations run apart.

    On a CPU, computations in flight hold one of a few dozen execution slots of their
    client. If user code fills them with computations that wait for a callback, a kernel
    that the callback starts on the same client waits for ever. A client of our own has
    its own slots, and runs every kernel when it is called.

    Where several workers run kernels at once, each has a client with one thread: what
    XLA shares out among a client's threads (reductions, products) would make the
    workers wait for each other.
    """
    device = worker_device(workers=workers, worker=worker)
    return nullcontext() if device is None else jax.default_device(device)


def worker_device(*, workers: int = 1, worker: int = 0) -> Any:
    """Return the device of `kernel_device`; None if that is JAX's own."""
    if jax.default_backend() != "cpu":
        return None
    return _private_cpu(1, worker) if workers > 1 else _private_cpu(processors(), 0)
