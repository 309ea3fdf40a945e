"""Aligned buffers that stores fill and XLA reads without a copy.

XLA on CPU uses a NumPy array in place when it is C-ordered and 64-byte aligned. A
buffer is filled again only after the kernel that reads it has finished, so one JAX
array per (buffer, shape) is made once and used for every step.
"""

import ctypes
from math import prod
from typing import Any

import jax
import numpy as np

from jask._jax import in_place

ALIGNMENT = 64


def aligned_empty(nbytes: int) -> np.ndarray[Any, Any]:
    """Return uninitialised bytes whose address is a multiple of 64."""
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + nbytes]


def aligned_copy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a copy that XLA uses in place."""
    made: np.ndarray[Any, Any]
    made = aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
    np.copyto(made, array)
    return made


class Block:
    """One reusable buffer of a worker."""

    def __init__(self, nbytes: int) -> None:
        self._bytes = aligned_empty(nbytes)
        self._views: dict[Any, tuple[np.ndarray[Any, Any], Any]] = {}
        self._aliased = jax.default_backend() == "cpu"

    @property
    def nbytes(self) -> int:
        """Size of the buffer."""
        return self._bytes.nbytes

    def view(
        self, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> np.ndarray[Any, Any]:
        """Return the NumPy array to fill."""
        key = (shape, dtype)
        if key not in self._views:
            n = dtype.itemsize
            for k in shape:
                n *= k
            host = self._bytes[:n].view(dtype).reshape(shape)
            device = in_place(host) if self._aliased else None
            self._views[key] = (host, device)
        return self._views[key][0]

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """Return the filled block as a JAX array; on a CPU it shares the bytes."""
        host, device = self._views[shape, dtype]
        return device if self._aliased else jax.device_put(host)


def fresh(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """Return a JAX array that may be donated.

    `jax.numpy.zeros` is a program of its own for each shape: compiling it takes longer
    than copying. What does not begin at a multiple of 64 is copied by `in_place`, in a
    quarter of the time of `jax.device_put`.
    """
    nbytes = prod(shape) * dtype.itemsize
    start = ALIGNMENT // 2
    host = aligned_empty(start + nbytes)[start:]
    host.fill(0)
    return in_place(host.view(dtype).reshape(shape))


def host_view(array: Any) -> np.ndarray[Any, Any]:
    """Return a NumPy view of a JAX array that does not keep it from being donated."""
    if array.size == 0 or jax.default_backend() != "cpu":
        return np.asarray(array)
    raw = (ctypes.c_char * array.nbytes).from_address(array.unsafe_buffer_pointer())
    return np.frombuffer(raw, array.dtype).reshape(array.shape)
