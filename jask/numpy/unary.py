"""Elementwise functions of one array: one row each.

A row gives the name, the kernel, what it computes, its dtypes and an example.
"""

from functools import partial

import jax.numpy as jnp

from jask.numpy import _special, _table
from jask.numpy.ufuncs import doctests, ufunc

_unary = partial(_table.unary, module=__name__)

FLOAT = "floating or complex, integers become the default float"
SAME = "the dtype of `x`"
BOOL = "bool"

abs = _unary(
    "abs",
    jnp.abs,
    "Absolute value",
    "real, of the operand's precision",
    "[-1.5, 2.0] -> Array([1.5, 2. ], dtype=float32)",
)
acos = _unary(
    "acos",
    _special.acos,
    "Inverse cosine",
    FLOAT,
    "[0.0, 1.0] -> Array([1.5707964, 0.       ], dtype=float32)",
)
acosh = _unary(
    "acosh",
    _special.acosh,
    "Inverse hyperbolic cosine",
    FLOAT,
    "[1.0, 2.0] -> Array([0.      , 1.316958], dtype=float32)",
)
asin = _unary(
    "asin",
    _special.asin,
    "Inverse sine",
    FLOAT,
    "[0.0, 1.0] -> Array([0.       , 1.5707964], dtype=float32)",
)
asinh = _unary(
    "asinh",
    _special.asinh,
    "Inverse hyperbolic sine",
    FLOAT,
    "[0.0, 1.0] -> Array([0.        , 0.88137364], dtype=float32)",
)
atan = _unary(
    "atan",
    _special.atan,
    "Inverse tangent",
    FLOAT,
    "[0.0, 1.0] -> Array([0.       , 0.7853981], dtype=float32)",
)
atanh = _unary(
    "atanh",
    _special.atanh,
    "Inverse hyperbolic tangent",
    FLOAT,
    "[0.0, 0.5] -> Array([0.        , 0.54930615], dtype=float32)",
)
bitwise_invert = _unary(
    "bitwise_invert",
    jnp.bitwise_invert,
    "Bits inverted",
    SAME,
    "[0, 5] -> Array([-1, -6], dtype=int32)",
)
ceil = _unary(
    "ceil",
    jnp.ceil,
    "Least integer not below",
    SAME,
    "[-1.5, 1.2] -> Array([-1.,  2.], dtype=float32)",
)
conj = _unary(
    "conj",
    jnp.conj,
    "Complex conjugate",
    SAME,
    "[1 + 2j] -> Array([1.-2.j], dtype=complex64)",
)
cos = _unary(
    "cos",
    _special.cos,
    "Cosine of radians",
    FLOAT,
    "[0.0, 1.0] -> Array([1.       , 0.5403023], dtype=float32)",
)
cosh = _unary(
    "cosh",
    _special.cosh,
    "Hyperbolic cosine",
    FLOAT,
    "[0.0, 1.0] -> Array([1.       , 1.5430806], dtype=float32)",
)
exp = _unary(
    "exp",
    _special.exp,
    "Exponential",
    FLOAT,
    "[0.0, 1.0] -> Array([1.       , 2.7182817], dtype=float32)",
)
expm1 = _unary(
    "expm1",
    _special.expm1,
    "Exponential less one, exact near zero",
    FLOAT,
    "[0.0, 1.0] -> Array([0.       , 1.7182819], dtype=float32)",
)
floor = _unary(
    "floor",
    jnp.floor,
    "Greatest integer not above",
    SAME,
    "[-1.5, 1.2] -> Array([-2.,  1.], dtype=float32)",
)
imag = _unary(
    "imag",
    jnp.imag,
    "Imaginary part",
    "real, of the operand's precision",
    "[1 + 2j] -> Array([2.], dtype=float32)",
)
isfinite = _unary(
    "isfinite",
    jnp.isfinite,
    "Whether neither infinite nor NaN",
    BOOL,
    "[1.0, jnp.inf] -> Array([ True, False], dtype=bool)",
)
isinf = _unary(
    "isinf",
    jnp.isinf,
    "Whether infinite",
    BOOL,
    "[1.0, jnp.inf] -> Array([False,  True], dtype=bool)",
)
isnan = _unary(
    "isnan",
    jnp.isnan,
    "Whether NaN",
    BOOL,
    "[1.0, jnp.nan] -> Array([False,  True], dtype=bool)",
)
log = _unary(
    "log",
    _special.log,
    "Natural logarithm",
    FLOAT,
    "[1.0, 2.0] -> Array([0.       , 0.6931472], dtype=float32)",
)
log10 = _unary(
    "log10",
    _special.log10,
    "Logarithm to base 10",
    FLOAT,
    "[1.0, 100.0] -> Array([0., 2.], dtype=float32)",
)
log1p = _unary(
    "log1p",
    _special.log1p,
    "Logarithm of one plus, exact near zero",
    FLOAT,
    "[0.0, 1.0] -> Array([0.       , 0.6931472], dtype=float32)",
)
log2 = _unary(
    "log2",
    _special.log2,
    "Logarithm to base 2",
    FLOAT,
    "[1.0, 8.0] -> Array([0., 3.], dtype=float32)",
)
logical_not = _unary(
    "logical_not",
    jnp.logical_not,
    "Whether zero or false",
    BOOL,
    "[True, False] -> Array([False,  True], dtype=bool)",
)
negative = ufunc.of(
    _unary(
        "negative",
        jnp.negative,
        "The negative",
        SAME,
        "[1.0, -2.0] -> Array([-1.,  2.], dtype=float32)",
    )
)
positive = _unary(
    "positive",
    jnp.positive,
    "The operand itself",
    SAME,
    "[1.0, -2.0] -> Array([ 1., -2.], dtype=float32)",
)
real = _unary(
    "real",
    jnp.real,
    "Real part",
    "real, of the operand's precision",
    "[1 + 2j] -> Array([1.], dtype=float32)",
)
reciprocal = _unary(
    "reciprocal",
    jnp.reciprocal,
    "One divided by the operand",
    FLOAT,
    "[2.0, -4.0] -> Array([ 0.5 , -0.25], dtype=float32)",
)
sign = _unary(
    "sign",
    _special.sign,
    "Sign: -1, 0 or 1; of a complex number z / abs(z)",
    SAME,
    "[-3.0, 0.0, 2.0] -> Array([-1.,  0.,  1.], dtype=float32)",
)
signbit = _unary(
    "signbit",
    jnp.signbit,
    "Whether the sign bit is set",
    BOOL,
    "[-0.0, 0.0] -> Array([ True, False], dtype=bool)",
)
sin = _unary(
    "sin",
    _special.sin,
    "Sine of radians",
    FLOAT,
    "[0.0, 1.0] -> Array([0.        , 0.84147096], dtype=float32)",
)
sinh = _unary(
    "sinh",
    _special.sinh,
    "Hyperbolic sine",
    FLOAT,
    "[0.0, 1.0] -> Array([0.       , 1.1752012], dtype=float32)",
)
sqrt = _unary(
    "sqrt",
    _special.sqrt,
    "Square root",
    FLOAT,
    "[4.0, 2.0] -> Array([2.       , 1.4142135], dtype=float32)",
)
square = _unary(
    "square", jnp.square, "The square", SAME, "[3, -2] -> Array([9, 4], dtype=int32)"
)
tan = _unary(
    "tan",
    _special.tan,
    "Tangent of radians",
    FLOAT,
    "[0.0, 1.0] -> Array([0.       , 1.5574077], dtype=float32)",
)
tanh = _unary(
    "tanh",
    _special.tanh,
    "Hyperbolic tangent",
    FLOAT,
    "[0.0, 1.0] -> Array([0.       , 0.7615942], dtype=float32)",
)
trunc = _unary(
    "trunc",
    jnp.trunc,
    "The integer part",
    SAME,
    "[-1.5, 1.2] -> Array([-1.,  1.], dtype=float32)",
)

__test__ = doctests(globals())

__all__ = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_invert",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "floor",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_not",
    "negative",
    "positive",
    "real",
    "reciprocal",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]  # fmt: skip
