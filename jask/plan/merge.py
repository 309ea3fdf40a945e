"""Merging: roots of one level that read the same files share a pass.

1. Roots are related when they read a common file along a common axis, or when all are
   tiny.
2. All related roots are tried in one pass; it is taken where its modelled cost is no
   higher than that of a pass each. Otherwise pairs are merged greedily, or, of many
   roots, each with those before it.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import inf

from jask.plan.axes import Links, make_pass
from jask.plan.cost import STEP
from jask.plan.ir import Limits, Pass, Place, Root
from jask.plan.search import MOST_AXES, Searches, tiled
from jask.plan.stages import stage_pass
from jask.trace.ir import Var

FEW = 24
"""Of more roots that one pass cannot serve, only neighbours are tried together."""


class Merger:
    """Lays roots out in passes, each with its best tile."""

    def __init__(
        self,
        places: Mapping[Var, Place],
        limits: Limits,
        links: Links,
        memory: int,
        searches: Searches | None = None,
    ) -> None:
        self.searches = searches or Searches()
        self.places, self.limits, self.links, self.memory = (
            places,
            limits,
            links,
            memory,
        )

    def passes(self, roots: Sequence[Root]) -> list[Pass]:
        """Return the passes that produce these roots, all of one level."""
        chosen = [q for group in self._groups(roots) for q in self._merge(group)]
        # trials have moved roots to other axes: lay the chosen ones out anew
        return [self._tile(p.roots) for p in chosen] if len(chosen) > 1 else chosen

    def _groups(self, roots: Sequence[Root]) -> list[list[Root]]:
        groups: list[list[Root]] = []
        for root in roots:
            mine = [g for g in groups if any(self._related(root, r) for r in g)]
            joined = [*(r for g in mine for r in g), root]
            groups = [*(g for g in groups if g not in mine), joined]
        return groups

    def _related(self, a: Root, b: Root) -> bool:
        if {"opaque", "stage"} & {a.kind, b.kind}:
            return False
        shared = [v for v in a.leaves if v in b.leaves and self.places[v] == "disk"]
        if shared and self._together(a, b, sum(v.nbytes for v in shared)):
            return True
        return self._tiny(a) and self._tiny(b)

    def _together(self, a: Root, b: Root, nbytes: int) -> bool:
        """Return whether one walk can serve both: a common axis, or a single tile."""
        common = {*self.links.of(a)} & {*self.links.of(b)} - {None}
        return bool(common) or nbytes <= min(self.limits.block, self.memory // 4)

    def _tiny(self, root: Root) -> bool:
        made = (o for e in root.equations for o in e.outputs)
        return all(self.places[v] == "memory" for v in root.leaves) and all(
            v.nbytes <= self.limits.small for v in (*root.leaves, *made)
        )

    def _merge(self, group: list[Root]) -> list[Pass]:
        alone = [self._tile([r]) for r in group]
        if len(group) == 1:
            return alone
        together = self._one_pass(group, alone)
        if together is not None:
            return [together]
        if len(group) > FEW:
            return _merge_in_turn(alone, self._join)
        return _merge_pairs(alone, self._join)

    def _join(self, a: Pass, b: Pass) -> Pass | None:
        if not any(self._related(x, y) for x in a.roots for y in b.roots):
            return None
        return self._one_pass([*a.roots, *b.roots], [a, b])

    def _one_pass(self, roots: Sequence[Root], apart: Sequence[Pass]) -> Pass | None:
        """Return one pass for all roots if it is cheaper.

        Where many axes lie side by side, all must fit one tile, with what is made.
        """
        p = make_pass(roots, self.links)
        axes = sum(n > 1 for n in p.grid)
        made = (o for r in roots for e in r.equations for o in e.outputs)
        if axes > MOST_AXES and 2 * sum(o.nbytes for o in made) > self.memory:
            return None
        both = self._searched(p, _bound(apart))
        return both if self._cheaper(both, apart) else None

    def _cheaper(self, together: Pass, apart: Sequence[Pass]) -> bool:
        if together.memory > self.memory:
            return False
        return together.seconds <= _bound(apart)

    def _tile(self, roots: Sequence[Root]) -> Pass:
        if roots[0].kind == "stage":
            return stage_pass(roots[0], self.places, self.memory)
        return self._searched(make_pass(roots, self.links), inf)

    def _searched(self, p: Pass, at_most: float) -> Pass:
        found = self.searches.find(p, self.places, self.limits, self.memory, at_most)
        return tiled(p, found)


def _bound(apart: Sequence[Pass]) -> float:
    """Return the seconds that one pass may take in place of these."""
    return 1.02 * sum(p.seconds for p in apart) + STEP


def _merge_in_turn(
    passes: list[Pass], join: Callable[[Pass, Pass], Pass | None]
) -> list[Pass]:
    """Join each to the one before it, where that is cheaper."""
    found: list[Pass] = []
    for p in passes:
        both = join(found[-1], p) if found else None
        if both is None:
            found.append(p)
        else:
            found[-1] = both
    return found


def _merge_pairs(
    passes: list[Pass], join: Callable[[Pass, Pass], Pass | None]
) -> list[Pass]:
    """Join pairs until no pair is cheaper together."""
    refused: set[frozenset[int]] = set()
    while True:
        for a, b in combinations(passes, 2):
            pair = frozenset([id(a), id(b)])
            both = None if pair in refused else join(a, b)
            if both is not None:
                passes = [*(p for p in passes if p is not a and p is not b), both]
                break
            refused.add(pair)
        else:
            return passes
