"""The tile search: shapes that fit, and what it says when none does."""

from math import prod

import jax.numpy as jnp
import pytest

from jask.plan.axes import make_pass
from jask.plan.ir import Limits
from jask.plan.search import _filled, _half, _power, search, tiled
from tests.plan.pieces import Pieces, pieces
from tests.plan.programs import source


def found_for(made: Pieces, limits: Limits):
    p = make_pass(made.roots(limits), made.links)
    return p, search(p, made.places, limits, limits.memory)


def is_power_or_share(side: int, whole: int) -> bool:
    return whole % side == 0 or side & (side - 1) == 0


@pytest.mark.parametrize("memory", [1 << 14, 1 << 18, 1 << 24])
@pytest.mark.parametrize("shape", [(1000, 1000), (7, 100_003), (50_000, 3)], ids=str)
def test_a_tile_fits_the_memory_and_the_grid(shape: tuple[int, ...], memory: int):
    limits = Limits(memory=memory, workers=2)
    made = pieces(lambda x: jnp.exp(x) + 1, source(shape))
    p, found = found_for(made, limits)
    assert found.fits
    assert found.cost.memory <= memory
    assert all(map(is_power_or_share, found.tile, p.grid))
    assert sorted(found.order) == [0, 1]


@pytest.mark.parametrize("length", [10**6, 8 * 10**6, 3 * 2**20])
def test_no_tile_is_cut_off_where_a_side_near_divides_the_axis(length: int):
    limits = Limits(memory=1 << 20, workers=2)
    _, found = found_for(pieces(jnp.sin, source((length,))), limits)
    assert length % found.tile[0] == 0


@pytest.mark.parametrize("block", [64, 1000, 1 << 14])
def test_a_forced_block_is_not_exceeded(block: int):
    limits = Limits(memory=1 << 24, block=block, forced=True)
    _, found = found_for(pieces(jnp.sin, source((1000, 100))), limits)
    assert prod(found.tile) * 4 <= block
    assert not found.too_large


@pytest.mark.parametrize("side", [1200, 2000, 3000])
def test_tiles_of_a_product_divide_its_axes(side: int):
    limits = Limits(memory=10_000_000)
    half = source((side, side), "float16")  # XLA's: each cut-off tile has its kernel
    made = pieces(jnp.matmul, half, half, limits=limits)
    p = make_pass(made.roots(limits, cautious=True), made.links)
    found = search(p, made.places, limits, limits.memory)
    assert found.fits
    assert found.cost.memory <= limits.memory
    assert p.grid == (side,) * 3
    assert sum(side % t > 0 for t in found.tile) <= 1


def test_sides_that_divide_no_axis_stay():
    limits = Limits(memory=10_000_000)
    half = source((2003, 2003), "float16")
    made = pieces(jnp.matmul, half, half, limits=limits)
    p = make_pass(made.roots(limits, cautious=True), made.links)
    found = search(p, made.places, limits, limits.memory)
    assert all(is_power_or_share(t, 2003) for t in found.tile)


def test_a_product_by_blas_reads_little():
    side, limits = 11180, Limits(memory=256_000_000)
    made = pieces(jnp.matmul, source((side, side)), source((side, side)), limits=limits)
    p = make_pass(made.roots(limits, cautious=True), made.links)
    found = search(p, made.places, limits, limits.memory)
    assert found.fits
    # Hong and Kung (1981): the least traffic of a product, with so much memory
    bound = 2 * 4 * side**3 / (limits.memory / 4) ** 0.5
    assert found.cost.reads <= 1.5 * max(bound, 2 * 4 * side**2)


def test_rows_are_kept_whole_where_the_file_has_them():
    limits = Limits(memory=1 << 24, block=1 << 16)
    _, found = found_for(pieces(jnp.sin, source((4096, 1024))), limits)
    assert found.tile[1] == 1024


def test_a_transpose_gets_tiles_that_are_wide_both_ways():
    limits = Limits(memory=1 << 22, block=1 << 18)
    _, found = found_for(pieces(jnp.transpose, source((4096, 4096))), limits)
    assert min(found.tile) >= 64


def test_what_cannot_fit_says_how_much_it_needs_at_least():
    limits = Limits(memory=100)
    made = pieces(lambda x: jnp.sort(x, 0), source((1 << 12,)))
    p = make_pass(made.roots(Limits(memory=1 << 20)), made.links)
    found = search(p, made.places, limits, limits.memory)
    assert not found.fits
    assert found.least >= 4 << 12
    assert search(p, made.places, limits, found.least).fits


def test_a_pass_takes_over_what_was_found():
    limits = Limits(memory=1 << 20)
    p, found = found_for(pieces(jnp.sin, source((1000, 100))), limits)
    q = tiled(p, found)
    assert (q.tile, q.order, q.workers) == (found.tile, found.order, found.cost.workers)
    assert (q.memory, q.reads) == (found.cost.memory, found.cost.reads)
    assert p.tile == ()


@pytest.mark.parametrize(
    ("axes", "elements", "tile"),
    [((0, 1), 8, (8, 1)), ((1, 0), 8, (1, 7)), ((1, 0), 14, (2, 7))],
)  # fmt: skip
def test_a_start_fills_some_axes_first(
    axes: tuple[int, ...], elements: int, tile: tuple[int, ...]
):
    assert _filled((100, 7), axes, elements) == tile


def test_sides_are_powers_of_two_or_the_whole_axis():
    assert [_power(n, 7) for n in (1, 3, 6, 7, 9)] == [1, 2, 4, 7, 9]
    assert [_half(n) for n in (2, 3, 7, 8, 9)] == [1, 2, 4, 4, 8]
