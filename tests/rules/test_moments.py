"""The program's own folds: moments and the parts of logsumexp."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from jask.geometry.box import Box
from jask.trace.ir import Equation, Var
from tests.rules.helpers import (
    Array,
    bounds,
    boxes,
    check_links,
    emit,
    fold,
    numbers,
    shapes,
)


def _own(name: str, x: Array, axes: tuple[int, ...]) -> Equation:
    kept = tuple(n for d, n in enumerate(x.shape) if d not in axes)
    params = {"axes": axes, "guarded": True}
    eqn = Equation(None, name, params, (Var(x.shape, x.dtype),))
    eqn.outputs = tuple(Var(kept, x.dtype, eqn, i) for i in range(2))
    return eqn


def _moments(x: Array, axes: tuple[int, ...]) -> list[Array]:
    wide = x.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = wide - np.mean(wide, axis=axes, keepdims=True)
        return [np.sum(wide, axis=axes), np.sum(apart * apart, axis=axes)]


def _parts(x: Array, axes: tuple[int, ...]) -> list[Array]:
    wide = x.astype(np.float64)
    top = np.max(wide, axis=axes, keepdims=True, initial=-np.inf)
    with np.errstate(all="ignore"):
        terms = np.exp(wide - np.where(np.isfinite(top), top, 0))
    return [np.squeeze(top, axes), np.sum(terms, axis=axes)]


WANTED = {"moments": _moments, "logsumexp_parts": _parts}


def _check(
    name: str,
    x: Array,
    axes: tuple[int, ...],
    out: Box,
    cuts: list[list[int]],
    rtol: float,
) -> None:
    eqn = _own(name, x, axes)
    wanted = [w[out.slices] for w in WANTED[name](x, axes)]
    check_links(eqn)
    for got in (emit(eqn, out, [x]), fold(eqn, out, cuts, x)):
        for g, w in zip(got, wanted, strict=True):
            assert g.dtype == x.dtype
            np.testing.assert_allclose(
                g.astype(np.float64), w, rtol=rtol, atol=rtol * 4
            )


@settings(max_examples=5)
@given(data=st.data(), shape=shapes(1, 3))
@pytest.mark.parametrize("name", WANTED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_own_folds_are_the_same_whole_and_in_parts(
    data: st.DataObject, shape: tuple[int, ...], dtype: Any, name: str
) -> None:
    axes = tuple(d for d in range(len(shape)) if data.draw(st.booleans()))
    x = numbers(shape, dtype)
    out = data.draw(boxes(tuple(n for d, n in enumerate(shape) if d not in axes)))
    cuts = data.draw(bounds([shape[d] for d in axes]))
    _check(name, x, axes, out, cuts, 20 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("offset", [1e4, -1e6])
def test_moments_are_sound_far_from_zero(offset: float) -> None:
    x = (numbers((5000, 3), np.float64) + offset).astype(np.float32)
    cuts = [[700, 701, 4000]]
    _check("moments", x, (0,), Box((0,), (3,)), cuts, 1e-6)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_moments_of_what_is_not_finite_are_those_of_numpy(bad: float) -> None:
    x = numbers((6, 2), np.float32)
    x[3, 1] = bad
    _check("moments", x, (0,), Box((0,), (2,)), [[2, 4]], 1e-5)


@pytest.mark.parametrize("values", [[np.inf], [-np.inf], [np.nan], [np.inf, -np.inf]])
def test_logsumexp_parts_pass_what_is_not_finite(values: list[float]) -> None:
    x = numbers((6, 2), np.float32) - 1000
    for k, v in enumerate(values):
        x[3 - k, 1] = v
    for cuts in ([], [2, 4], [1, 2, 3, 4, 5]):
        _check("logsumexp_parts", x, (0,), Box((0,), (2,)), [cuts], 1e-5)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_logsumexp_parts_without_a_guard_are_nan_where_the_maximum_is_not_finite(
    bad: float,
) -> None:
    x = np.array([[bad, 1.0], [bad, 2.0], [bad, 0.5]], np.float32)
    eqn = _own("logsumexp_parts", x, (0,))
    eqn.params = {"axes": (0,), "guarded": False}
    out = Box((0,), (2,))
    wanted = [np.nan, np.exp(-1.0) + 1 + np.exp(-1.5)]
    for got in (emit(eqn, out, [x]), fold(eqn, out, [[1, 2]], x)):
        np.testing.assert_array_equal(got[0], np.array([bad, 2], np.float32))
        np.testing.assert_allclose(got[1], wanted, rtol=1e-6)


def test_logsumexp_parts_of_nothing_but_minus_infinity() -> None:
    x = np.full((4, 2), -np.inf, np.float32)
    _check("logsumexp_parts", x, (0,), Box((0,), (2,)), [[1]], 0)


def test_rows_of_very_different_size_do_not_overflow() -> None:
    x = np.array([[-3000.0], [-2000.0], [5000.0], [-np.inf]], np.float32)
    _check("logsumexp_parts", x, (0,), Box((0,), (1,)), [[1, 2, 3]], 1e-6)


@pytest.mark.parametrize("name", WANTED)
def test_own_folds_over_an_empty_axis_give_the_identity(name: str) -> None:
    x = np.zeros((0, 3), np.float32)
    eqn = _own(name, x, (0,))
    first, second = emit(eqn, Box((0,), (3,)), [x])
    identity = 0 if name == "moments" else -np.inf
    np.testing.assert_array_equal(first, np.full(3, identity, np.float32))
    np.testing.assert_array_equal(second, np.zeros(3, np.float32))


def test_moments_of_huge_equal_values_do_not_overflow() -> None:
    x = np.full((8, 2), 2.0**600)
    _check("moments", x, (0,), Box((0,), (2,)), [[2, 4]], 1e-12)
