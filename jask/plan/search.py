"""The tile search: the cheapest tile shape and loop order that fit the budget.

1. Start from a few shapes of about one block: whole rows, whole columns, square.
2. Descend: halve or double one axis, or trade one axis against another, while the
   modelled cost falls. Power-of-two sides only. With up to two axes the steepest step
   down is taken, with more the first one, of those with the best prospects (`floor`).
3. For each shape take the best order of the loops. What shapes need is worked out once,
   where it follows the sides (`footprint`); the shape that was found is lowered.
4. Where tiles are cut off at the ends of axes, take sides near the found ones that
   divide the axes: each axis with a cut-off tile doubles the kernels, of which each
   takes a tenth of a second to compile and a third of a megabyte, long ones far more.

Greedy halving from the whole array gets stuck; several starts do not.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import inf

from jask.plan.blas import is_by_blas
from jask.plan.cost import (
    DOT_BLOCK,
    MAP_BLOCK,
    Cost,
    Prices,
    Survey,
    is_product,
    survey,
)
from jask.plan.floor import Floors
from jask.plan.footprint import Footprint
from jask.plan.ir import Limits, Pass, Place, Root
from jask.trace.ir import Var

MAX_PERMUTED = 4
"""Loop orders are searched for at most this many tiled axes, and only so many, the
longest ones, are traded against each other."""

MOST_AXES = 12
"""With more axes, as of unlike roots beside each other, all is one tile or nothing."""

MAX_STEEPEST = 2
"""With more axes the first step down is taken, of those with the best prospects."""

DESCENTS, HOPELESS = 3, 1.5
"""After so many descents, from the best starts, a search is given up if the best tile
takes so many times the seconds that are looked for."""

LARGE_SIDE = 2048
"""Side of the square tile from which the search for a large product starts."""

EVEN = 1.1
"""A tile may cost so many times the best one to be cut off nowhere, and more than that
what compiling takes, for kernels beyond a second one."""

COMPILING = 0.1
"""Seconds to compile a kernel."""

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
        self,
        p: Pass,
        places: Mapping[Var, Place],
        limits: Limits,
        memory: int,
        *,
        lowered: bool = False,
    ) -> None:
        self.p, self.places, self.limits, self.memory = p, places, limits, memory
        self.footprint = Footprint(p, lowered=lowered)
        self.floors = Floors(p, places, limits, self.footprint)
        self.sequential = p.sequential
        self.mapped = all(r.kind == "map" for r in p.roots)
        self.seen: dict[tuple[int, ...], tuple[float, Cost, tuple[int, ...]]] = {}
        self.least: int | None = None

    def run(self, at_most: float) -> Found:
        best: tuple[float, tuple[int, ...]] = (inf, ())
        starts = list(dict.fromkeys(self.starts()))
        if sum(n > 1 for n in self.p.grid) > MOST_AXES:
            best, starts = (self.score(self.p.grid), self.p.grid), []
        elif at_most < inf:
            starts.sort(key=self.score)
        for number, start in enumerate(starts):
            if number >= DESCENTS and best[0] > HOPELESS * at_most:
                break
            score, tile = self.descend(start)
            if score < best[0]:
                best = (score, tile)
        if not self.limits.forced and any(map(_is_large_by_blas, self.p.roots)):
            best = min(self.counted(*best), self.counted(*self.kept_still()))
        score, tile = self.evened(*best)
        _, cost, order = self.seen[tile]
        fits = cost.memory <= self.memory
        return Found(
            tile, order, cost, fits, self.least or 0, fits and score >= _OVERSIZE
        )

    def confirms(self, found: Found) -> bool:
        """Return whether the tile costs the same when it is lowered."""
        s = survey(self.p, found.tile, self.places)
        return self.best_order(s) == (found.cost, found.order)

    def starts(self) -> Iterator[tuple[int, ...]]:
        """Yield shapes of about one block, and of what the memory allows."""
        grid = tuple(max(1, n) for n in self.p.grid)
        values = [*self.p.leaves, *self.p.made]
        width = max(v.dtype.itemsize for v in values)
        block = max(1, self.limits.block // width)
        held = width * len(values) * (self.limits.workers + 1)
        allowed = min(block, max(1, self.memory // held))
        yield grid  # of many short axes it may be small, whatever their product
        for elements in dict.fromkeys((block, allowed, max(1, allowed // 16))):
            yield _filled(grid, range(len(grid)), elements)
            yield _filled(grid, range(len(grid) - 1, -1, -1), elements)
            if len(grid) > 1:
                side = max(1, int(elements ** (1 / len(grid))))
                yield tuple(_power(min(side, n), n) for n in grid)
        if not self.limits.forced:
            yield tuple(_power(min(LARGE_SIDE, n), n) for n in grid)

    def descend(self, tile: tuple[int, ...]) -> tuple[float, tuple[int, ...]]:
        best = (self.score(tile), tile)
        many = sum(n > 1 for n in self.p.grid) > MAX_STEEPEST
        while True:
            score, tile = best
            for floor, near in sorted((self.floor(t), t) for t in self.moves(tile)):
                if floor <= best[0]:
                    best = min(best, (self.score(near), near))
                if many and best[0] < score:
                    break
            if best[0] >= score:
                return score, tile

    def floor(self, tile: tuple[int, ...]) -> float:
        """Return a score that a tile does not fall below."""
        if tile in self.seen:
            return self.seen[tile][0]
        least = self.floors.of(tile)
        if least.memory <= self.memory:
            return least.seconds
        held = least.memory + least.memory / self.limits.workers
        return least.seconds + _OVER_BUDGET * held / max(1, self.memory)

    def kept_still(self) -> tuple[float, tuple[int, ...]]:
        """Return a tile of a product whose sums take half of the memory."""
        root = next(filter(_is_large_by_blas, self.p.roots))
        kept = {root.axes[d] for d in root.kept}
        elements = self.memory // 2 // root.outputs[0].dtype.itemsize
        side = max(1, int(elements ** (1 / max(1, len(kept)))))
        sides = (
            side if a in kept else LARGE_SIDE // 2 for a in range(len(self.p.grid))
        )
        tile = tuple(map(min, sides, self.p.grid))
        return self.score(tile), tile

    def counted(
        self, score: float, tile: tuple[int, ...]
    ) -> tuple[float, tuple[int, ...]]:
        """Descend by numbers of tiles along each axis, for a large product.

        Its tiles are few: between one power of two and the next is half the traffic.
        """
        axes = [a for a, n in enumerate(self.p.grid) if n > 1]
        while True:
            counts = [-(-n // t) for n, t in zip(self.p.grid, tile, strict=True)]
            tried = [tuple(map(_share, self.p.grid, counts))]
            for a, step in product(axes, (-1, 1)):
                near = [c + step * (b == a) for b, c in enumerate(counts)]
                tried.append(tuple(map(_share, self.p.grid, near)))
            better = min((self.score(t), t) for t in tried)
            if better[0] >= score:
                return score, tile
            score, tile = better

    def evened(
        self, score: float, tile: tuple[int, ...]
    ) -> tuple[float, tuple[int, ...]]:
        if all(map(is_by_blas, self.p.roots)) and not self.p.equations:
            return score, tile  # nothing is compiled
        ragged = sum(n % t > 0 for t, n in zip(tile, self.p.grid, strict=True) if n)
        if ragged:
            even = tuple(_even(t, n) for t, n in zip(tile, self.p.grid, strict=True))
            if self.score(even) <= EVEN * score + COMPILING * (2**ragged - 2):
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
            s = survey(self.p, tile, self.places, self.footprint)
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
            if self.mapped:
                plain = max(plain, MAP_BLOCK)
        for size, limit in ((s.largest, plain), (s.largest_dot, heavy)):
            if size > limit:
                score += _OVERSIZE * size / limit
        return score

    def best_order(self, s: Survey) -> tuple[Cost, tuple[int, ...]]:
        active = [a for a, n in enumerate(s.counts) if n > 1]
        rest = tuple(a for a, n in enumerate(s.counts) if n == 1)
        last = self.sequential
        choices = (
            permutations(active) if len(active) <= MAX_PERMUTED else [tuple(active)]
        )
        best: tuple[Cost, tuple[int, ...]] | None = None
        priced = self._pricer(s)
        for chosen in choices:
            order = (
                *rest,
                *(a for a in chosen if a not in last),
                *(a for a in chosen if a in last),
            )
            cost = priced(order)
            if best is None or self._rank(cost) < self._rank(best[0]):
                best = (cost, order)
        assert best is not None
        return best

    def _pricer(self, s: Survey) -> Callable[[tuple[int, ...]], Cost]:
        """Return the cost of an order with all workers, or one if only that fits."""
        together, alone = Prices(s, self.p, self.limits.workers), list[Prices]()

        def priced(order: tuple[int, ...]) -> Cost:
            cost = together.of(order)
            if cost.memory <= self.memory or cost.workers == 1:
                return cost
            if not alone:
                alone.append(Prices(s, self.p, 1))
            single = alone[0].of(order)
            return single if single.memory <= self.memory else cost

        return priced

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


def _is_large_by_blas(root: Root) -> bool:
    return is_by_blas(root) and is_product(root)


def _share(whole: int, count: int) -> int:
    """Return the side of so many tiles of an axis."""
    return -(-whole // min(max(1, count), max(1, whole)))


def _even(side: int, whole: int) -> int:
    """Return the largest side that divides the axis and makes few more tiles."""
    count = -(-whole // max(1, side))
    more = range(count, count + max(1, count // 4) + 1)
    return next((whole // k for k in more if k and whole % k == 0), side)


def _half(n: int) -> int:
    return 1 << max(0, (n - 1).bit_length() - 1)


def search(
    p: Pass,
    places: Mapping[Var, Place],
    limits: Limits,
    memory: int,
    at_most: float = inf,
) -> Found:
    """Return the best tile for a pass that may hold `memory` bytes.

    Where a few descents end far above `at_most` seconds, there are no more of them.
    """
    quick = _Search(p, places, limits, memory)
    found = quick.run(at_most)
    if quick.confirms(found):
        return found
    return _Search(p, places, limits, memory, lowered=True).run(at_most)


class Searches:
    """The searches for one program: what was found is kept."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Found] = {}

    def find(
        self,
        p: Pass,
        places: Mapping[Var, Place],
        limits: Limits,
        memory: int,
        at_most: float = inf,
    ) -> Found:
        """Return what `search` returns."""
        roots = tuple(_identity(r, places) for r in p.roots)
        key = (p.grid, roots, limits, memory)
        if key not in self._found:
            found = search(p, places, limits, memory, at_most)
            if found.cost.seconds > at_most:
                return found
            self._found[key] = found
        return self._found[key]


def _identity(root: Root, places: Mapping[Var, Place]) -> Hashable:
    """Return what the search asks of a root; many are made of the same equations."""
    values = (*root.outputs, *root.leaves)
    return (
        root.kind,
        root.eqn,
        root.outputs,
        root.equations,
        root.leaves,
        root.axes,
        tuple(places[v] for v in values),
        tuple(_identity(f, places) for f in root.followers),
    )


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
