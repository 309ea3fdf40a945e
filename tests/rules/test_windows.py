"""Rules of reduce_window, its relatives and its derivatives."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES, Link, Reduction
from jask.trace.ir import Equation
from tests.rules.helpers import (
    DTYPES,
    SEEDS,
    Array,
    bounds,
    boxes,
    check_fold,
    check_map,
    equation,
    numbers,
    short_sums_cut,
    whole,
)


@dataclass(frozen=True)
class Case:
    """Windows over an operand."""

    shape: tuple[int, ...]
    size: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    spread: tuple[int, ...]
    step: tuple[int, ...]

    def reduce(self, name: str) -> Callable[[Any], Any]:
        primitive = getattr(lax, f"{name}_p")
        return lambda *x: primitive.bind(
            *x,
            window_dimensions=self.size,
            window_strides=self.strides,
            padding=self.padding,
            base_dilation=self.spread,
            window_dilation=self.step,
        )


@st.composite
def cases(draw: st.DrawFn, *, dilated: bool = True) -> Case:
    """Draw windows of which there is at least one along each axis."""
    columns = []
    for _ in range(draw(st.integers(1, 2))):
        n = draw(st.integers(1, 9))
        spread, step = (draw(st.integers(1, 3 if dilated else 1)) for _ in range(2))
        low, high = (draw(st.integers(0, 3)) for _ in range(2))
        places = (n - 1) * spread + 1 + low + high
        size = draw(st.integers(1, min(4, (places - 1) // step + 1)))
        columns.append((n, size, draw(st.integers(1, 4)), (low, high), spread, step))
    return Case(*zip(*columns, strict=True))


def hard(shape: tuple[int, ...], dtype: Any, seed: int) -> Array:
    """Return few distinct values, so that there are ties, zeros of both signs, NaN."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind != "f":
        return numbers(shape, dtype, seed)
    values = np.asarray([-0.0, 0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan], dtype)
    return np.asarray(values[rng.choice(8, shape, p=[0.2] * 4 + [0.05] * 4)])


@settings(max_examples=12)
@given(data=st.data(), case=cases(), dtype=DTYPES, seed=SEEDS)
@pytest.mark.parametrize("name", ["reduce_window_max", "reduce_window_min"])
def test_a_box_of_extremes_is_found_in_what_its_windows_see(
    name: str, data: st.DataObject, case: Case, dtype: Any, seed: int
) -> None:
    x = hard(case.shape, dtype, seed)
    eqn = equation(case.reduce(name), x)
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), x)


@settings(max_examples=12)
@given(data=st.data(), case=cases(), dtype=DTYPES, seed=SEEDS)
def test_a_box_of_window_sums_is_found_in_what_its_windows_see(
    data: st.DataObject, case: Case, dtype: Any, seed: int
) -> None:
    x = hard(case.shape, dtype, seed)
    eqn = equation(case.reduce("reduce_window_sum"), x)
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), x)


@settings(max_examples=12)
@given(data=st.data(), case=cases(), dtype=DTYPES, seed=SEEDS)
@pytest.mark.parametrize(
    "name", ["reduce_window_max", "reduce_window_min", "reduce_window_sum"]
)
def test_windows_are_reduced_tap_by_tap(
    name: str, data: st.DataObject, case: Case, dtype: Any, seed: int
) -> None:
    x = hard(case.shape, dtype, seed)
    eqn = equation(case.reduce(name), x)
    kept = data.draw(boxes(eqn.outputs[0].shape))
    with short_sums_cut():
        check_fold(eqn, kept, data.draw(bounds(case.size)), x)


@settings(max_examples=12)
@given(data=st.data(), case=cases(), seed=SEEDS)
def test_windows_of_any_function_see_all_their_taps(
    data: st.DataObject, case: Case, seed: int
) -> None:
    x, y = hard(case.shape, np.float32, seed), numbers(case.shape, np.int32, seed)

    def larger(a: Any, b: Any) -> Any:
        first = a[0] >= b[0]
        return lax.select(first, a[0], b[0]), lax.select(first, a[1], b[1])

    def reduce(x: Any, y: Any) -> Any:
        start = (np.float32(-np.inf), np.int32(-1))
        return lax.reduce_window(
            (x, y),
            start,
            larger,
            case.size,
            case.strides,
            case.padding,
            base_dilation=case.spread,
            window_dilation=case.step,
        )

    eqn = equation(reduce, x, y)
    assert eqn.name == "reduce_window"
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), x, y)


