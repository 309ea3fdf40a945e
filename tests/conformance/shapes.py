"""Cases of creation, manipulation, indexing and data type functions."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.conformance.case import (
    ALL,
    FILLED_AXES,
    INTEGER,
    MANY_AXES,
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

X = arrays()
AXES = arrays(shapes=MANY_AXES)
MATRICES = arrays(shapes=((3, 4), (2, 3, 4), (0, 2)))
SHAPE = st.sampled_from(SHAPES)
DTYPE = st.sampled_from([np.dtype(d) for d in ALL])
NUMBER_DTYPE = st.sampled_from([np.dtype(d) for d in REAL])


def _promote(given: Call) -> bool:
    """Return whether the standard defines how two dtypes promote."""
    families = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 2}
    first, second = (families[np.dtype(d).kind] for d in given.args)
    return first == second


@st.composite
def _ranges(draw: st.DrawFn) -> Call:
    start, stop, step = draw(
        st.sampled_from(
            [(0, 7, 1), (2, 9, 3), (5, -4, -2), (0.5, 3.0, 0.25), (3, 3, 1)]
        )
    )
    return Call(
        (start, stop, step),
        draw(
            _optional(
                dtype=NUMBER_DTYPE.filter(
                    lambda d: (
                        d.kind == "f" or (d.kind == "i" and isinstance(start, int))
                    )
                )
            )
        ),
    )


def _optional(**kwargs: Strategy) -> Strategy:
    return st.fixed_dictionaries({}, optional=kwargs)


@st.composite
def _spaces(draw: st.DrawFn) -> Call:
    ends = st.sampled_from([-2.5, 0.0, 1.0, 10.0])
    num = draw(st.sampled_from([0, 1, 2, 7]))
    kwargs = draw(
        _optional(endpoint=st.booleans(), dtype=DTYPE.filter(lambda d: d.kind in "fc"))
    )
    return Call((draw(ends), draw(ends), num), kwargs)


@st.composite
def _grids(draw: st.DrawFn) -> Call:
    dtype = draw(st.sampled_from(NUMERIC))
    lines = draw(st.lists(arrays((dtype,), ((3,), (4,), (0,))), max_size=3))
    return Call(tuple(lines), draw(_optional(indexing=st.sampled_from(["xy", "ij"]))))


@st.composite
def _joined(draw: st.DrawFn) -> Call:
    dtype = draw(st.sampled_from(ALL))
    shape = draw(st.sampled_from(MANY_AXES))
    parts = draw(st.lists(arrays((dtype,), (shape,)), min_size=1, max_size=3))
    axis = draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    return Call((parts,), {"axis": axis})


@st.composite
def _stacked(draw: st.DrawFn) -> Call:
    found = draw(_joined())
    axis = found.kwargs["axis"]
    return Call(found.args, {} if axis is None else {"axis": axis})


@st.composite
def _moved(draw: st.DrawFn) -> Call:
    x = draw(AXES)
    order = draw(st.permutations(range(x.ndim)))
    count = draw(st.integers(0, x.ndim))
    source = draw(st.permutations(range(x.ndim)))[:count]
    return Call((x, tuple(source), tuple(order[:count])))


@st.composite
def _permuted(draw: st.DrawFn) -> Call:
    x = draw(X)
    return Call((x, tuple(draw(st.permutations(range(x.ndim))))))


@st.composite
def _reshaped(draw: st.DrawFn) -> Call:
    x = draw(X)
    choices: dict[int, Any] = {
        0: [(0, 3), (2, 0)],
        1: [(), (1, 1), (-1,)],
        7: [(7, 1), (1, -1)],
        12: [(2, 6), (-1, 2), (12,)],
        24: [(4, 6), (-1, 3), (24,), (2, 2, 2, 3)],
    }
    return Call((x, draw(st.sampled_from(choices[x.size]))))


@st.composite
def _rolled(draw: st.DrawFn) -> Call:
    x = draw(X)
    if not x.ndim or draw(st.booleans()):
        return Call((x, draw(st.integers(-9, 9))))
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    return Call((x, draw(st.integers(-9, 9))), {"axis": axis})


@st.composite
def _squeezed(draw: st.DrawFn) -> Call:
    x = draw(X)
    at = draw(st.integers(0, x.ndim))
    return Call((np.expand_dims(x, at), draw(st.sampled_from([at, (at,)]))))


@st.composite
def _expanded(draw: st.DrawFn) -> Call:
    x = draw(X)
    return Call((x,), {"axis": draw(st.integers(-x.ndim - 1, x.ndim))})


@st.composite
def _tiled(draw: st.DrawFn) -> Call:
    return Call((draw(X), draw(st.sampled_from([(), (2,), (1, 3), (0,), (2, 1, 2)]))))


@st.composite
def _repeated(draw: st.DrawFn) -> Call:
    x = draw(AXES)
    axis = draw(st.sampled_from([None, *range(-x.ndim, x.ndim)]))
    length = x.size if axis is None else x.shape[axis]
    repeats: Any = draw(st.integers(0, 3))
    if draw(st.booleans()):
        repeats = np.arange(length, dtype=np.int64) % 3
    return Call((x, repeats), {"axis": axis})


@st.composite
def _taken(draw: st.DrawFn) -> Call:
    x = draw(arrays(shapes=FILLED_AXES))
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    n = x.shape[axis]
    indices = draw(st.lists(st.integers(-n, n - 1), max_size=5))
    dtype = draw(st.sampled_from(["int8", "int64"]))
    return Call((x, np.array(indices, dtype)), {"axis": axis})


@st.composite
def _taken_along(draw: st.DrawFn) -> Call:
    x = draw(arrays(shapes=FILLED_AXES))
    axis = draw(st.integers(-x.ndim, x.ndim - 1))
    return Call((x, np.asarray(np.argsort(x, axis=axis), np.int64)), {"axis": axis})


@st.composite
def _broadcast(draw: st.DrawFn) -> Call:
    x = draw(arrays(shapes=((), (1,), (3, 1), (3, 4), (0, 1))))
    return Call((x, (2, *np.broadcast_shapes(x.shape, (1, 4)))))


CASES = [
    Case("arange", _ranges(), ulps=1),
    Case("asarray", call(X)),
    Case("broadcast_arrays", pairs(NUMERIC).map(Call)),
    Case("broadcast_to", _broadcast()),
    Case("concat", _joined()),
    Case("empty", call(SHAPE, dtype=DTYPE), check=lambda *_: None),
    Case("empty_like", call(X, dtype=DTYPE), check=lambda *_: None),
    Case("expand_dims", _expanded()),
    Case(
        "eye",
        call(
            st.integers(0, 5),
            st.none() | st.integers(0, 5),
            k=st.integers(-6, 6),
            dtype=DTYPE,
        ),
    ),
    Case("flip", along(X)),
    Case("from_dlpack", call(X)),
    Case("full", call(SHAPE, st.sampled_from([True, 7, 2.5, 1j]))),
    Case("full_like", call(arrays(NUMERIC), st.just(7))),
    Case("linspace", _spaces(), ulps=2),
    Case("matrix_transpose", call(MATRICES)),
    Case("meshgrid", _grids()),
    Case("moveaxis", _moved()),
    Case("ones", call(SHAPE, dtype=DTYPE)),
    Case("ones_like", call(X, dtype=DTYPE)),
    Case("permute_dims", _permuted()),
    Case("repeat", _repeated()),
    Case("reshape", _reshaped()),
    Case("roll", _rolled()),
    Case("squeeze", _squeezed()),
    Case("stack", _stacked()),
    Case("take", _taken()),
    Case("take_along_axis", _taken_along()),
    Case("tile", _tiled()),
    Case("tril", call(MATRICES, k=st.integers(-5, 5))),
    Case("triu", call(MATRICES, k=st.integers(-5, 5))),
    Case("unstack", along(arrays(shapes=MANY_AXES), one=True)),
    Case("zeros", call(SHAPE, dtype=DTYPE)),
    Case("zeros_like", call(X, dtype=DTYPE)),
    Case("broadcast_shapes", call(st.just((3, 1)), st.just((1, 4)))),
    Case("can_cast", call(DTYPE, DTYPE).filter(_promote)),
    Case(
        "isdtype",
        call(
            DTYPE,
            st.sampled_from(
                [
                    "bool",
                    "signed integer",
                    "unsigned integer",
                    "integral",
                    "real floating",
                    "complex floating",
                    "numeric",
                    ("bool", "real floating"),
                ]
            ),
        ),
    ),
    Case("result_type", pairs(INTEGER).map(Call)),
]
