"""Disk-backed arrays for JAX: programs on arrays larger than memory."""

import sys
from typing import TYPE_CHECKING, NoReturn

from jask import numpy, random
from jask.api import explain, lift, open, persist, save  # noqa: A004 - as users expect
from jask.array import DiskArray, from_numpy
from jask.config import config, set_memory_budget
from jask.errors import (
    ConfigError,
    FileFormatError,
    JaskError,
    MemoryBudgetError,
    ProcessStateError,
    ScratchFullError,
    SourceChangedError,
    UnsupportedPrimitiveError,
)
from jask.gradient import grad, value_and_grad
from jask.hijax.materialize import materialize
from jask.transforms.jacobian import hessian, jacfwd, jacrev
from jask.transforms.rows import map, scan  # noqa: A004 - as in jax.lax

__version__ = "0.1.0.dev0"

__all__ = [
    "ConfigError",
    "DiskArray",
    "FileFormatError",
    "JaskError",
    "MemoryBudgetError",
    "ProcessStateError",
    "ScratchFullError",
    "SourceChangedError",
    "UnsupportedPrimitiveError",
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


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})


if not TYPE_CHECKING:
    _INSTEAD = {
        "array": "jask.from_numpy(x), or jask.numpy.asarray(x)",
        "compute": "jask.materialize(x); jask.persist(*arrays) for several",
        "load": "jask.open(path), which reads nothing",
        "savez": "jask.save({path: x, ...}), a .npy file for each array",
    }

    def __getattr__(name: str) -> NoReturn:
        """Say what does here what a function of other libraries does there."""
        msg = f"module 'jask' has no attribute {name!r}"
        if name in _INSTEAD:
            msg = f"{msg}; use {_INSTEAD[name]}."
            raise AttributeError(msg, name=name)
        raise AttributeError(msg, name=name, obj=sys.modules[__name__])
