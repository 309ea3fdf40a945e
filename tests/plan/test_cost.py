"""The cost model: runs of a box, what loops read again, who needs a worker."""

from itertools import permutations

import jax.numpy as jnp
import pytest

from jask.geometry.box import Box
from jask.plan.axes import make_pass
from jask.plan.cost import (
    LARGE_PRODUCT,
    is_product,
    price,
    read_seconds,
    runs,
    survey,
    workers_for,
    write_seconds,
)
from jask.plan.cut import make_root
from jask.trace.graph import Source
from tests.plan.pieces import pieces
from tests.plan.programs import source


@pytest.mark.parametrize(
    ("box", "count", "length"),
    [
        (Box((0, 0, 0), (4, 5, 6)), 1, 4 * 5 * 6 * 8),
        (Box((1, 0, 0), (3, 5, 6)), 1, 2 * 5 * 6 * 8),
        (Box((1, 2, 0), (3, 4, 6)), 2, 2 * 6 * 8),
        (Box((0, 0, 1), (4, 5, 3)), 20, 2 * 8),
        (Box((0, 0, 1), (1, 1, 2)), 1, 8),
    ],
    ids=["all", "planes", "rows", "columns", "one"],
)
def test_a_box_is_a_number_of_runs(box: Box, count: int, length: int):
    assert runs(box, (4, 5, 6), 8) == (count, length)


@pytest.mark.parametrize("seconds", [read_seconds, write_seconds])
def test_a_box_of_whole_rows_costs_less_than_one_of_columns(seconds):
    shape = (4096, 4096)
    rows, columns = Box((0, 0), (64, 4096)), Box((0, 0), (4096, 64))
    assert rows.size == columns.size
    assert seconds(rows, shape, 4) < seconds(columns, shape, 4) / 5


def test_a_few_columns_are_never_dearer_to_read_than_whole_rows():
    shape = (4096, 64)
    whole = read_seconds(Box.whole(shape), shape, 4)
    assert read_seconds(Box((0, 0), (4096, 1)), shape, 4) <= 1.6 * whole


def test_a_loop_inside_which_a_block_stays_reads_it_once():
    n = 256
    found = pieces(jnp.matmul, source((n, n)), source((n, n)))
    p = found.tiled((64, 64, 64))
    s = survey(p, p.tile, found.places)
    assert s.counts == (4, 4, 4)
    block, tiles = 64 * 64 * 4, 4**3
    reads = {order: price(s, order, p, 1).reads for order in permutations(range(3))}
    # one operand's position does not depend on the innermost kept axis
    assert set(reads.values()) == {block * (tiles + tiles // 4), block * 2 * tiles}


def test_a_part_of_a_sorted_axis_costs_what_the_whole_axis_does():
    made = pieces(lambda x: jnp.sort(x, 0), source((4096, 24)))
    p = make_pass([make_root("map", made.only("sort").outputs, None, {})], made.links)
    whole, part = (survey(p, (n, 4), made.places) for n in (4096, 64))
    assert part.compute >= 0.99 * whole.compute > 0  # a part also crops less
    assert part.temp == whole.temp == 4096 * 4 * 4


def test_each_further_worker_needs_its_own_blocks():
    found = pieces(lambda x: jnp.exp(x) + 1, source((1 << 16,)))
    p = found.tiled((1 << 12,))
    s = survey(p, p.tile, found.places)
    one, two = (price(s, (0,), p, n) for n in (1, 2))
    assert (one.workers, two.workers) == (1, 2)
    assert two.memory == 2 * one.memory
    assert two.seconds < one.seconds
    assert one.reads == two.reads == 4 << 16
    assert one.writes == two.writes == 4 << 16


def test_one_step_and_large_products_have_one_worker():
    p = pieces(jnp.sin, source((100,))).tiled((10,))
    assert [workers_for(p, 4, steps) for steps in (1, 3, 10)] == [1, 3, 4]
    side = int((LARGE_PRODUCT // 4) ** 0.5)
    for n, large in ((side, False), (side + 1, True)):
        found = pieces(jnp.matmul, source((n, n)), source((n, n)))
        p = found.tiled((n, n, n))
        assert is_product(p.roots[0]) == large
        assert workers_for(p, 4, 10) == (1 if large else 4)


def test_the_last_tile_costs_what_it_has():
    def seconds(rows: int, tile: int) -> float:
        found = pieces(jnp.matmul, source((rows, 4096)), source((4096, 4096)))
        p = found.tiled((tile, 4096, 4096))
        return price(survey(p, p.tile, found.places), (0, 1, 2), p, 1).seconds

    one_more = seconds(4097, 2048)
    assert one_more == pytest.approx(seconds(4096, 2048), rel=0.02)  # and a step's time


def test_a_shifted_load_depends_on_the_axis_that_moves_it():
    found = pieces(lambda x, y: x + y, source((64, 32)), source((32,)))
    p = found.tiled((16, 8))
    s = survey(p, p.tile, found.places)
    by_size = {load.nbytes: load.axes for load in s.loads}
    assert by_size == {16 * 8 * 4: {0, 1}, 8 * 4: {1}}


def test_the_carries_of_a_scan_are_held_for_every_open_line():
    found = pieces(lambda x: jnp.cumsum(x, 0), source((64, 4096)))
    p = found.tiled((16, 1024))
    assert [r.kind for r in p.roots] == ["scan"]
    s = survey(p, p.tile, found.places)
    block, carry = 16 * 1024 * 4, 1024 * 8  # a float32 sum is carried in float64
    assert [o.accumulator for o in s.outs] == [carry]
    lines, interleaved = (price(s, order, p, 1).memory for order in ((1, 0), (0, 1)))
    assert lines == 2 * block + 3 * carry + s.temp
    assert interleaved - lines == 3 * carry
    both = price(s, (1, 0), p, 2).memory
    assert both == 2 * (2 * block + s.temp) + 6 * carry


@pytest.mark.parametrize("sides", [(500, 500, 250), (125, 250, 500), (512, 64, 512)])
def test_a_leaf_in_two_roles_is_read_for_both(sides: tuple[int, int, int]):
    """In the middle of a grid the row and the column of `x @ x` would be one block."""

    def reads(*files: Source) -> int:
        found = pieces(lambda *a: jnp.matmul(a[0], a[-1]), *files)
        p = found.tiled(sides)
        return price(survey(p, sides, found.places), (0, 1, 2), p, 1).reads

    square = source((4000, 4000))
    assert reads(square) == reads(square, source((4000, 4000)))
