"""The tile search: the cheapest tile shape and loop order that fit the budget.

1. Start from a few shapes of about one block: whole rows, whole columns, square.
2. Descend: halve or double one axis, or trade one axis against another, while the
   modelled cost falls. Power-of-two sides only. With more than four axes the first
   step down is taken, with up to four the steepest.
3. For each shape take the best order of the loops.
4. Where tiles are cut off at the ends of several axes, take sides near the found ones
   that divide the axes: each axis with a cut-off tile doubles the kernels, of which
   each takes a tenth of a second to compile and a third of a megabyte.

Greedy halving from the whole array gets stuck; several starts do not.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations
from math import inf, prod

from jask.plan.cost import DOT_BLOCK, MAP_BLOCK, Cost, Survey, price, survey
from jask.plan.ir import Limits, Pass, Place
from jask.trace.ir import Var

MAX_PERMUTED = 4
"""Loop orders are searched for at most this many tiled axes, and only so many, the
longest ones, are traded against each other."""

LARGE_SIDE = 2048
"""Side of the square tile from which the search for a large product starts."""

EVEN = 1.1
"""A tile may cost so many times the best one to be cut off nowhere."""

_OVERSIZE, _OVER_BUDGET = 1e5, 1e9
"""Scores that no modelled time reaches."""


@dataclass(frozen=True, slots=True)
class Found:
    """The best tile of a search."""

    tile: tuple[int, ...]
    order: tuple[int, ...]
    cost: Cost
    fits: bool
    least: int
    """The least memory that any shape needed."""
    too_large: bool
    """Whether a block is larger than the block size."""


class _Search:
    def __init__(
        self, p: Pass, places: Mapping[Var, Place], limits: Limits, memory: int
    ) -> None:
        self.p, self.places, self.limits, self.memory = p, places, limits, memory
        self.seen: dict[tuple[int, ...], tuple[float, Cost, tuple[int, ...]]] = {}
        self.least: int | None = None

    def run(self) -> Found:
        best: tuple[float, tuple[int, ...]] = (inf, ())
        for start in dict.fromkeys(self.starts()):
            score, tile = self.descend(start)
            if score < best[0]:
                best = (score, tile)
        score, tile = self.evened(*best)
        _, cost, order = self.seen[tile]
        fits = cost.memory <= self.memory
        return Found(
            tile, order, cost, fits, self.least or 0, fits and score >= _OVERSIZE
        )

    def starts(self) -> Iterator[tuple[int, ...]]:
        """Yield shapes of about one block, and of what the memory allows."""
        grid = tuple(max(1, n) for n in self.p.grid)
        values = [*self.p.leaves, *self.p.made]
        width = max(v.dtype.itemsize for v in values)
        block = max(1, self.limits.block // width)
        held = width * len(values) * (self.limits.workers + 1)
        allowed = min(block, max(1, self.memory // held))
        if prod(grid) <= block:
            yield grid
        for elements in dict.fromkeys((block, allowed, max(1, allowed // 16))):
            yield _filled(grid, range(len(grid)), elements)
            yield _filled(grid, range(len(grid) - 1, -1, -1), elements)
            if len(grid) > 1:
                side = max(1, int(elements ** (1 / len(grid))))
                yield tuple(_power(min(side, n), n) for n in grid)
        if not self.limits.forced:
            yield tuple(_power(min(LARGE_SIDE, n), n) for n in grid)

    def descend(self, tile: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        score = self.score(tile)
        many = sum(n > 1 for n in self.p.grid) > MAX_PERMUTED
        while True:
            tried = ((self.score(t), t) for t in self.moves(tile))
            if many:
                better = next((s for s in tried if s[0] < score), (inf, tile))
            else:
                better = min(tried, default=(inf, tile))
            if better[0] >= score:
                return score, tile
            score, tile = better

    def evened(
        self, score: float, tile: tuple[int, ...]
    ) -> tuple[float, tuple[int, ...]]:
        ragged = sum(n % t > 0 for t, n in zip(tile, self.p.grid, strict=True) if n)
        if ragged > 1:
            even = tuple(_even(t, n) for t, n in zip(tile, self.p.grid, strict=True))
            if self.score(even) <= EVEN * score:
                return self.score(even), even
        return score, tile

    def moves(self, tile: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        axes = [a for a, n in enumerate(self.p.grid) if n > 1]
        smaller = {a: _half(tile[a]) for a in axes if tile[a] > 1}
        larger = {
            a: min(self.p.grid[a], 2 * tile[a])
            for a in axes
            if tile[a] < self.p.grid[a]
        }
        for a, n in (*smaller.items(), *larger.items()):
            yield (*tile[:a], n, *tile[a + 1 :])
        long = sorted(axes, key=lambda a: -self.p.grid[a])[:MAX_PERMUTED]
        for a, n in smaller.items():
            for b, m in larger.items():
                if a != b and a in long and b in long:
                    changed = list(tile)
                    changed[a], changed[b] = n, m
                    yield tuple(changed)

    def score(self, tile: tuple[int, ...]) -> float:
        if tile not in self.seen:
            s = survey(self.p, tile, self.places)
            cost, order = self.best_order(s)
            if self.least is None or cost.memory < self.least:
                self.least = cost.memory
            self.seen[tile] = (self.judge(s, cost), cost, order)
        return self.seen[tile][0]

    def judge(self, s: Survey, cost: Cost) -> float:
        """Return seconds, and far more for a shape that does not fit."""
        score = cost.seconds
        if cost.memory > self.memory:
            # halving a tile may only make room for another worker: that is better too
            held = cost.memory + cost.memory / cost.workers
            score += _OVER_BUDGET * held / max(1, self.memory)
        plain, heavy = self.limits.block, self.limits.block
        if not self.limits.forced:
            heavy = max(heavy, DOT_BLOCK)
            if all(r.kind == "map" for r in self.p.roots):
                plain = max(plain, MAP_BLOCK)
        for size, limit in ((s.largest, plain), (s.largest_dot, heavy)):
            if size > limit:
                score += _OVERSIZE * size / limit
        return score

    def best_order(self, s: Survey) -> tuple[Cost, tuple[int, ...]]:
        active = [a for a, n in enumerate(s.counts) if n > 1]
        rest = tuple(a for a, n in enumerate(s.counts) if n == 1)
        last = self.p.sequential
        choices = (
            permutations(active) if len(active) <= MAX_PERMUTED else [tuple(active)]
        )
        best: tuple[Cost, tuple[int, ...]] | None = None
        for chosen in choices:
            order = (
                *rest,
                *(a for a in chosen if a not in last),
                *(a for a in chosen if a in last),
            )
            cost = self._priced(s, order)
            if best is None or self._rank(cost) < self._rank(best[0]):
                best = (cost, order)
        assert best is not None
        return best

    def _priced(self, s: Survey, order: tuple[int, ...]) -> Cost:
        """Return the cost with all workers, or with one if only that fits."""
        cost = price(s, order, self.p, self.limits.workers)
        if cost.memory > self.memory and cost.workers > 1:
            alone = price(s, order, self.p, 1)
            return alone if alone.memory <= self.memory else cost
        return cost

    def _rank(self, cost: Cost) -> tuple[bool, float, int]:
        fits = cost.memory <= self.memory
        return (not fits, cost.seconds if fits else 0.0, cost.memory)


def _filled(
    grid: tuple[int, ...], axes: Iterable[int], elements: int
) -> tuple[int, ...]:
    """Return a tile of at most so many elements, filling these axes first."""
    tile, left = [1] * len(grid), elements
    for a in axes:
        tile[a] = _power(min(grid[a], left), grid[a])
        left = max(1, left // tile[a])
    return tuple(tile)


def _power(n: int, whole: int) -> int:
    """Return the largest power of two up to n, or n where it is the whole axis."""
    return n if n >= whole else 1 << max(0, n.bit_length() - 1)


def _even(side: int, whole: int) -> int:
    """Return the largest side that divides the axis and makes few more tiles."""
    count = -(-whole // max(1, side))
    more = range(count, count + max(1, count // 4) + 1)
    return next((whole // k for k in more if k and whole % k == 0), side)


def _half(n: int) -> int:
    return 1 << max(0, (n - 1).bit_length() - 1)


def search(p: Pass, places: Mapping[Var, Place], limits: Limits, memory: int) -> Found:
    """Return the best tile for a pass that may hold `memory` bytes."""
    return _Search(p, places, limits, memory).run()


def tiled(p: Pass, found: Found) -> Pass:
    """Return the pass with a found tile."""
    return replace(
        p,
        tile=found.tile,
        order=found.order,
        workers=found.cost.workers,
        seconds=found.cost.seconds,
        memory=found.cost.memory,
        reads=found.cost.reads,
        writes=found.cost.writes,
    )
