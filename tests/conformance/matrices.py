"""Cases of products, linear algebra and Fourier transforms."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.conformance.case import (
    FINITE,
    INEXACT,
    NUMERIC,
    Array,
    Call,
    Case,
    Strategy,
    arrays,
    call,
)

SIMPLE = [0.0, 1.0, -1.0, 0.5, -2.5, 3.75]
MATRIX_SHAPES = ((3, 3), (2, 4, 4), (0, 0), (2, 0, 2, 2))
ANY_SHAPES = ((3, 4), (2, 4, 3), (5, 2))
EPS = 1 << 10
"""Units of rounding, of the largest element, that a factorisation may be off by: the
condition number (below 100) times the dimension."""


def rounding(dtype: Any) -> float:
    """Return the unit of rounding of a dtype."""
    return float(np.finfo(dtype).eps)


def close(found: Any, expected: Array, dtype: Any, scale: float = 1.0) -> None:
    """Raise unless two arrays agree up to what a factorisation rounds."""
    largest = max(1.0, float(np.max(np.abs(expected), initial=0.0)), scale)
    np.testing.assert_allclose(
        np.asarray(found), expected, rtol=0, atol=EPS * rounding(dtype) * largest
    )


@st.composite
def dominant(draw: st.DrawFn, *, hermitian: bool = False) -> Array:
    """Return matrices with a heavy diagonal: regular, and positive if Hermitian."""
    x: Array = draw(arrays(INEXACT, MATRIX_SHAPES, floats=SIMPLE))
    if hermitian:
        x = x + np.conj(np.swapaxes(x, -1, -2))
    n = x.shape[-1]
    return np.asarray(x + 12 * n * np.eye(n), x.dtype)


RECTANGULAR = arrays(INEXACT, ANY_SHAPES, floats=SIMPLE)


@st.composite
def _products(draw: st.DrawFn) -> Call:
    dtype = draw(st.sampled_from(NUMERIC))
    shapes = [
        ((4,), (4,)),
        ((3, 4), (4,)),
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 2)),
        ((4,), (2, 4, 3)),
        ((3, 0), (0, 2)),
    ]
    first, second = draw(st.sampled_from(shapes))
    draws = [draw(arrays((dtype,), (s,), floats=SIMPLE)) for s in (first, second)]
    return Call(tuple(draws))


@st.composite
def _contracted(draw: st.DrawFn) -> Call:
    dtype = draw(st.sampled_from(NUMERIC))
    rows: list[Any] = [
        ((3, 4), (4, 5), 1),
        ((2, 3, 4), (3, 4, 2), 2),
        ((3, 4), (2, 3), ((0,), (1,))),
        ((3,), (2,), 0),
    ]
    first, second, axes = draw(st.sampled_from(rows))
    draws = [draw(arrays((dtype,), (s,), floats=SIMPLE)) for s in (first, second)]
    return Call(tuple(draws), {"axes": axes})


@st.composite
def _dots(draw: st.DrawFn) -> Call:
    dtype = draw(st.sampled_from(NUMERIC))
    first, second = draw(
        st.sampled_from([((4,), (4,)), ((3, 4), (4,)), ((2, 1, 4), (3, 4))])
    )
    draws = [draw(arrays((dtype,), (s,), floats=SIMPLE)) for s in (first, second)]
    return Call(tuple(draws), {"axis": -1})


@st.composite
def _crossed(draw: st.DrawFn) -> Call:
    dtype = draw(st.sampled_from(NUMERIC))
    shape, axis = draw(st.sampled_from([((3,), -1), ((4, 3), -1), ((2, 3, 4), -2)]))
    x, y = (draw(arrays((dtype,), (shape,), floats=SIMPLE)) for _ in range(2))
    return Call((x, y), {"axis": axis})


@st.composite
def _solved(draw: st.DrawFn) -> Call:
    a = draw(dominant())
    shape = a.shape[:-1] if a.ndim == 2 and draw(st.booleans()) else (*a.shape[:-1], 2)
    return Call((a, draw(arrays((a.dtype.name,), (shape,), floats=SIMPLE))))


@st.composite
def _norms(draw: st.DrawFn, *, vector: bool) -> Call:
    x = draw(RECTANGULAR)
    orders: list[Any] = (
        [0, 1, 2, 3, 0.5, np.inf, -np.inf, -1]
        if vector
        else ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]
    )
    kwargs = draw(
        st.fixed_dictionaries(
            {}, optional={"ord": st.sampled_from(orders), "keepdims": st.booleans()}
        )
    )
    if vector and draw(st.booleans()):
        kwargs["axis"] = draw(st.integers(-x.ndim, x.ndim - 1))
    if vector and kwargs.get("ord", 2) < 0:
        x = np.asarray(x + 7, x.dtype)  # a zero has no negative power
    return Call((x,), kwargs)


def _is_cholesky(found_call: Call, found: Any) -> None:
    (a,), upper = found_call.args, found_call.kwargs.get("upper", False)
    factor = np.asarray(found)
    if upper:
        factor = np.conj(np.swapaxes(factor, -1, -2))
    np.testing.assert_array_equal(factor, np.tril(factor))
    close(factor @ np.conj(np.swapaxes(factor, -1, -2)), a, a.dtype)


def _is_eigh(found_call: Call, found: Any) -> None:
    (a,) = found_call.args
    values, vectors = map(np.asarray, found)
    close(values, np.linalg.eigvalsh(a), a.dtype)
    close(
        vectors @ (values[..., None] * np.conj(np.swapaxes(vectors, -1, -2))),
        a,
        a.dtype,
    )


def _is_qr(found_call: Call, found: Any) -> None:
    (a,) = found_call.args
    q, r = map(np.asarray, found)
    complete = found_call.kwargs.get("mode") == "complete"
    assert q.shape[-1] == (a.shape[-2] if complete else min(a.shape[-2:]))
    close(q @ r, a, a.dtype)
    close(
        np.conj(np.swapaxes(q, -1, -2)) @ q,
        np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])),
        a.dtype,
    )
    np.testing.assert_array_equal(r, np.triu(r))


def _is_svd(found_call: Call, found: Any) -> None:
    (a,) = found_call.args
    u, s, vh = map(np.asarray, found)
    close(s, np.linalg.svd(a, compute_uv=False), a.dtype)
    full = found_call.kwargs.get("full_matrices", True)
    k = s.shape[-1]
    assert u.shape[-1] == (a.shape[-2] if full else k)
    close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a, a.dtype)


def _transforms() -> list[Case]:
    norm = {"norm": st.sampled_from(["backward", "ortho", "forward"])}
    lines = ((7,), (3, 4), (2, 3, 4))
    some = arrays(("complex64", "complex128"), lines, floats=SIMPLE)
    real = arrays(("float32", "float64"), lines, floats=SIMPLE)
    along = {**norm, "n": st.integers(2, 8), "axis": st.just(-1)}
    several = {**norm}
    rows: dict[str, tuple[Strategy, dict[str, Strategy]]] = {
        "fft": (some, along),
        "ifft": (some, along),
        "rfft": (real, along),
        "irfft": (some, along),
        "hfft": (some, along),
        "ihfft": (real, along),
        "fftn": (some, several),
        "ifftn": (some, several),
        "rfftn": (real, several),
        "irfftn": (some, several),
        "fftshift": (arrays(INEXACT, lines, floats=FINITE), {}),
        "ifftshift": (arrays(INEXACT, lines, floats=FINITE), {}),
    }
    count = {"d": st.sampled_from([0.5, 2.0])}
    return [
        *(Case(f"fft.{n}", call(x, **k), sums=128) for n, (x, k) in rows.items()),
        Case("fft.fftfreq", call(st.integers(1, 8), **count), ulps=2),
        Case("fft.rfftfreq", call(st.integers(1, 8), **count), ulps=2),
    ]


SQUARE = call(dominant())
HERMITIAN = call(dominant(hermitian=True))
OFFSET = {"offset": st.integers(-3, 3)}
ORDINARY = arrays(NUMERIC, ANY_SHAPES, floats=SIMPLE)

CASES = [
    *(Case(f"{at}matmul", _products(), sums=16) for at in ("", "linalg.")),
    *(Case(f"{at}tensordot", _contracted(), sums=32) for at in ("", "linalg.")),
    *(Case(f"{at}vecdot", _dots(), sums=16) for at in ("", "linalg.")),
    Case("linalg.cholesky", HERMITIAN, check=_is_cholesky),
    Case("linalg.cross", _crossed(), sums=8),
    Case("linalg.det", SQUARE, sums=EPS),
    Case("linalg.diagonal", call(ORDINARY, **OFFSET)),
    Case("linalg.eigh", HERMITIAN, check=_is_eigh),
    Case("linalg.eigvalsh", HERMITIAN, sums=EPS),
    Case("linalg.inv", SQUARE, sums=EPS),
    Case("linalg.matrix_norm", _norms(vector=False), sums=EPS),
    Case("linalg.matrix_power", call(dominant(), st.integers(-2, 3)), sums=EPS),
    Case("linalg.matrix_rank", call(RECTANGULAR)),
    Case("linalg.matrix_transpose", call(ORDINARY)),
    Case(
        "linalg.outer",
        call(*[arrays(("float32", "float64"), ((4,), (3,)), SIMPLE)] * 2),
    ),
    Case("linalg.pinv", SQUARE, sums=EPS),
    Case(
        "linalg.qr",
        call(RECTANGULAR, mode=st.sampled_from(["reduced", "complete"])),
        check=_is_qr,
    ),
    Case("linalg.slogdet", SQUARE, sums=EPS),
    Case("linalg.solve", _solved(), sums=EPS),
    Case("linalg.svd", call(RECTANGULAR, full_matrices=st.booleans()), check=_is_svd),
    Case("linalg.svdvals", call(RECTANGULAR), sums=EPS),
    Case("linalg.trace", call(ORDINARY, **OFFSET), sums=16),
    Case("linalg.vector_norm", _norms(vector=True), sums=EPS),
    *_transforms(),
]
