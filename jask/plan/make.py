"""Make a plan: which results end a pass, which passes merge, which tiles they use.

1. `decide`: each reduction, scan and whole-axis equation is either local (inside the
   kernel) or cut (it ends a pass). A cut is charged for what must be read again.
2. Every cut value and every output becomes a root; its level is the number of passes
   that must come before.
3. Roots of one level that read the same files share a pass where that costs no more.
4. Each pass gets the cheapest tile that fits (`search`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from jask.errors import MemoryBudgetError
from jask.plan.axes import Links, make_pass
from jask.plan.cost import READ, STEP
from jask.plan.ir import Kind, Limits, Pass, Place, Plan, Root
from jask.plan.search import Found, search, tiled
from jask.rules._table import REFUSALS, RULES
from jask.trace.ir import Atom, Equation, Program, Var

MAX_DEPTH = 256
"""Longest chain of equations in one kernel; deeper values are stored in between."""


def make_plan(
    program: Program,
    leaf_places: Mapping[Var, Place],
    wanted: Mapping[Var, Place],
    limits: Limits,
) -> Plan:
    """Return the plan of a program.

    `leaf_places` says where leaves and constant arrays are, `wanted` where each output
    must go. Raises MemoryBudgetError where no tile fits.
    """
    maker = _Maker(program, leaf_places, wanted, limits)
    maker.decide()
    return maker.plan()


class _Maker:
    def __init__(
        self,
        program: Program,
        leaf_places: Mapping[Var, Place],
        wanted: Mapping[Var, Place],
        limits: Limits,
    ) -> None:
        self.program, self.limits, self.wanted = program, limits, wanted
        self.links = Links(program)
        self.places: dict[object, Place] = {**leaf_places}
        for eqn in program.equations:
            for out in eqn.outputs:
                self.places[out] = wanted.get(
                    out, "disk" if out.nbytes > limits.small else "memory"
                )
        self.cut: dict[Var, Kind] = {}
        self.users = _users(program)
        self.below = _disk_leaves(program, leaf_places)
        self.depth: dict[Var, int] = {}
        self.decisions: list[str] = []

    # ---- 1. local or cut

    def decide(self) -> None:
        """Decide for each equation whether its result is stored."""
        for eqn in self.program.equations:
            kind = self._verdict(eqn)
            depth = 1 + max(
                (self.depth.get(a, 0) for a in eqn.inputs if isinstance(a, Var)),
                default=0,
            )
            if kind is None and depth > MAX_DEPTH:
                kind = "map"
            for out in eqn.outputs:
                self.depth[out] = 0 if kind else depth
                if kind:
                    self.cut[out] = kind

    def _verdict(self, eqn: Equation) -> Kind | None:
        rule = RULES.get(eqn.name)
        if rule is None:
            self._say(eqn, "in memory: no rule")
            return "opaque"
        if rule.kind == "map":
            return None
        nbytes = sum(
            v.nbytes for v in (*eqn.inputs, *eqn.outputs) if isinstance(v, Var)
        )
        if nbytes <= min(self.limits.small, self.limits.block) or _empty(eqn):
            return "map" if self._invariant(eqn) else None
        if rule.kind == "whole":
            return self._whole(eqn)
        return self._fold_or_local(eqn, "reduce" if rule.kind == "reduce" else "scan")

    def _invariant(self, eqn: Equation) -> bool:
        """Whether a small result is worth computing once: it feeds something large."""
        if self.below[eqn.outputs[0]] or RULES[eqn.name].kind not in {
            "whole",
            "reduce",
        }:
            return False
        work = sum(v.size for v in eqn.inputs if isinstance(v, Var))
        return work > 4096 and any(
            o.nbytes > self.limits.small
            for u in self.users[eqn.outputs[0]]
            for o in u.outputs
        )

    def _whole(self, eqn: Equation) -> Kind | None:
        found = self._try("map", eqn)
        if found.fits and found.cost.reads <= 2 * self._source_bytes(eqn):
            self._say(eqn, "local: its axis fits a tile")
            return None
        for atom in eqn.inputs:
            if (
                isinstance(atom, Var)
                and atom.producer is not None
                and atom not in self.cut
            ):
                self.cut[atom] = "map"
        self._say(eqn, "its operands are stored first")
        return "map"

    def _source_bytes(self, eqn: Equation) -> int:
        return sum(v.nbytes for v in self.below[eqn.outputs[0]])

    def _fold_or_local(self, eqn: Equation, kind: Kind) -> Kind | None:
        local = self._try("map", eqn)
        if not local.fits:
            self._say(eqn, f"{kind} across tiles: it does not fit a tile")
            return kind
        fold = self._try(kind, eqn)
        again = self._again(eqn)
        if local.cost.seconds <= fold.cost.seconds * 1.1 + again and self._gentle(
            local
        ):
            self._say(
                eqn,
                f"local: {local.cost.seconds:.3g} s against {fold.cost.seconds:.3g} s + {again:.3g} s again",
            )
            return None
        self._say(
            eqn,
            f"{kind} across tiles: {fold.cost.seconds:.3g} s + {again:.3g} s again against {local.cost.seconds:.3g} s",
        )
        return kind

    def _gentle(self, found: Found) -> bool:
        """Whether a local reduction keeps to the block size that the user set."""
        return not (self.limits.forced and found.too_large)

    def _try(self, kind: Kind, eqn: Equation) -> Found:
        outputs = eqn.outputs[:1] if kind == "map" else eqn.outputs
        root = self._root(kind, outputs, None if kind == "map" else eqn)
        return search(
            make_pass([root], self.links), self.places, self.limits, self.limits.memory
        )

    def _again(self, eqn: Equation) -> float:
        """Seconds that a cut costs: what is below it and beside it is read twice."""
        after, beside = set(eqn.outputs), set[Var]()
        for later in self.program.equations[eqn.number + 1 :]:
            if any(a in after for a in later.inputs):
                after.update(later.outputs)
                for a in later.inputs:
                    if isinstance(a, Var) and a not in after:
                        beside |= self.below.get(a, frozenset())
        out = sum(o.nbytes for o in eqn.outputs)
        spilled = 2 * out if out > self.limits.small else 0
        twice = sum(v.nbytes for v in beside & self.below[eqn.outputs[0]])
        return (twice + spilled) / READ + STEP

    def _say(self, eqn: Equation, words: str) -> None:
        where = f" ({eqn.source})" if eqn.source else ""
        self.decisions.append(f"{eqn!r}{where}: {words}")

    # ---- 2. roots and levels

    def _root(self, kind: Kind, outputs: Sequence[Var], eqn: Equation | None) -> Root:
        targets: Iterable[Atom] = outputs if eqn is None else eqn.inputs
        found, leaves = self._reach(
            [t for t in targets if isinstance(t, Var)], ending=eqn is None
        )
        return Root(kind, tuple(outputs), eqn, found, leaves)

    def _reach(
        self, targets: Sequence[Var], *, ending: bool
    ) -> tuple[tuple[Equation, ...], tuple[Var, ...]]:
        """Return the equations below these values down to what is stored."""
        seen: set[Var] = set()
        equations: dict[Equation, None] = {}
        leaves: dict[Var, None] = {}
        stack = [(t, ending) for t in targets]
        while stack:
            var, top = stack.pop()
            if var in seen:
                continue
            seen.add(var)
            if var.producer is None or (var in self.cut and not top):
                leaves[var] = None
                continue
            equations[var.producer] = None
            stack.extend((a, False) for a in var.producer.inputs if isinstance(a, Var))
        return tuple(sorted(equations, key=lambda e: e.number)), tuple(leaves)

    def roots(self) -> list[Root]:
        """Return everything that must be produced, with its level."""
        found: list[Root] = []
        for eqn in self.program.equations:
            stored = [o for o in eqn.outputs if o in self.cut]
            if not stored:
                continue
            kind = self.cut[stored[0]]
            if kind == "map":
                used = (
                    o for o in stored if o.size and (self.users[o] or o in self.wanted)
                )
                found.extend(self._root("map", (o,), None) for o in used)
            else:
                found.append(self._root(kind, eqn.outputs, eqn))
        for out in dict.fromkeys(self.program.outputs):
            if isinstance(out, Var) and out not in self.cut and out.size:
                found.append(self._root("map", (out,), None))
        _set_levels(found)
        return found

    # ---- 3. and 4. merging, tiles

    def plan(self) -> Plan:
        """Return the plan."""
        roots = self.roots()
        kept = sum(
            v.nbytes for r in roots for v in r.outputs if self.places[v] == "memory"
        )
        memory = self.limits.memory - kept
        if memory <= 0:
            msg = (
                f"results kept in memory take {kept} bytes but the memory budget is "
                f"{self.limits.memory}; raise it to at least {_round_up(2 * kept)} with "
                "jask.set_memory_budget, or save to a file instead of materializing."
            )
            raise MemoryBudgetError(msg)
        passes: list[Pass] = []
        for level in sorted({r.level for r in roots}):
            passes += self._merge([r for r in roots if r.level == level], memory)
        return Plan(
            passes=tuple(passes),
            places=self.places,  # type: ignore[arg-type]
            kept=kept,
            limits=self.limits,
            decisions=tuple(self.decisions),
        )

    def _merge(self, roots: list[Root], memory: int) -> list[Pass]:
        groups: list[list[Root]] = []
        for root in roots:
            mine = [g for g in groups if self._related(g, root)]
            merged = [root, *(r for g in mine for r in g)]
            groups = [g for g in groups if g not in mine] + [merged]
        return [p for g in groups for p in self._merge_group(g, memory)]

    def _related(self, group: list[Root], root: Root) -> bool:
        if root.kind == "opaque" or any(r.kind == "opaque" for r in group):
            return False
        disk = {v for v in root.leaves if self.places[v] == "disk"}
        return any(disk & set(r.leaves) for r in group) or (
            self._tiny(root) and all(map(self._tiny, group))
        )

    def _tiny(self, root: Root) -> bool:
        values = (*root.leaves, *(o for e in root.equations for o in e.outputs))
        return all(self.places[v] == "memory" for v in root.leaves) and all(
            v.nbytes <= self.limits.small for v in values
        )

    def _merge_group(self, group: list[Root], memory: int) -> list[Pass]:
        alone = [self._tile([r], memory) for r in group]
        if len(group) == 1:
            return self._checked(alone, memory)
        together = self._tile(group, memory)
        if _cheaper(together, alone, memory):
            return self._checked([together], memory)
        return self._checked(self._merge_pairs(alone, memory), memory)

    def _merge_pairs(self, passes: list[Pass], memory: int) -> list[Pass]:
        again = True
        while again:
            again = False
            for a, b in combinations(passes, 2):
                if not self._related(list(a.roots), b.roots[0]) and len(b.roots) == 1:
                    continue
                both = self._tile([*a.roots, *b.roots], memory)
                if _cheaper(both, [a, b], memory):
                    passes = [*(p for p in passes if p is not a and p is not b), both]
                    again = True
                    break
        # a rejected trial has moved its roots to other axes: lay them anew
        return [self._tile(list(p.roots), memory) for p in passes]

    def _tile(self, roots: Sequence[Root], memory: int) -> Pass:
        p = make_pass(roots, self.links)
        return tiled(p, search(p, self.places, self.limits, memory))

    def _checked(self, passes: list[Pass], memory: int) -> list[Pass]:
        for p in passes:
            if p.memory > memory:
                raise MemoryBudgetError(self._too_large(p, memory))
        if len(passes) > 1:  # axes belong to the roots: lay them for the chosen passes
            passes = [self._tile(list(p.roots), memory) for p in passes]
        return passes

    def _too_large(self, p: Pass, memory: int) -> str:
        p = make_pass(p.roots, self.links)
        least = search(p, self.places, self.limits, 1).least
        budget = _round_up(int((least + self.limits.memory - memory) * 1.25))
        names = ", ".join(r.label for r in p.roots)
        why = "; ".join(
            f"{r.eqn.name} at {r.eqn.source or 'unknown line'}: "
            f"{REFUSALS.get(r.eqn.name, 'jask has no rule for it')}, so it runs in memory"
            for r in p.roots
            if r.kind == "opaque" and r.eqn is not None
        )
        return (
            f"computing {names} needs at least {least} bytes at a time but the memory "
            f"budget leaves {memory} of {self.limits.memory}{'; ' + why if why else ''}. "
            f"A budget of {budget} bytes would do: jask.set_memory_budget({budget})."
        )


def _cheaper(together: Pass, apart: Sequence[Pass], memory: int) -> bool:
    if together.memory > memory:
        return False
    return together.seconds <= 1.02 * sum(p.seconds for p in apart) + STEP


def _users(program: Program) -> dict[Var, list[Equation]]:
    users: dict[Var, list[Equation]] = defaultdict(list)
    for eqn in program.equations:
        for atom in eqn.inputs:
            if isinstance(atom, Var):
                users[atom].append(eqn)
    return users


def _disk_leaves(
    program: Program, places: Mapping[Var, Place]
) -> dict[Var, frozenset[Var]]:
    below: dict[Var, frozenset[Var]] = {
        v: frozenset([v] if p == "disk" else []) for v, p in places.items()
    }
    for eqn in program.equations:
        found = frozenset[Var]().union(
            *(below.get(a, frozenset()) for a in eqn.inputs if isinstance(a, Var))
        )
        for out in eqn.outputs:
            below[out] = found
    return below


def _empty(eqn: Equation) -> bool:
    return any(0 in a.shape for a in (*eqn.inputs, *eqn.outputs))


def _set_levels(roots: Sequence[Root]) -> None:
    made: dict[Var, int] = {}
    for root in roots:  # in program order, outputs last
        root.level = max((made[v] + 1 for v in root.leaves if v in made), default=0)
        for out in root.outputs:
            made.setdefault(out, root.level)


def _round_up(n: int) -> int:
    """Round up to two digits."""
    digits = max(0, len(str(n)) - 2)
    return -(-n // 10**digits) * 10**digits
