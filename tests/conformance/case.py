"""What is tried of a function: strategies of arguments, and how results compare."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

type Array = np.ndarray[Any, Any]
type Strategy = st.SearchStrategy[Any]

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGER = SIGNED + UNSIGNED
FLOAT = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
REAL = INTEGER + FLOAT
NUMERIC = REAL + COMPLEX
INEXACT = FLOAT + COMPLEX
ALL = BOOL + NUMERIC

SHAPES: tuple[tuple[int, ...], ...] = ((), (7,), (0,), (3, 4), (2, 0), (2, 3, 4))
"""Few, so that few programs are compiled; longer than a block where not empty."""
FILLED = tuple(s for s in SHAPES if 0 not in s)
MANY_AXES = tuple(s for s in SHAPES if s)
FILLED_AXES = tuple(s for s in FILLED if s)

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 100.25, np.inf, -np.inf, np.nan]
FINITE = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 100.25, -17.0, 0.125]
POSITIVE = [1.0, 0.5, 2.5, 3.75, 100.25, 17.0, 0.125]


@dataclass(frozen=True, slots=True)
class Call:
    """Arguments of one call: NumPy arrays stand for arrays, np.dtype for dtypes."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """One function."""

    name: str
    """Its name in the standard, with the extension's."""

    calls: Strategy
    """What it is called with."""

    ulps: int = 0
    """Units in the last place by which each element may differ from the reference."""

    sums: int = 0
    """Rounded additions in a chain: their error is relative to the largest element."""

    either_zero: bool = False
    """Whether a zero may have either sign: both are equal to what compares."""

    check: Callable[[Call, Any], None] | None = None
    """For results that are not unique: raises unless they are right for the call."""


def values(dtype: str, floats: list[float]) -> Strategy:
    """Return elements of a dtype, special ones among them."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return st.booleans()
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        edge = [0, 1, 2, 7, 100, limits.max, limits.max - 1]
        return st.sampled_from(
            [*edge, limits.min, -1, -7] if kind.kind == "i" else edge
        )
    if kind.kind == "c":
        finite = [v for v in floats if np.isfinite(v)]
        return st.builds(complex, st.sampled_from(finite), st.sampled_from(finite))
    return st.sampled_from(floats)


def filled(dtype: str, shape: tuple[int, ...], elements: Strategy) -> Strategy:
    """Return arrays of a dtype and shape."""
    count = int(np.prod(shape))
    flat = st.lists(elements, min_size=count, max_size=count)
    return flat.map(lambda v: np.array(v, dtype).reshape(shape))


@st.composite
def arrays(
    draw: st.DrawFn,
    dtypes: tuple[str, ...] = ALL,
    shapes: tuple[tuple[int, ...], ...] = SHAPES,
    floats: list[float] = SPECIAL,
) -> Array:
    """Return an array."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(st.sampled_from(shapes))
    found: Array = draw(filled(dtype, shape, values(dtype, floats)))
    return found


def small(array: Array, most: int = 9) -> Array:
    """Return integers cut to a few small ones; others as they are."""
    if array.dtype.kind not in "iu":
        return array
    cut = array % most
    return np.asarray(cut, array.dtype)


BROADCASTS = (
    ((), (7,)),
    ((7,), (7,)),
    ((3, 4), (4,)),
    ((3, 1), (2, 3, 4)),
    ((2, 0), (1, 1)),
    ((1,), ()),
)
"""Pairs of shapes that broadcast."""


@st.composite
def pairs(
    draw: st.DrawFn,
    dtypes: tuple[str, ...] = ALL,
    floats: list[float] = SPECIAL,
    shapes: Any = BROADCASTS,
) -> tuple[Array, Array]:
    """Return two arrays that broadcast, of dtypes that promote by the standard."""
    first = draw(st.sampled_from(dtypes))
    second = draw(st.sampled_from([d for d in dtypes if promotes(first, d)]))
    one, other = draw(st.permutations(draw(st.sampled_from(shapes))))
    x = draw(filled(first, one, values(first, floats)))
    y = draw(filled(second, other, values(second, floats)))
    return x, y


def promotes(a: str, b: str) -> bool:
    """Return whether the standard promotes two dtypes with each other."""
    x, y = np.dtype(a), np.dtype(b)
    both = {x.kind, y.kind}
    if both == {"i", "u"}:
        return np.result_type(x, y).kind == "i"
    return x.kind == y.kind or both == {"f", "c"}


def call(*args: Strategy, **kwargs: Strategy) -> Strategy:
    """Return calls with arguments drawn one by one."""
    return st.builds(Call, st.tuples(*args), st.fixed_dictionaries({}, optional=kwargs))


@st.composite
def along(
    draw: st.DrawFn,
    x: Strategy,
    more: dict[str, Strategy] | None = None,
    *,
    one: bool = False,
) -> Call:
    """Return calls with an array, perhaps an axis (or several) and other keywords."""
    array = draw(x)
    kwargs = draw(st.fixed_dictionaries({}, optional=more or {}))
    axes = range(-array.ndim, array.ndim)
    if array.ndim and draw(st.booleans()):
        single = st.sampled_from(axes)
        several = st.lists(
            st.sampled_from(range(array.ndim)), unique=True, min_size=1
        ).map(tuple)
        kwargs["axis"] = draw(single if one else single | several)
    return Call((array,), kwargs)
