"""Special values of functions of one array, where XLA differs from the standard.

1. A complex operand is reflected to where both parts are positive (only the imaginary
   one if the function is neither odd nor even), and the result reflected back. So the
   signs of zeros and infinities agree, as the standard's symmetries demand.
2. Each row of a function says for which reflected operands (real part `a`, imaginary
   part `b`) which value is right; rows are applied in order.
3. asin, atan, cos, sin and tan are their hyperbolic partners of the operand times 1j,
   as the standard defines them.

Real operands take `jax.numpy`'s function as it is, but for `sign`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp
from jax import lax

type Value = Any
type Test = Callable[[Value, Value], Value]
type Row = tuple[Test, float, float]
type Symmetry = Literal["odd", "even", "conjugate"]

inf, nan, pi = jnp.inf, jnp.nan, jnp.pi


@dataclass(frozen=True, slots=True)
class Special:
    """A function of complex numbers with its special values put right."""

    function: Callable[..., Any]
    """The function of `jax.numpy`."""

    symmetry: Symmetry
    """What `f(-z)` is, if anything; `f(conj(z))` is `conj(f(z))` always."""

    rows: tuple[Row, ...]
    """Condition on `a` and `b`, real part and imaginary part of the result."""

    def __call__(self, x: Value) -> Value:
        """Return the function's values, with the rows applied."""
        if not jnp.issubdtype(x.dtype, jnp.complexfloating):
            return self.function(x)
        return lax.complex(*self.parts(jnp.real(x), jnp.imag(x)))

    def parts(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Return real and imaginary part of the function of `a + b * 1j`."""
        low = jnp.signbit(b)
        left = None if self.symmetry == "conjugate" else jnp.signbit(a)
        a = a if left is None else _flipped(left, a)
        b = _flipped(low, b)
        out = self.function(lax.complex(a, b))
        real, imag = jnp.real(out), jnp.imag(out)
        for condition, re, im in self.rows:
            where = condition(a, b)
            real = jnp.where(where, jnp.full_like(real, re), real)
            imag = jnp.where(where, jnp.full_like(imag, im), imag)
        if self.symmetry == "odd":
            real = _flipped(left, real)
        elif self.symmetry == "even":
            imag = _flipped(left, imag)
        return real, _flipped(low, imag)


@dataclass(frozen=True, slots=True)
class Turned:
    """A trigonometric function, as its hyperbolic partner of the operand times 1j."""

    function: Callable[..., Any]
    """The function of `jax.numpy`, for real operands."""

    partner: Special
    """The hyperbolic function."""

    def __call__(self, x: Value) -> Value:
        """Return the function's values."""
        if not jnp.issubdtype(x.dtype, jnp.complexfloating):
            return self.function(x)
        p, q = self.partner.parts(jnp.imag(x), jnp.real(x))
        even = self.partner.symmetry == "even"
        return lax.complex(p, -q) if even else lax.complex(q, p)


def _flipped(where: Value, x: Value) -> Value:
    """Return `-x` where a condition holds; unlike abs with a derivative at zero."""
    return jnp.where(where, -x, x)


def _wild(x: Value) -> Value:
    """Return whether a value is infinite or NaN."""
    return ~jnp.isfinite(x)


_ZERO_WILD: Test = lambda a, b: (a == 0) & _wild(b)
_ZERO_NAN: Test = lambda a, b: (a == 0) & jnp.isnan(b)
_INF_WILD: Test = lambda a, b: (a == inf) & _wild(b)
_INF_NAN: Test = lambda a, b: (a == inf) & jnp.isnan(b)
_LOW_NAN: Test = lambda a, b: (a == -inf) & jnp.isnan(b)
_LOW_WILD: Test = lambda a, b: (a == -inf) & _wild(b)
_NAN_ZERO: Test = lambda a, b: jnp.isnan(a) & (b == 0)
_NAN_INF: Test = lambda a, b: jnp.isnan(a) & (b == inf)
_INF_FINITE: Test = lambda a, b: (a == inf) & jnp.isfinite(b)
_HUGE: Test = lambda a, b: (jnp.isinf(a) & jnp.isnan(b)) | (jnp.isnan(a) & jnp.isinf(b))
_ANY_NAN: Test = lambda a, b: (
    (jnp.isnan(a) & ~jnp.isinf(b)) | (jnp.isnan(b) & ~jnp.isinf(a))
)


def sign(x: Value) -> Value:
    """Return the sign; that of a zero, of either sign, is +0."""
    out = jnp.sign(x)
    if not jnp.issubdtype(out.dtype, jnp.inexact):
        return out
    return jnp.where(x == 0, jnp.zeros((), out.dtype), out)


_LOGARITHM: tuple[Row, ...] = ((_HUGE, inf, nan),)

acos = Special(jnp.acos, "conjugate", ((_ANY_NAN, nan, nan), (_ZERO_NAN, pi / 2, nan)))
acosh = Special(
    jnp.acosh, "conjugate", ((_ANY_NAN, nan, nan), (_ZERO_NAN, nan, pi / 2))
)
asinh = Special(jnp.asinh, "odd", ((_ANY_NAN, nan, nan), (_NAN_ZERO, nan, 0.0)))
atanh = Special(
    jnp.atanh,
    "odd",
    (
        (_ANY_NAN, nan, nan),
        (_ZERO_NAN, 0.0, nan),
        (_INF_NAN, 0.0, nan),
        (_NAN_INF, 0.0, pi / 2),
    ),
)
cosh = Special(jnp.cosh, "even", ((_ZERO_WILD, nan, 0.0), (_INF_WILD, inf, nan)))
exp = Special(jnp.exp, "conjugate", ((_LOW_WILD, 0.0, 0.0), (_INF_WILD, inf, nan)))
expm1 = Special(jnp.expm1, "conjugate", ((_LOW_WILD, -1.0, 0.0), (_INF_WILD, inf, nan)))
log = Special(jnp.log, "conjugate", _LOGARITHM)
log10 = Special(jnp.log10, "conjugate", _LOGARITHM)
log1p = Special(jnp.log1p, "conjugate", _LOGARITHM)
log2 = Special(jnp.log2, "conjugate", _LOGARITHM)
sinh = Special(jnp.sinh, "odd", ((_ZERO_WILD, 0.0, nan), (_INF_WILD, inf, nan)))
sqrt = Special(
    jnp.sqrt,
    "conjugate",
    (
        (_LOW_NAN, nan, inf),
        (_INF_NAN, inf, nan),
        (lambda _, b: b == inf, inf, inf),
    ),
)
tanh = Special(jnp.tanh, "odd", ((_ZERO_WILD, 0.0, nan), (_INF_FINITE, 1.0, 0.0)))

asin = Turned(jnp.asin, asinh)
atan = Turned(jnp.atan, atanh)
cos = Turned(jnp.cos, cosh)
sin = Turned(jnp.sin, sinh)
tan = Turned(jnp.tan, tanh)
