"""No tile costs less than the floor that its sides tell."""

from collections.abc import Callable
from itertools import permutations, product
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jask.plan.axes import make_pass
from jask.plan.cost import price, survey
from jask.plan.floor import Floors
from jask.plan.footprint import Footprint
from jask.plan.ir import Limits
from tests.plan.pieces import pieces
from tests.plan.programs import source

X, Y = source((2048, 300)), source((300, 1000))
LIMITS = Limits(memory=1 << 20, workers=2)


@pytest.mark.parametrize("cautious", [False, True])
@pytest.mark.parametrize(
    ("fn", "operands"),
    [
        (lambda x: jnp.exp(x) * x, (X,)),
        (jnp.matmul, (X, Y)),
        (lambda x: (jnp.sum(x, 0), jnp.max(x, 1)), (X,)),
        (lambda x: jnp.cumsum(x, 0) * 2, (X,)),
        (lambda x: x[2:] - x[:-2], (X,)),
        (lambda x: x.T @ x, (X,)),
        (jax.grad(lambda x, y: jnp.sum(jnp.tanh(x @ y)), argnums=(0, 1)), (X, Y)),
    ],
    ids=["map", "product", "folds", "scan", "halo", "gram", "gradient"],
)
def test_no_order_of_loops_and_no_number_of_workers_goes_below(
    fn: Callable[..., Any], operands: tuple[Any, ...], *, cautious: bool
):
    made = pieces(fn, *operands, limits=LIMITS)
    roots = made.roots(LIMITS, cautious=cautious)
    p = make_pass([r for r in roots if r.level == 0], made.links)
    floors = Floors(p, made.places, LIMITS, Footprint(p))
    for tile in product((64, 300), repeat=len(p.grid)):
        sides = tuple(map(min, tile, p.grid))
        floor, looked = floors.of(sides), survey(p, sides, made.places)
        for order in permutations(range(len(p.grid))):
            for workers in (1, 2):
                cost = price(looked, order, p, workers)
                assert floor.seconds <= cost.seconds * 1.000001  # sums are rounded
                assert floor.memory <= cost.memory


def test_the_floor_of_a_product_is_near_its_price():
    made = pieces(jnp.matmul, X, Y, limits=LIMITS)
    p = make_pass(made.roots(LIMITS, cautious=True), made.links)
    floors = Floors(p, made.places, LIMITS, Footprint(p))
    tile = (1024, 1000, 300)
    looked = survey(p, tile, made.places)
    orders = (price(looked, order, p, 1) for order in permutations(range(3)))
    found = min(orders, key=lambda c: c.seconds)
    assert floors.of(tile).seconds >= found.seconds / 2
    assert floors.of(tile).memory >= found.memory / 2
