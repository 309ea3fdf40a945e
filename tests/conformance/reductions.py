"""Cases of statistical, searching, sorting, set and utility functions."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.conformance.case import (
    BOOL,
    FILLED,
    FILLED_AXES,
    FINITE,
    FLOAT,
    INTEGER,
    NUMERIC,
    REAL,
    SHAPES,
    Call,
    Case,
    Strategy,
    along,
    arrays,
    call,
    pairs,
)

KEEP: dict[str, Strategy] = {"keepdims": st.booleans()}
SUMMED = arrays(NUMERIC, floats=FINITE)
CORRECTED: dict[str, Strategy] = {**KEEP, "correction": st.just(0.5)}
FLOATS = arrays(FLOAT, FILLED, floats=FINITE)
ROUNDINGS = 64
"""More than twice the longest sum here (24 elements), with some for their squares."""
INITIAL: dict[str, Strategy] = {"include_initial": st.booleans()}
ORDER: dict[str, Strategy] = {"descending": st.booleans(), "stable": st.just(True)}


@st.composite
def _summed(draw: st.DrawFn) -> Call:
    found: Call = draw(along(SUMMED, KEEP))
    kind = found.args[0].dtype.kind
    wide = {"i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}[kind]
    if draw(st.booleans()):
        found.kwargs["dtype"] = np.dtype(wide)
    return found


@st.composite
def _running(draw: st.DrawFn) -> Call:
    x = draw(arrays(NUMERIC, tuple(s for s in SHAPES if s), floats=FINITE))
    kwargs = draw(st.fixed_dictionaries({}, optional=INITIAL))
    return Call((x,), {"axis": draw(st.integers(-x.ndim, x.ndim - 1)), **kwargs})


@st.composite
def _searched(draw: st.DrawFn) -> Call:
    x, y = draw(pairs(REAL, FINITE, shapes=(((7,), (3, 4)), ((7,), (5,)))))
    if x.shape != (7,):
        x, y = y, x
    if x.dtype.kind != y.dtype.kind:
        y = y.astype(x.dtype)
    side: dict[str, Any] = {"side": draw(st.sampled_from(["left", "right"]))}
    if draw(st.booleans()):
        side["sorter"] = np.argsort(x, stable=True)
        return Call((x, y), side)
    return Call((np.sort(x), y), side)


@st.composite
def _differences(draw: st.DrawFn) -> Call:
    x = draw(arrays(NUMERIC, FILLED_AXES, floats=FINITE))
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    kwargs: dict[str, Any] = {"axis": axis, "n": draw(st.integers(1, 3))}
    for name in ("prepend", "append"):
        if draw(st.booleans()):
            kwargs[name] = np.take(x, [0, -1], axis=axis)
    return Call((x,), kwargs)


def _is_unique(call: Call, found: Any) -> None:
    """Raise unless values, indices, inverse and counts fit each other and the array."""
    (x,) = call.args
    parts = {name: np.asarray(getattr(found, name)) for name in found._fields}
    values = parts["values"]
    expected, counts = np.unique(x, return_counts=True, equal_nan=False)
    np.testing.assert_array_equal(np.sort(values), expected)
    assert values.dtype == x.dtype
    if "counts" in parts:
        np.testing.assert_array_equal(parts["counts"], counts)
    if "indices" in parts:
        np.testing.assert_array_equal(x.reshape(-1)[parts["indices"]], values)
    if "inverse_indices" in parts:
        np.testing.assert_array_equal(values[parts["inverse_indices"]], x)


CASES = [
    Case("all", along(arrays(), KEEP)),
    Case("any", along(arrays(), KEEP)),
    Case("argmax", along(arrays(REAL, FILLED), KEEP, one=True)),
    Case("argmin", along(arrays(REAL, FILLED), KEEP, one=True)),
    Case("argsort", along(arrays(REAL, FILLED_AXES, floats=FINITE), ORDER, one=True)),
    Case("count_nonzero", along(arrays(), KEEP)),
    Case("cumulative_prod", _running(), sums=ROUNDINGS),
    Case("cumulative_sum", _running(), sums=ROUNDINGS),
    Case("diff", _differences(), sums=8),
    Case("isin", pairs(INTEGER).map(Call)),
    Case("max", along(arrays(REAL, FILLED), KEEP), either_zero=True),
    Case("mean", along(FLOATS, KEEP), sums=ROUNDINGS),
    Case("min", along(arrays(REAL, FILLED), KEEP), either_zero=True),
    Case("nonzero", call(arrays(shapes=tuple(s for s in SHAPES if s)))),
    Case("prod", _summed(), sums=ROUNDINGS),
    Case("searchsorted", _searched()),
    Case(
        "sort",
        along(arrays(REAL, FILLED_AXES, floats=FINITE), ORDER, one=True),
        either_zero=True,
    ),
    Case("std", along(FLOATS, CORRECTED), sums=ROUNDINGS),
    Case("sum", _summed(), sums=ROUNDINGS),
    Case("unique_all", call(arrays(BOOL + REAL)), check=_is_unique),
    Case("unique_counts", call(arrays(BOOL + REAL)), check=_is_unique),
    Case("unique_inverse", call(arrays(BOOL + REAL)), check=_is_unique),
    Case("unique_values", call(arrays(BOOL + REAL, floats=FINITE)), either_zero=True),
    Case("var", along(FLOATS, CORRECTED), sums=ROUNDINGS),
]
