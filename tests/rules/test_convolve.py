"""The rule of convolutions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES, Link
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
)


@dataclass(frozen=True)
class Case:
    """Shapes and parameters of a convolution."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    spread: tuple[int, ...]
    step: tuple[int, ...]
    features: int
    batches: int
    specs: tuple[tuple[int, ...], ...]

    def convolve(self, left: Any, right: Any, **more: Any) -> Any:
        return lax.conv_general_dilated(
            left,
            right,
            self.strides,
            self.padding,
            self.spread,
            self.step,
            dimension_numbers=lax.ConvDimensionNumbers(*self.specs),
            feature_group_count=self.features,
            batch_group_count=self.batches,
            **more,
        )

    def operands(self, dtype: Any, seed: int) -> tuple[Array, Array]:
        """Return small whole numbers: their sums are exact in any order."""
        rng = np.random.default_rng(seed)
        return tuple(
            rng.integers(-4, 5, s).astype(dtype) for s in (self.left, self.right)
        )  # type: ignore[return-value]


def _laid_out(sizes: tuple[int, ...], spec: tuple[int, ...]) -> tuple[int, ...]:
    shape = [0] * len(sizes)
    for n, d in zip(sizes, spec, strict=True):
        shape[d] = n
    return tuple(shape)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a convolution with at least one window along each axis."""
    columns: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(1, 2))):
        length, taps = draw(st.integers(1, 8)), draw(st.integers(1, 4))
        far, apart = draw(st.integers(1, 3)), draw(st.integers(1, 3))
        low, high = draw(st.integers(-2, 3)), draw(st.integers(-2, 3))
        places = (length - 1) * far + 1 + low + high
        assume(places >= (taps - 1) * apart + 1)
        stride = draw(st.integers(1, 3))
        columns.append((length, taps, stride, (low, high), far, apart))
    n, size, strides, padding, spread, step = (
        tuple(c[k] for c in columns) for k in range(6)
    )
    groups = draw(st.integers(1, 3))
    by_batch = draw(st.booleans())
    inner, each, batch = (draw(st.integers(1, 3)) for _ in range(3))
    specs = tuple(tuple(draw(st.permutations(range(len(n) + 2)))) for _ in range(3))
    first, second = (batch * groups, inner) if by_batch else (batch, inner * groups)
    return Case(
        _laid_out((first, second, *n), specs[0]),
        _laid_out((each * groups, inner, *size), specs[1]),
        strides,
        padding,
        spread,
        step,
        1 if by_batch else groups,
        groups if by_batch else 1,
        specs,
    )


@settings(max_examples=12)
@given(data=st.data(), case=cases(), dtype=DTYPES, seed=SEEDS)
def test_a_box_of_a_convolution_is_made_from_what_it_sees(
    data: st.DataObject, case: Case, dtype: Any, seed: int
) -> None:
    operands = case.operands(dtype, seed)
    eqn = equation(case.convolve, *operands)
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), *operands)


@settings(max_examples=12)
@given(data=st.data(), case=cases(), dtype=DTYPES, seed=SEEDS)
def test_a_convolution_is_summed_over_features_and_taps(
    data: st.DataObject, case: Case, dtype: Any, seed: int
) -> None:
    operands = case.operands(dtype, seed)
    eqn = equation(case.convolve, *operands)
    ndim = eqn.outputs[0].ndim
    kept = data.draw(boxes(eqn.outputs[0].shape))
    with short_sums_cut():
        summed = RULES["conv_general_dilated"].domain(eqn)[ndim:]  # type: ignore[attr-defined]
        assert len(summed) == ndim - 1
        check_fold(eqn, kept, data.draw(bounds(summed)), *operands)


def test_a_wider_type_is_kept() -> None:
    x, w = numbers((2, 3, 9), np.float16), numbers((4, 3, 3), np.float16)
    eqn = equation(
        lambda x, w: lax.conv_general_dilated(
            x, w, (1,), "SAME", preferred_element_type=np.float32
        ),
        x,
        w,
    )
    assert eqn.outputs[0].dtype == np.float32
    box = Box((0, 1, 2), (2, 3, 7))
    # sums in another order, here and below
    check_map(eqn, box, x, w, rtol=1e-6, atol=1e-6)
    with short_sums_cut():
        check_fold(eqn, box, [[1], [1, 2]], x, w, rtol=1e-6, atol=1e-6)


def test_complex_numbers_are_convolved() -> None:
    x, w = numbers((2, 3, 9), np.complex128), numbers((4, 3, 3), np.complex128)
    eqn = equation(lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME"), x, w)
    box = Box((0, 1, 2), (2, 3, 7))
    # sums in another order
    check_map(eqn, box, x, w, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shapes", [((2, 0, 9), (4, 0, 3)), ((2, 3, 0), (4, 3, 2))])
def test_a_sum_of_nothing_is_zero(shapes: tuple[tuple[int, ...], ...]) -> None:
    x, w = (np.zeros(s, np.float32) for s in shapes)
    eqn = equation(lambda x, w: lax.conv_general_dilated(x, w, (1,), [(2, 2)]), x, w)
    check_map(eqn, Box((0, 1, 1), (2, 3, 3)), x, w)


LINKS: dict[str, tuple[Callable[..., Any], set[Link]]] = {
    "same": (
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "SAME"),
        {Link(0, 0, 0), Link(1, 0, 1), Link(0, 2, 2)},
    ),
    "strides": (
        lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME"),
        {Link(0, 0, 0), Link(1, 0, 1)},
    ),
    "each feature alone": (
        lambda x, w: lax.conv_general_dilated(
            x, w, (2,), "SAME", feature_group_count=4
        ),
        {Link(0, 0, 0), Link(1, 0, 1), Link(0, 1, 1)},
    ),
    "batches in groups": (
        lambda x, w: lax.conv_general_dilated(x, w, (2,), "SAME", batch_group_count=2),
        {Link(1, 0, 1)},
    ),
}


@pytest.mark.parametrize("name", LINKS)
def test_axes_are_linked_that_run_together(name: str) -> None:
    fn, links = LINKS[name]
    inner = 1 if name == "each feature alone" else 4
    x, w = numbers((2, 4, 8), np.float32), numbers((4, inner, 3), np.float32)
    assert set(RULES["conv_general_dilated"].links(equation(fn, x, w))) == links


def test_a_kernels_gradient_is_a_sum_over_batch_and_places() -> None:
    x, w = numbers((5, 2, 9), np.float64), numbers((3, 2, 3), np.float64)
    cotangent = numbers((5, 3, 9), np.float64)

    def gradient(x: Any, cotangent: Any) -> Any:
        apply = lambda w: lax.conv_general_dilated(x, w, (1,), "SAME")
        return jax.linear_transpose(apply, w)(cotangent)[0]

    eqn = equation(gradient, x, cotangent)
    rule = RULES["conv_general_dilated"]
    box = Box((1, 0, 0), (3, 2, 3))
    with short_sums_cut():
        assert sorted(rule.domain(eqn)[3:]) == [5, 9]  # type: ignore[attr-defined]
        # sums in another order
        check_fold(eqn, box, [[2], [4, 7]], x, cotangent, rtol=1e-12, atol=1e-12)
