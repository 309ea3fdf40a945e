"""Disk-backed arrays for JAX: programs on arrays larger than memory."""

from jask import numpy, random
from jask.api import explain, lift, open, persist, save  # noqa: A004 - as users expect
from jask.array import DiskArray, from_numpy
from jask.config import config, set_memory_budget
from jask.gradient import grad, value_and_grad
from jask.hijax.materialize import materialize
from jask.transforms.jacobian import hessian, jacfwd, jacrev
from jask.transforms.rows import map, scan  # noqa: A004 - as in jax.lax

__all__ = [
    "DiskArray",
    "config",
    "explain",
    "from_numpy",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "lift",
    "map",
    "materialize",
    "numpy",
    "open",
    "persist",
    "random",
    "save",
    "scan",
    "set_memory_budget",
    "value_and_grad",
]
