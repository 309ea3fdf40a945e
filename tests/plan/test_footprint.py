"""What tiles need, from their sides, is what lowering them says."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jask.plan import footprint
from jask.plan.axes import make_pass
from jask.plan.footprint import Footprint
from jask.plan.ir import Limits, Pass
from jask.plan.lower import needed
from tests.plan.pieces import pieces
from tests.plan.programs import source

X, Y, V = source((24, 18)), source((18, 24)), source((24,))
LIMITS = Limits(memory=1 << 16, block=256, forced=True)


def _network(x: Any, y: Any) -> Any:
    hidden = jnp.tanh(x @ y)
    return jnp.sum(hidden * (hidden @ x @ y))


FOLLOWS: dict[str, tuple[Callable[..., Any], Any]] = {
    "elementwise": (lambda x: jnp.exp(x) * x + 1, (X,)),
    "broadcast": (lambda x, v: x * v[:, None], (X, V)),
    "transposed": (lambda x, y: x + y.T, (X, Y)),
    "product": (jnp.matmul, (X, Y)),
    "two products": (lambda x, y: (x @ y, y @ x), (X, Y)),
    "with its transpose": (lambda x: x @ x.T, (X,)),
    "folds": (lambda x: (jnp.sum(x, 0), jnp.max(x, 1), jnp.mean(x)), (X,)),
    "scan": (lambda x: jnp.cumsum(x, 0) * 2, (X,)),
    "rows": (lambda x: x[jnp.array([3, 1, 2])], (X,)),
    "gradient": (jax.grad(_network, argnums=(0, 1)), (X, Y)),
}

VARIES: dict[str, tuple[Callable[..., Any], Any]] = {
    "halo": (lambda x: x[2:] - x[:-2], (X,)),
    "flipped": (lambda x: x + jnp.flip(x, 0), (X,)),
    "reshaped": (lambda x: jnp.reshape(x, (12, 36)) * 2, (X,)),
    "joined": (lambda x, y: jnp.concatenate([x, y.T]), (X, Y)),
    "padded": (lambda x: jnp.pad(x, ((20, 0), (0, 3))), (X,)),
}


def passes(fn: Callable[..., Any], operands: Any) -> Iterator[Pass]:
    """All roots of a level together, and each alone, with several tiles."""
    made = pieces(fn, *operands, limits=LIMITS)
    roots = made.roots(LIMITS, cautious=True)
    groups = [[r for r in roots if r.level == n] for n in {r.level for r in roots}]
    for group in (*groups, *([r] for r in roots)):
        p = make_pass(group, made.links)
        for part in (1, 2, 3, 5):
            p.tile = tuple(-(-n // (part + a)) for a, n in enumerate(p.grid))
            yield p
            p.tile = tuple(reversed([-(-n // part) for n in p.grid]))
            yield p


@pytest.mark.parametrize("name", [*FOLLOWS, *VARIES])
def test_a_footprint_says_what_lowering_says(name: str):
    for p in passes(*(FOLLOWS | VARIES)[name]):
        known = Footprint(p)
        for index in product(*(range(n) for n in p.counts)):
            domains, instances, loads = needed(p, index)
            found = known.needed(p, index)
            assert found[0] == domains
            blocks = [(e.number, str(b)) for e, b, _ in instances]
            assert sorted((e.number, str(b)) for e, b in found[1]) == sorted(blocks)
            assert sorted(map(str, found[2])) == sorted(map(str, loads))
            assert known.loads(p, index) == found[2]


@pytest.mark.parametrize("name", ["elementwise", "product", "folds", "transposed"])
def test_what_follows_the_sides_is_not_lowered(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    def never(p: Pass, index: Any) -> Any:
        raise AssertionError(index)

    made = [replace(p) for p in passes(*FOLLOWS[name])]
    monkeypatch.setattr(footprint, "needed", never)
    for p in made:
        assert Footprint(p).needed(p, [0] * len(p.grid))[2]


@pytest.mark.parametrize("name", VARIES)
def test_what_does_not_is_lowered(name: str, monkeypatch: pytest.MonkeyPatch):
    lowered: list[Any] = []

    def noted(p: Pass, index: Any) -> Any:
        lowered.append(index)
        return needed(p, index)

    made = [replace(p) for p in passes(*VARIES[name])]
    monkeypatch.setattr(footprint, "needed", noted)
    for p in made:
        Footprint(p).needed(p, [0] * len(p.grid))
    assert lowered
