"""Add a product of matrices to sums where they lie, without room for the product.

NumPy has no function for that. SciPy passes the routines of its BLAS on to compiled
code (`scipy.linalg.cython_blas`), which is how JAX calls them, too: in column-major
order, by 32-bit sizes. A row-major array is the transpose of a column-major one, so the
product is computed as `sums.T += right.T @ left.T`.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

__all__ = ["add_product", "load_blas"]

type Array = np.ndarray[Any, Any]

_ROUTINES = {
    np.dtype("float32"): ("sgemm", ctypes.c_float),
    np.dtype("float64"): ("dgemm", ctypes.c_double),
}


def add_product(left: Array, right: Array, sums: Array) -> None:
    """Add `left @ right` to `sums`, which are contiguous; a vector may take part.

    All three are float32, or all float64. Along one of their axes the elements of an
    operand lie one after another.
    """
    left = np.atleast_2d(left)
    right = right[:, None] if right.ndim == 1 else right
    rows, depth = left.shape
    columns = right.shape[1]
    assert sums.flags.c_contiguous
    assert sums.flags.writeable
    assert sums.size == rows * columns
    assert len(right) == depth
    if not depth or not sums.size:
        return
    routine, real = _routine(sums.dtype)
    one = ctypes.byref(real(1))
    sizes = (ctypes.byref(ctypes.c_int(n)) for n in (columns, rows, depth))
    (turn_right, step_right), (turn_left, step_left) = _order(right), _order(left)
    routine(
        turn_right,
        turn_left,
        *sizes,
        one,
        right.ctypes.data,
        step_right,
        left.ctypes.data,
        step_left,
        one,
        sums.ctypes.data,
        ctypes.byref(ctypes.c_int(max(1, columns))),
    )


def _order(x: Array) -> tuple[bytes, Any]:
    """Return whether BLAS must transpose an operand, and how far apart its lines are.

    An operand that is row-major need not be: its transpose is what BLAS sees and takes.
    """
    (down, across), size = x.strides, x.itemsize
    rows, columns = x.shape
    if across == size or columns == 1:
        turned, stride, line = b"N", down, columns
    else:
        assert down == size or rows == 1, x.strides
        turned, stride, line = b"T", across, rows
    return turned, ctypes.byref(ctypes.c_int(max(stride // size, line, 1)))


def load_blas() -> None:
    """Load SciPy's BLAS, if it is not: threads can be limited from then on."""
    for dtype in _ROUTINES:
        _routine(dtype)


@cache
def _routine(dtype: np.dtype[Any]) -> tuple[Callable[..., None], Any]:
    """Return the routine of a dtype, which runs without the interpreter's lock."""
    from scipy.linalg import cython_blas  # noqa: PLC0415 - takes 0.1 s

    name, real = _ROUTINES[dtype]
    capsule = cython_blas.__pyx_capi__[name]
    text, number, array = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p
    name_of = ctypes.PYFUNCTYPE(text, ctypes.py_object)
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, text)
    name_in = name_of(("PyCapsule_GetName", ctypes.pythonapi))
    pointer_in = pointer_of(("PyCapsule_GetPointer", ctypes.pythonapi))
    address = pointer_in(capsule, name_in(capsule))
    kinds = (
        *(text, text, number, number, number),
        *(number, array, number, array, number),
        *(number, array, number),
    )
    return ctypes.CFUNCTYPE(None, *kinds)(address), real
