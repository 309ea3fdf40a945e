"""Lowering a tile: what is loaded, what is cropped, what a kernel depends on."""

import jax.numpy as jnp
import pytest

from jask.geometry.box import Box
from jask.plan.lower import lower, needed, spans_of
from tests.plan.pieces import pieces
from tests.plan.programs import source

V = source((100,))


def test_the_last_tile_of_an_axis_is_shorter():
    p = pieces(jnp.sin, source((10, 7))).tiled((4, 4))
    assert spans_of(p, (0, 0)) == [(0, 4), (0, 4)]
    assert spans_of(p, (2, 1)) == [(8, 10), (4, 7)]


def test_an_elementwise_tile_loads_its_own_box():
    p = pieces(lambda x: jnp.exp(jnp.sin(x)), V).tiled((16,))
    low = lower(p, (2,))
    assert [load.box for load in low.loads] == [Box((32,), (48,))]
    assert [r.shape for r in low.records] == [(16,), (16,)]
    assert low.domains == (Box((32,), (48,)),)


def test_interior_tiles_share_a_kernel_and_a_short_one_has_its_own():
    p = pieces(lambda x: x[2:] - x[:-2], V).tiled((16,))  # 98 elements
    signatures = [lower(p, (i,)).signature for i in range(7)]
    assert len(set(signatures[:6])) == 1
    assert signatures[6] != signatures[0]


def test_shifted_slices_are_one_load_and_two_crops():
    p = pieces(lambda x: x[2:] - x[:-2], V).tiled((16,))
    low = lower(p, (1,))
    assert [load.box for load in low.loads] == [Box((16,), (34,))]
    crops = [r.crop for record in low.records for r in record.refs if r and r.crop]
    assert crops == [(16,), (16,)]
    assert sorted(low.offsets) == [0, 2]


def test_boxes_far_apart_are_loaded_each():
    p = pieces(lambda x: x + jnp.flip(x), V).tiled((10,))
    loads = lower(p, (0,)).loads
    assert {load.box for load in loads} == {Box((0,), (10,)), Box((90,), (100,))}


def test_a_shared_value_is_computed_once():
    p = pieces(lambda x: jnp.sin(x) * jnp.cos(jnp.sin(x)), V).tiled((10,))
    assert [r.shape for r in lower(p, (0,)).records] == [(10,)] * 3


def test_a_root_with_fewer_axes_runs_at_the_first_tile_of_the_others():
    found = pieces(lambda x, y: (x + 1, y + x[:, 0]), source((8, 6)), source((8,)))
    p = found.tiled((4, 3))
    one = next(k for k, r in enumerate(p.roots) if len(r.domain) == 1)
    running = {
        (i, j): lower(p, (i, j)).domains[one] for i in range(2) for j in range(2)
    }
    assert running == {
        (0, 0): Box((0,), (4,)),
        (1, 0): Box((4,), (8,)),
        (0, 1): None,
        (1, 1): None,
    }


def test_what_no_root_asks_for_is_not_loaded():
    p = pieces(lambda x: jnp.pad(x, (20, 0)), V).tiled((10,))
    assert lower(p, (0,)).loads == ()
    assert [load.box for load in lower(p, (2,)).loads] == [Box((0,), (10,))]


@pytest.mark.parametrize("index", [(0,), (6,)])
def test_what_is_needed_is_the_same_walk_without_the_kernel(index: tuple[int, ...]):
    p = pieces(lambda x: x[2:] - x[:-2], V).tiled((16,))
    domains, instances, loads = needed(p, index)
    low = lower(p, index)
    assert (tuple(domains), tuple(loads)) == (low.domains, low.loads)
    assert [(e.number, b.shape) for e, b, _ in instances] == [
        (r.number, r.shape) for r in low.records
    ]
