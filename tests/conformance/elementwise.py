"""Cases of the elementwise functions."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.conformance.case import (
    ALL,
    BOOL,
    COMPLEX,
    FINITE,
    FLOAT,
    INTEGER,
    NUMERIC,
    POSITIVE,
    REAL,
    SPECIAL,
    Call,
    Case,
    Strategy,
    arrays,
    call,
    pairs,
    small,
)

EXACT_UNARY = {
    "abs": REAL,
    "bitwise_invert": BOOL + INTEGER,
    "ceil": REAL,
    "conj": NUMERIC,
    "floor": REAL,
    "imag": COMPLEX,
    "isfinite": NUMERIC,
    "isinf": NUMERIC,
    "isnan": NUMERIC,
    "logical_not": BOOL,
    "negative": NUMERIC,
    "positive": NUMERIC,
    "real": NUMERIC,
    "round": NUMERIC,
    "signbit": FLOAT,
    "trunc": REAL,
}
"""Functions whose results are rounded nowhere, and their dtypes."""

ROUNDED_UNARY = (
    "asin",
    "asinh",
    "atan",
    "atanh",
    "acos",
    "acosh",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log10",
    "log1p",
    "log2",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
)

MODERATE = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 7.25, -0.625]
"""For complex functions: far out, NumPy and XLA cancel differently."""

EXACT_BINARY = {
    "add": NUMERIC,
    "bitwise_and": BOOL + INTEGER,
    "bitwise_or": BOOL + INTEGER,
    "bitwise_xor": BOOL + INTEGER,
    "copysign": FLOAT,
    "equal": ALL,
    "greater": REAL,
    "greater_equal": REAL,
    "less": REAL,
    "less_equal": REAL,
    "logical_and": BOOL,
    "logical_or": BOOL,
    "logical_xor": BOOL,
    "maximum": REAL,
    "minimum": REAL,
    "nextafter": FLOAT,
    "not_equal": ALL,
    "subtract": NUMERIC,
}

ROUNDED_BINARY = {
    "atan2": FLOAT,
    "hypot": FLOAT,
    "logaddexp": FLOAT,
}

ZERO_SIGN_FREE = {"maximum", "minimum"}
"""The standard leaves open which zero is the greater."""


def _unary() -> list[Case]:
    exact = [Case(n, call(arrays(d))) for n, d in EXACT_UNARY.items()]
    rounded = [
        Case(
            n,
            call(arrays(FLOAT)) | call(arrays(COMPLEX, floats=MODERATE)),
            ulps=32,  # eight roundings inside, in either of the two libraries
        )
        for n in ROUNDED_UNARY
    ] + [
        Case(
            "reciprocal",  # of a complex zero the standard has none
            call(arrays(FLOAT)) | call(arrays(COMPLEX, floats=POSITIVE)),
            ulps=4,
        )
    ]
    return exact + rounded


def _nonzero_divisor(pair: tuple[Any, Any]) -> Call:
    x, y = pair
    return Call((x, np.where(y == 0, np.ones((), y.dtype), y)))


def _shift(pair: tuple[Any, Any]) -> Call:
    x, y = pair
    return Call((x, small(y, 7)))


def _power(pair: tuple[Any, Any]) -> Call:
    x, y = pair
    return Call((small(x, 4), small(y, 3)))


def _two(dtypes: tuple[str, ...], floats: list[float] = SPECIAL) -> Strategy:
    return pairs(dtypes, floats).map(Call)


def _binary() -> list[Case]:
    exact = [
        Case(n, _two(d), ulps=int(n in ZERO_SIGN_FREE)) for n, d in EXACT_BINARY.items()
    ]
    rounded = [Case(n, _two(d), ulps=8) for n, d in ROUNDED_BINARY.items()]
    return [
        *exact,
        *rounded,
        Case("bitwise_left_shift", pairs(INTEGER).map(_shift)),
        Case("bitwise_right_shift", pairs(INTEGER).map(_shift)),
        Case("divide", _two(FLOAT) | _two(COMPLEX, POSITIVE), ulps=8),
        Case("multiply", _two(REAL) | _two(COMPLEX, FINITE), ulps=4),
        Case("floor_divide", pairs(REAL, POSITIVE).map(_nonzero_divisor)),
        Case("remainder", pairs(REAL, POSITIVE).map(_nonzero_divisor)),
        Case("pow", pairs(INTEGER).map(_power) | _two(FLOAT, POSITIVE), ulps=32),
    ]


@st.composite
def _clipped(draw: st.DrawFn) -> Call:
    x = draw(arrays(REAL))
    limits = [1, 5] if x.dtype.kind in "iu" else [-1.5, 2.5]
    low, high = draw(st.sampled_from([(None, 1), (0, None), (0, 1), (None, None)]))
    bounds: list[Any] = [None if at is None else limits[at] for at in (low, high)]
    if draw(st.booleans()):
        bounds = [None if b is None else np.array(b, x.dtype) for b in bounds]
    return Call((x, *bounds))


@st.composite
def _chosen(draw: st.DrawFn) -> Call:
    x, y = draw(pairs(ALL))
    shape = np.broadcast_shapes(x.shape, y.shape)
    return Call((draw(arrays(BOOL, (shape,))), x, y))


CASES = [
    *_unary(),
    *_binary(),
    Case("clip", _clipped(), either_zero=True),
    Case("where", _chosen()),
    Case(
        "astype",
        call(
            arrays(REAL, floats=FINITE),
            st.sampled_from(
                [np.dtype(d) for d in ("float32", "float64", "complex128")]
            ),
        ),
    ),
]
