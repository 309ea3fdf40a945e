"""dot_general, local and folded."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES, Reduction
from tests.rules.helpers import (
    SIDES,
    bounds,
    boxes,
    check_fold,
    check_map,
    equation,
    numbers,
)

DTYPES = [
    ("float32", "float32", "float32"),
    ("float16", "float16", "float16"),
    ("float16", "float16", "float32"),
    ("int8", "int8", "int32"),
    ("bool", "bool", "bool"),
    ("complex64", "complex64", "complex64"),
    ("float32", "float64", "float64"),
]


@settings(max_examples=5)
@given(data=st.data())
@pytest.mark.parametrize("dtypes", DTYPES)
def test_products_are_the_same_whole_and_in_parts(
    data: st.DataObject, dtypes: tuple[str, str, str]
) -> None:
    sizes = [data.draw(st.lists(SIDES, max_size=2)) for _ in range(4)]
    eqn, x, y = _dot(data, sizes, dtypes)
    out = data.draw(boxes(eqn.outputs[0].shape))
    exact = dtypes[2] in {"int32", "bool"}
    eps = 0 if exact else float(jnp.finfo(dtypes[2]).eps)
    check_map(eqn, out, x, y, rtol=20 * eps, atol=40 * eps)
    cuts = data.draw(bounds(sizes[3]))
    # the rule takes its parts in the order of the left operand's contracted axes
    check_fold(eqn, out, cuts, x, y, rtol=20 * eps, atol=40 * eps)


def _dot(
    data: st.DataObject, sizes: list[list[int]], dtypes: tuple[str, str, str]
) -> tuple[Any, Any, Any]:
    """Return a product whose axes are in any order; sizes: batch, left, right, sum."""
    batch, left, right, summed = sizes
    roles = [
        [("b", i) for i in range(len(batch))]
        + [(free, i) for i in range(len(own))]
        + [("c", i) for i in range(len(summed))]
        for free, own in (("f", left), ("f", right))
    ]
    order = [data.draw(st.permutations(r)) for r in roles]
    shapes = [
        tuple({"b": batch, "f": own, "c": summed}[role][i] for role, i in axes)
        for axes, own in zip(order, (left, right), strict=True)
    ]

    def where(role: str, n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        first, second = (tuple(o.index((role, i)) for i in range(n)) for o in order)
        return first, second

    numbers_ = (where("c", len(summed)), where("b", len(batch)))
    x, y = (
        numbers(s, t, seed=i)
        for i, (s, t) in enumerate(zip(shapes, dtypes, strict=False))
    )
    eqn = equation(
        lambda x, y: lax.dot_general_p.bind(
            x,
            y,
            dimension_numbers=numbers_,
            precision=None,
            preferred_element_type=np.dtype(dtypes[2]),
            out_sharding=None,
        ),
        x,
        y,
    )
    return eqn, x, y


def test_an_empty_contraction_gives_zeros() -> None:
    x, y = numbers((4, 0), np.float32), numbers((0, 5), np.float32)
    eqn = equation(lax.dot, x, y)
    check_map(eqn, Box((1, 2), (3, 4)), x, y)


def test_the_domain_is_the_result_and_the_contraction() -> None:
    x, y = numbers((4, 7), np.float32), numbers((7, 5), np.float32)
    eqn = equation(lax.dot, x, y)
    rule = RULES["dot_general"]
    assert isinstance(rule, Reduction)
    assert rule.domain(eqn) == (4, 5, 7)
    assert rule.sources(eqn) == ((0, 0), (1, 1), (0, 1))
    need = rule.need_part(eqn, Box((0, 1, 2), (3, 4, 6)))
    assert need.boxes == (Box((0, 2), (3, 6)), Box((2, 1), (6, 4)))


@pytest.mark.parametrize(
    ("n", "dtype", "accumulator"),
    [
        (4, "float32", "float64"),
        (1024, "float32", "float32"),
        (4, "bfloat16", "float32"),
        (1024, "bfloat16", "float32"),
        (4, "int32", "int32"),
        (4, "complex64", "complex128"),
    ],
)
def test_small_results_are_summed_in_a_wider_type(
    n: int, dtype: str, accumulator: str
) -> None:
    x = np.zeros((n, 2), jnp.dtype(dtype))
    eqn = equation(lambda x: lax.dot_general(x, x, (((1,), (1,)), ((), ()))), x)
    rule = RULES["dot_general"]
    assert isinstance(rule, Reduction)
    assert rule.accumulators(eqn) == (np.dtype(accumulator),)


@pytest.mark.parametrize(("m", "n"), [((), ()), ((6,), ()), ((), (6,)), ((6,), (2,))])
def test_tall_thin_products_are_summed_instead(
    m: tuple[int, ...], n: tuple[int, ...]
) -> None:
    x, y = numbers((40, *m), np.float32), numbers((40, *n), np.float32, seed=1)
    eqn = equation(lambda x, y: lax.dot_general(x, y, (((0,), (0,)), ((), ()))), x, y)
    out = Box((0,) * len(m + n), tuple(k - 1 for k in m + n))
    check_map(eqn, out, x, y, rtol=1e-5, atol=1e-5)
    check_fold(eqn, out, [[10, 38]], x, y, rtol=1e-5, atol=1e-5)
