"""Axes that run together share a grid axis; those of one root never do."""

import jax.numpy as jnp
import pytest
from jax import lax

from jask.plan.axes import make_pass
from jask.plan.cut import make_root
from tests.plan.pieces import Pieces, pieces
from tests.plan.programs import source

X = source((40, 24))


def root(found: Pieces, name: str):
    eqn = found.only(name)
    return make_root("reduce", eqn.outputs, eqn, {})


def test_an_axis_keeps_its_label_through_an_elementwise_chain():
    found = pieces(lambda x: jnp.exp(jnp.sin(x) * 2), X)
    (leaf,), (out,) = found.program.leaves, found.program.outputs
    for axis in (0, 1):
        assert found.links.find((leaf, axis)) == found.links.find((out, axis))
    assert found.links.find((leaf, 0)) != found.links.find((leaf, 1))


def test_a_transpose_swaps_the_labels():
    found = pieces(lambda x: jnp.transpose(x) + 1, X)
    (leaf,), (out,) = found.program.leaves, found.program.outputs
    assert found.links.find((leaf, 0)) == found.links.find((out, 1))
    assert found.links.find((leaf, 1)) == found.links.find((out, 0))


def test_two_axes_of_one_root_never_walk_the_diagonal():
    found = pieces(lambda x: x + x.T, source((30, 30)))
    (out,) = found.program.outputs
    assert found.links.find((out, 0)) == found.links.find((out, 1))
    (only,) = found.roots()
    assert make_pass([only], found.links).grid == (30, 30)
    assert sorted(only.axes) == [0, 1]


def test_reductions_of_one_array_share_the_grid_of_its_axes():
    found = pieces(lambda x: (jnp.sum(x, 0), jnp.max(x, 1)), X)
    total, most = root(found, "reduce_sum"), root(found, "reduce_max")
    p = make_pass([total, most], found.links)
    assert sorted(p.grid) == [24, 40]
    assert total.axes == most.axes
    assert (total.kept, most.kept) == ((1,), (0,))


def test_arrays_without_a_common_axis_get_grid_axes_of_their_own():
    found = pieces(lambda x, y: (jnp.sum(x), jnp.max(y)), X, source((40, 24)))
    total, most = root(found, "reduce_sum"), root(found, "reduce_max")
    p = make_pass([total, most], found.links)
    assert sorted(p.grid) == [24, 24, 40, 40]
    assert not set(total.axes) & set(most.axes)


def test_what_a_product_sums_over_runs_along_both_operands():
    found = pieces(lambda x, y: (x.T @ y, jnp.sum(y)), X, source((40, 3)))
    product, total = root(found, "dot_general"), root(found, "reduce_sum")
    assert sorted(make_pass([product, total], found.links).grid) == [3, 24, 40]


def test_an_array_does_not_run_along_itself():
    found = pieces(lambda x: (x @ x, jnp.sum(x, 0)), source((30, 30)))
    (leaf,) = found.program.leaves
    assert found.links.find((leaf, 0)) != found.links.find((leaf, 1))


def test_the_axes_of_a_product_are_kept_kept_and_reduced():
    found = pieces(jnp.matmul, source((6, 5)), source((5, 7)))
    product = root(found, "dot_general")
    p = make_pass([product], found.links)
    assert sorted(p.grid) == [5, 6, 7]
    assert [product.domain[d] for d in product.kept] == [6, 7]


@pytest.mark.parametrize(
    ("backwards", "grid"), [(False, [24, 40]), (True, [24, 40, 40])]
)
def test_scans_in_opposite_directions_walk_axes_of_their_own(
    backwards: bool, grid: list[int]
):
    found = pieces(
        lambda x: (lax.cumsum(x, 0), lax.cumprod(x, 0, reverse=backwards)), X
    )
    scans = [
        make_root("scan", found.only(name).outputs, found.only(name), {})
        for name in ("cumsum", "cumprod")
    ]
    assert sorted(make_pass(scans, found.links).grid) == grid