@settings(max_examples=12)
@given(data=st.data(), case=cases(), seed=SEEDS)
@pytest.mark.parametrize("prim", [lax.ge_p, lax.le_p])
def test_a_tangent_comes_from_where_the_extreme_is(
    prim: Any, data: st.DataObject, case: Case, seed: int
) -> None:
    # distinct: among equal elements XLA's choice depends on how it vectorises the shape
    order = np.random.default_rng(seed).permutation(prod(case.shape))
    x = order.astype(np.float32).reshape(case.shape)
    tangent = numbers(case.shape, np.float32, seed)

    def gather(tangent: Any, x: Any) -> Any:
        return lax.select_and_gather_add_p.bind(
            tangent,
            x,
            select_prim=prim,
            window_dimensions=case.size,
            window_strides=case.strides,
            padding=case.padding,
            base_dilation=case.spread,
            window_dilation=case.step,
        )

    eqn = equation(gather, tangent, x)
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), tangent, x)


@settings(max_examples=12)
@given(data=st.data(), case=cases(dilated=False), seed=SEEDS)
@pytest.mark.parametrize("prim", [lax.ge_p, lax.le_p])
def test_a_cotangent_goes_to_where_the_extreme_is(
    prim: Any, data: st.DataObject, case: Case, seed: int
) -> None:
    x = hard(case.shape, np.float32, seed)
    count = whole(equation(case.reduce("reduce_window_max"), x), [x])[0].shape
    source = numbers(count, np.float32, seed)

    def scatter(source: Any, x: Any) -> Any:
        return lax.select_and_scatter_add_p.bind(
            source,
            x,
            select_prim=prim,
            window_dimensions=case.size,
            window_strides=case.strides,
            padding=case.padding,
        )

    eqn = equation(scatter, source, x)
    check_map(eqn, data.draw(boxes(case.shape)), source, x)


def test_only_windows_that_slide_by_one_are_linked() -> None:
    x = numbers((6, 8), np.float32)
    pooled = equation(
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 2), "SAME"), x
    )
    smooth = equation(
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 1), "SAME"), x
    )
    links = RULES["reduce_window_sum"].links
    assert list(links(pooled)) == [Link(0, 0, 0)]
    assert list(links(smooth)) == [Link(0, 0, 0), Link(0, 1, 1)]


def test_tiles_in_the_middle_share_a_kernel() -> None:
    x = numbers((100,), np.float32)
    eqn = equation(
        lambda x: lax.reduce_window(x, -np.inf, lax.max, (3,), (2,), "SAME"), x
    )
    needs = [
        RULES["reduce_window_max"].need(eqn, Box((k,), (k + 10,)))
        for k in range(0, 50, 10)
    ]
    assert len({(n.key, n.boxes[0].shape) for n in needs if n.boxes[0]}) == 2


def test_windows_of_an_empty_operand_hold_nothing_but_padding() -> None:
    x = np.zeros((0, 3), np.float32)
    eqn = equation(
        lambda x: lax.reduce_window_sum_p.bind(
            x,
            window_dimensions=(2, 1),
            window_strides=(1, 1),
            padding=((2, 1), (0, 0)),
            base_dilation=(1, 1),
            window_dilation=(1, 1),
        ),
        x,
    )
    check_map(eqn, Box((0, 1), (2, 3)), x)


def test_only_large_windows_are_walked() -> None:
    x = numbers((100, 100), np.float32)
    rule = RULES["reduce_window_sum"]
    assert isinstance(rule, Reduction)

    def over(*size: int) -> Equation:
        return equation(
            lambda x: lax.reduce_window(x, 0.0, lax.add, size, (1, 1), "VALID"), x
        )

    assert not rule.can_fold(over(3, 3))
    assert rule.domain(over(90, 3)) == (11, 98)
    assert rule.can_fold(over(90, 80))
    assert rule.domain(over(90, 80)) == (11, 21, 90, 80)
    assert rule.domain(over(8, 100)) == (93, 1)


def test_a_long_window_over_a_few_lines_is_walked_along_its_length() -> None:
    x = numbers((3, 5000), np.float64)
    eqn = equation(
        lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 4000), (1, 600), "SAME"), x
    )
    box = Box((1, 2), (3, 7))
    # sums in another order
    check_fold(eqn, box, [[1000, 3999]], x, rtol=1e-12, atol=1e-12)
