"""Primitives that need some axes whole."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES, Link
from jask.trace.ir import Equation, Var
from jask.trace.stacks import one_result, stacked_name
from tests.rules.helpers import boxes, check_map, equation, numbers, shapes


@settings(max_examples=12)
@given(data=st.data(), shape=shapes(1, 3))
def test_a_box_of_a_sort_is_cut_from_sorted_lines(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    keys = [numbers(shape, np.int8, seed=i) % 3 for i in range(3)]
    count = data.draw(st.integers(1, 3))
    n = data.draw(st.integers(1, 2))
    eqn = equation(
        lambda *k: lax.sort(
            k[:count], dimension=axis, num_keys=min(n, count), is_stable=True
        ),
        *keys,
    )
    check_map(eqn, data.draw(boxes(shape)), *keys)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_largest_are_found_in_whole_lines(axis: int) -> None:
    x = numbers((6, 7), np.float32)
    eqn = equation(lambda x: lax.top_k(x, 3, axis=axis), x)
    out = Box((1, 2), (3, 6)) if axis == 0 else Box((2, 1), (6, 3))
    check_map(eqn, out, x)


@pytest.mark.parametrize("kind", ["fft", "ifft", "rfft"])
@pytest.mark.parametrize("lengths", [(6,), (4, 6)])
def test_batches_of_transforms_are_independent(
    kind: str, lengths: tuple[int, ...]
) -> None:
    x = numbers((5, 4, 6), np.float64 if kind == "rfft" else np.complex128)
    eqn = equation(lambda x: lax.fft(x, kind, lengths), x)
    check_map(eqn, Box((1, 0, 1), (4, 3, 3)), x, rtol=1e-12, atol=1e-12)


def test_half_spectra_become_longer_real_lines() -> None:
    x = numbers((5, 4), np.complex128)
    eqn = equation(lambda x: lax.fft(x, "irfft", (6,)), x)
    check_map(eqn, Box((1, 2), (4, 6)), x, rtol=1e-12, atol=1e-12)


def _positive(*batch: int) -> Any:
    x = numbers((*batch, 3, 3), np.float64)
    return x @ np.swapaxes(x, -1, -2) + 3 * np.eye(3)


LINEAR: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cholesky": (lax.linalg.cholesky_p.bind, (_positive(4),)),
    "triangular_solve": (
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
        (_positive(4), numbers((4, 3, 2), np.float64)),
    ),
    "householder_product": (
        lax.linalg.householder_product,
        (numbers((4, 3, 3), np.float64), numbers((4, 2), np.float64)),
    ),
    "tridiagonal_solve": (
        lax.linalg.tridiagonal_solve,
        (
            numbers((4, 3), np.float64),
            numbers((4, 3), np.float64) + 5,
            numbers((4, 3), np.float64),
            numbers((4, 3, 2), np.float64),
        ),
    ),
}


@pytest.mark.parametrize("name", LINEAR)
def test_batches_of_matrices_are_independent(name: str) -> None:
    fn, arrays = LINEAR[name]
    eqn = equation(fn, *arrays)
    assert eqn.name == name
    check_map(eqn, Box((1, 1, 0), (3, 3, 2)), *arrays, rtol=1e-10, atol=1e-10)


def _one_of(eqn: Equation, part: int) -> Equation:
    """Return the equation of one result of a decomposition, as programs hold it."""
    params = {**eqn.params, "part": part}
    made = Equation(
        one_result(eqn.primitive), stacked_name(eqn.name), params, eqn.inputs
    )
    result = eqn.outputs[part]
    made.outputs = (Var(result.shape, result.dtype, made),)
    return made


DECOMPOSED: dict[str, Callable[..., Any]] = {
    "eig": lax.linalg.eig,
    "eigh": lambda a: lax.linalg.eigh(a, symmetrize_input=False),
    "hessenberg": lax.linalg.hessenberg,
    "lu": lax.linalg.lu,
    "qr": lambda a: lax.linalg.qr(a, full_matrices=True),
    "svd": lambda a: lax.linalg.svd(a, full_matrices=True),
    "tridiagonal": lambda a: lax.linalg.tridiagonal(a, lower=True),
}


@pytest.mark.parametrize("name", DECOMPOSED)
def test_each_result_of_a_stack_is_made_for_a_part_of_it(name: str) -> None:
    x = _positive(5, 2)
    whole = equation(DECOMPOSED[name], x)
    assert whole.name == name
    for part, result in enumerate(whole.outputs):
        core = result.shape[2:]
        stop = tuple(max(1, n - 1) for n in core)
        start = tuple(min(1, n - 1) for n in stop)
        eqn = _one_of(whole, part)
        check_map(eqn, Box((1, 0, *start), (4, 1, *stop)), x, rtol=1e-10, atol=1e-10)
        links = set(RULES[eqn.name].links(eqn))
        assert links == {Link(0, 0, 0), Link(0, 1, 1)}


def test_whole_axes_are_not_linked() -> None:
    x = numbers((4, 5, 6), np.float32)
    eqn = equation(lambda x: lax.sort(x, dimension=1), x)
    assert list(RULES["sort"].links(eqn)) == [Link(0, 0, 0), Link(0, 2, 2)]
