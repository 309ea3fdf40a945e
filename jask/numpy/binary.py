"""Elementwise functions of two arrays that broadcast: one row each.

A row gives the name, the kernel, what it computes, its dtypes and an example. The
operators of DiskArray are these same functions, so they cannot differ.
"""

from functools import partial
from typing import Any

import jax.numpy as jnp

from jask.numpy import _kernels, _table
from jask.numpy.ufuncs import doctests, ufunc

_binary = partial(_table.binary, module=__name__)


def _ufunc(*row: Any) -> ufunc:
    """Return a function that has methods: `add.reduce`."""
    return ufunc.of(_binary(*row))


FLOAT = "floating or complex, integers become the default float"
REAL = "real floating, integers become the default float"
PROMOTED = "the promoted dtype"
BOOL = "bool"

add = _ufunc("add", jnp.add, "Sum", PROMOTED, "2, [1, 4] -> Array([3, 6], dtype=int32)")
atan2 = _binary(
    "atan2",
    jnp.arctan2,  # jax.numpy.atan2 cuts a Python number to the array's integers
    "Angle of the point (x2, x1)",
    REAL,
    "1.0, [1.0, -1.0] -> Array([0.7853982, 2.3561945], dtype=float32)",
)
bitwise_and = _ufunc(
    "bitwise_and",
    jnp.bitwise_and,
    "Bits set in both",
    PROMOTED,
    "6, [3, 4] -> Array([2, 4], dtype=int32)",
)
bitwise_left_shift = _binary(
    "bitwise_left_shift",
    jnp.left_shift,
    "Bits moved up",
    PROMOTED,
    "1, [3, 4] -> Array([ 8, 16], dtype=int32)",
)
bitwise_or = _ufunc(
    "bitwise_or",
    jnp.bitwise_or,
    "Bits set in either",
    PROMOTED,
    "6, [3, 4] -> Array([7, 6], dtype=int32)",
)
bitwise_right_shift = _binary(
    "bitwise_right_shift",
    jnp.right_shift,
    "Bits moved down, the sign kept",
    PROMOTED,
    "64, [3, 4] -> Array([8, 4], dtype=int32)",
)
bitwise_xor = _ufunc(
    "bitwise_xor",
    jnp.bitwise_xor,
    "Bits set in one only",
    PROMOTED,
    "6, [3, 4] -> Array([5, 2], dtype=int32)",
)
copysign = _binary(
    "copysign",
    jnp.copysign,
    "The first operand with the sign of the second",
    REAL,
    "2.0, [-1.0, 0.0] -> Array([-2.,  2.], dtype=float32)",
)
divide = _binary(
    "divide",
    jnp.divide,
    "True quotient",
    FLOAT,
    "1.0, [2.0, 4.0] -> Array([0.5 , 0.25], dtype=float32)",
)
equal = _binary(
    "equal",
    jnp.equal,
    "Whether equal",
    BOOL,
    "2, [2, 3] -> Array([ True, False], dtype=bool)",
)
floor_divide = _binary(
    "floor_divide",
    _kernels.floor_divide,
    "Floor of the quotient",
    PROMOTED,
    "7, [2, -2] -> Array([ 3, -4], dtype=int32)",
)
greater = _binary(
    "greater",
    jnp.greater,
    "Whether greater",
    BOOL,
    "2, [2, 1] -> Array([False,  True], dtype=bool)",
)
greater_equal = _binary(
    "greater_equal",
    jnp.greater_equal,
    "Whether greater or equal",
    BOOL,
    "2, [2, 3] -> Array([ True, False], dtype=bool)",
)
hypot = _binary(
    "hypot",
    jnp.hypot,
    "Length of a hypotenuse, without overflow",
    REAL,
    "3.0, [4.0, 0.0] -> Array([5., 3.], dtype=float32)",
)
less = _binary(
    "less",
    jnp.less,
    "Whether less",
    BOOL,
    "2, [2, 3] -> Array([False,  True], dtype=bool)",
)
less_equal = _binary(
    "less_equal",
    jnp.less_equal,
    "Whether less or equal",
    BOOL,
    "2, [2, 1] -> Array([ True, False], dtype=bool)",
)
logaddexp = _ufunc(
    "logaddexp",
    jnp.logaddexp,
    "Logarithm of the sum of exponentials",
    REAL,
    "0.0, [0.0, 1.0] -> Array([0.6931472, 1.3132617], dtype=float32)",
)
logical_and = _ufunc(
    "logical_and",
    jnp.logical_and,
    "Whether both are true",
    BOOL,
    "True, [True, False] -> Array([ True, False], dtype=bool)",
)
logical_or = _ufunc(
    "logical_or",
    jnp.logical_or,
    "Whether either is true",
    BOOL,
    "False, [True, False] -> Array([ True, False], dtype=bool)",
)
logical_xor = _ufunc(
    "logical_xor",
    jnp.logical_xor,
    "Whether one only is true",
    BOOL,
    "True, [True, False] -> Array([False,  True], dtype=bool)",
)
maximum = _ufunc(
    "maximum",
    jnp.maximum,
    "The greater; NaN if either is",
    PROMOTED,
    "2, [1, 3] -> Array([2, 3], dtype=int32)",
)
minimum = _ufunc(
    "minimum",
    jnp.minimum,
    "The lesser; NaN if either is",
    PROMOTED,
    "2, [1, 3] -> Array([1, 2], dtype=int32)",
)
multiply = _ufunc(
    "multiply",
    jnp.multiply,
    "Product",
    PROMOTED,
    "2, [1, 3] -> Array([2, 6], dtype=int32)",
)
nextafter = _binary(
    "nextafter",
    jnp.nextafter,
    "Next float after the first towards the second",
    REAL,
    "1.0, [2.0, 1.0] -> Array([1.0000001, 1.       ], dtype=float32)",
)
not_equal = _binary(
    "not_equal",
    jnp.not_equal,
    "Whether different",
    BOOL,
    "2, [2, 3] -> Array([False,  True], dtype=bool)",
)
remainder = _binary(
    "remainder",
    _kernels.remainder,
    "Remainder of floor division, with the divisor's sign",
    PROMOTED,
    "7, [3, -3] -> Array([ 1, -2], dtype=int32)",
)
subtract = _ufunc(
    "subtract",
    jnp.subtract,
    "Difference",
    PROMOTED,
    "2, [1, 3] -> Array([ 1, -1], dtype=int32)",
)

__test__ = doctests(globals())

__all__ = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or",
    "bitwise_right_shift", "bitwise_xor", "copysign", "divide", "equal",
    "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal",
    "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum",
    "multiply", "nextafter", "not_equal", "remainder", "subtract",
]  # fmt: skip
