"""Special values of functions of one array, where XLA differs from the standard.

Each row says for which complex operands (real part `a`, imaginary part `b`) which
value is right; the rows of a function are applied in order, for complex dtypes only.
Real operands take `jax.numpy`'s function as it is, but for `sign`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

type Value = Any
type Part = Callable[[Value, Value], Value]
type Row = tuple[Part, Part, Part]

inf, nan, pi = jnp.inf, jnp.nan, jnp.pi


@dataclass(frozen=True, slots=True)
class Special:
    """A function of complex numbers with its special values put right."""

    function: Callable[..., Any]
    """The function of `jax.numpy`."""

    rows: tuple[Row, ...]
    """Condition, real part and imaginary part, each of `a` and `b`."""

    def __call__(self, x: Value) -> Value:
        """Return the function's values, with the rows applied."""
        out = self.function(x)
        if not jnp.issubdtype(x.dtype, jnp.complexfloating):
            return out
        a, b = jnp.real(x), jnp.imag(x)
        real, imag = jnp.real(out), jnp.imag(out)
        for condition, re, im in self.rows:
            where = condition(a, b)
            real = jnp.where(where, re(a, b), real)
            imag = jnp.where(where, im(a, b), imag)
        return lax.complex(real, imag)


def _constant(value: float) -> Part:
    """Return a part that does not depend on the operand."""
    return lambda a, _: jnp.full_like(a, value)


def _a_sign(value: float) -> Part:
    """Return a part with the sign of the real part."""
    return lambda a, _: jnp.copysign(jnp.full_like(a, value), a)


def _b_sign(value: float) -> Part:
    """Return a part with the sign of the imaginary part."""
    return lambda _, b: jnp.copysign(jnp.full_like(b, value), b)


def _wild(b: Value) -> Value:
    """Return whether a value is infinite or NaN."""
    return ~jnp.isfinite(b)


_ZERO, _ONE, _INF, _NAN = map(_constant, (0.0, 1.0, inf, nan))
_LOW_WILD: Part = lambda a, b: (a == -inf) & _wild(b)
_HIGH_WILD: Part = lambda a, b: (a == inf) & _wild(b)
_INF_WILD: Part = lambda a, b: jnp.isinf(a) & _wild(b)
_ZERO_WILD: Part = lambda a, b: (a == 0) & _wild(b)
_ZERO_NAN: Part = lambda a, b: (a == 0) & jnp.isnan(b)
_INF_NAN: Part = lambda a, b: (
    (jnp.isinf(a) & jnp.isnan(b)) | (jnp.isnan(a) & jnp.isinf(b))
)
_NAN_ZERO: Part = lambda a, b: jnp.isnan(a) & (b == 0)
_INF_FINITE: Part = lambda a, b: jnp.isinf(a) & jnp.isfinite(b)
_ANY_NAN: Part = lambda a, b: (
    (jnp.isnan(b) & (a != 0) & ~jnp.isinf(a)) | (jnp.isnan(a) & ~jnp.isinf(b))
)


def sign(x: Value) -> Value:
    """Return the sign; that of a zero, of either sign, is +0."""
    out = jnp.sign(x)
    if not jnp.issubdtype(out.dtype, jnp.inexact):
        return out
    return jnp.where(x == 0, jnp.zeros((), out.dtype), out)


acos = Special(jnp.acos, ((_ZERO_NAN, _constant(pi / 2), _NAN),))
acosh = Special(jnp.acosh, ((_ZERO_NAN, _NAN, _constant(pi / 2)),))
asinh = Special(jnp.asinh, ((_NAN_ZERO, _NAN, _b_sign(0.0)),))
atanh = Special(
    jnp.atanh,
    (
        (_ZERO_NAN, _a_sign(0.0), _NAN),
        (lambda a, b: jnp.isinf(a) & jnp.isnan(b), _a_sign(0.0), _NAN),
        (_ANY_NAN, _NAN, _NAN),
    ),
)
cosh = Special(jnp.cosh, ((_ZERO_WILD, _NAN, _ZERO), (_INF_WILD, _INF, _NAN)))
exp = Special(jnp.exp, ((_LOW_WILD, _ZERO, _ZERO), (_HIGH_WILD, _INF, _NAN)))
expm1 = Special(
    jnp.expm1, ((_LOW_WILD, _constant(-1.0), _ZERO), (_HIGH_WILD, _INF, _NAN))
)
log = Special(jnp.log, ((_INF_NAN, _INF, _NAN),))
log1p = Special(jnp.log1p, ((_INF_NAN, _INF, _NAN),))
sinh = Special(
    jnp.sinh, ((_ZERO_WILD, _a_sign(0.0), _NAN), (_INF_WILD, _a_sign(inf), _NAN))
)
sqrt = Special(
    jnp.sqrt,
    (
        (lambda a, b: (a == -inf) & jnp.isnan(b), _NAN, _INF),
        (lambda a, b: (a == inf) & jnp.isnan(b), _INF, _NAN),
    ),
)
tanh = Special(
    jnp.tanh,
    ((_ZERO_WILD, _a_sign(0.0), _NAN), (_INF_FINITE, _a_sign(1.0), _b_sign(0.0))),
)
