"""Local or cut: which results stay inside a kernel and which end a pass.

A reduction (or scan, or sort) can be computed inside the kernel of whoever uses it, if
the axes it needs whole fit a tile; or its result is stored, and whoever uses it runs in
a later pass. The cheaper one by the cost model is taken; a cut is charged for what must
be read again beside it. Without that, a softmax over short rows would take two passes.
At last, what was left local is cut where a cut reduction walks the same file along the
same axis, and no file is read beside its result: one pass then serves both.
"""

from collections import defaultdict
from collections.abc import Mapping

from jask.plan.axes import Label, Links, make_pass
from jask.plan.cost import READ, STEP
from jask.plan.cut import make_root
from jask.plan.follow import can_follow
from jask.plan.ir import Limits, Place, RootKind
from jask.plan.search import Found, Searches
from jask.plan.stages import stage_seconds
from jask.rules._table import RULES, Reduction, Staged
from jask.trace.ir import Equation, Program, Var

MAX_DEPTH = 256
"""Longest chain of equations in one kernel; deeper values are stored in between."""

WORTH_ONCE = 4096
"""Elements from which a small result is computed once, not in every tile."""

AMPLIFIED = 2
"""A local sort may read its sources this many times before its operand is stored."""


class Decider:
    """Decides for each equation of a program whether its result is stored.

    Cautious, it stores whatever can be stored: more passes, smaller tiles.
    """

    def __init__(
        self,
        program: Program,
        places: Mapping[Var, Place],
        limits: Limits,
        links: Links,
        *,
        cautious: bool,
        searches: Searches | None = None,
    ) -> None:
        self.searches = searches or Searches()
        self.program, self.places, self.limits = program, places, limits
        self.links, self.cautious = links, cautious
        self.cut: dict[Var, RootKind] = {}
        self.words: list[str] = []
        self.local = 0
        self._users = _users(program)
        self._files = _files_below(program, places)
        self._depth: dict[Var, int] = {}
        self._near: list[tuple[Equation, int]] = []
        for eqn in program.equations:
            self._visit(eqn)
        for eqn, said in self._near:
            self._cut_beside(eqn, said)

    def cautiously(self) -> "Decider":
        """Decide again, and store whatever can be stored."""
        return Decider(
            self.program,
            self.places,
            self.limits,
            self.links,
            cautious=True,
            searches=self.searches,
        )

    def _visit(self, eqn: Equation) -> None:
        kind = self._verdict(eqn)
        operands = (a for a in eqn.inputs if isinstance(a, Var))
        depth = 1 + max((self._depth.get(a, 0) for a in operands), default=0)
        if kind is None and depth > MAX_DEPTH:
            kind = "map"
        for out in eqn.outputs:
            self._depth[out] = 0 if kind else depth
            if kind:
                self.cut[out] = kind

    def _verdict(self, eqn: Equation) -> RootKind | None:
        rule = RULES.get(eqn.name)
        if rule is None:
            self._say(eqn, "in memory: no rule")
            return "opaque"
        if rule.kind == "map":
            return None
        values = [v for v in (*eqn.inputs, *eqn.outputs) if isinstance(v, Var)]
        below = self._files[eqn.outputs[0]]  # a small operand of much reading is not
        nbytes = sum(v.nbytes for v in {*values, *below})
        if any(0 in v.shape for v in values):
            return None
        if nbytes <= min(self.limits.small, self.limits.block):
            return "map" if self._invariant(eqn) else None
        if rule.kind in {"whole", "indexed"} or not _can_end_a_pass(eqn):
            return self._whole(eqn)
        return self._fold_or_local(eqn, "reduce" if rule.kind == "reduce" else "scan")

    def _invariant(self, eqn: Equation) -> bool:
        """Return whether a small result is worth computing once, not in every tile."""
        out = eqn.outputs[0]
        if self._files[out] or RULES[eqn.name].kind == "scan":
            return False
        work = sum(v.size for v in eqn.inputs if isinstance(v, Var))
        large = (
            o.nbytes > self.limits.small for u in self._users[out] for o in u.outputs
        )
        return work > WORTH_ONCE and any(large)

    def _whole(self, eqn: Equation) -> RootKind | None:
        found = self._try("map", eqn)
        source = sum(v.nbytes for v in self._files[eqn.outputs[0]])
        gentle = found.fits and found.cost.reads <= AMPLIFIED * source
        if gentle and not self.cautious and not self._staged_sooner(eqn, found):
            self.local += 1
            self._say(eqn, "local: its axis fits a tile")
            return None
        rule = RULES[eqn.name]
        if isinstance(rule, Reduction) and rule.can_fold(eqn):
            self._say(eqn, "its operands are walked across tiles: they do not fit one")
            return "reduce"
        made = [a for a in eqn.inputs if isinstance(a, Var) and a.producer]
        fresh = list(dict.fromkeys(a for a in made if a not in self.cut))
        self.cut.update(dict.fromkeys(fresh, "map"))
        if not self._needs_stage(eqn):
            self._say(eqn, "its operands are stored first")
            return "map"
        for atom in fresh:  # a stage counts by itself
            if atom.producer is not None and atom.producer.name == "iota":
                del self.cut[atom]
        self._say(eqn, "by an external algorithm: sooner, or its axis does not fit")
        return "stage"

    def _needs_stage(self, eqn: Equation) -> bool:
        """Return whether an axis does not fit even if the operands are stored.

        Or whether the algorithm is sooner done than what fits.
        """
        if not self._can_stage(eqn):
            return False
        if self.cautious:
            return True
        found = self._try("map", eqn)
        return not found.fits or self._staged_sooner(eqn, found)

    def _can_stage(self, eqn: Equation) -> bool:
        rule = RULES[eqn.name]
        return isinstance(rule, Staged) and rule.can_stage(eqn)

    def _staged_sooner(self, eqn: Equation, local: Found) -> bool:
        if not self._can_stage(eqn):
            return False
        return stage_seconds(eqn, self.limits.memory) < local.cost.seconds

    def _fold_or_local(self, eqn: Equation, kind: RootKind) -> RootKind | None:
        if not self.cautious and self._follows(eqn):
            self._say(eqn, f"{kind} across tiles: it takes each as soon as it is made")
            return kind
        local = self._try("map", eqn)
        if not local.fits or self.cautious or local.too_large:
            self._say(eqn, f"{kind} across tiles: it does not fit a tile")
            return kind
        fold, again = self._try(kind, eqn).cost.seconds, self._again(eqn)
        figures = (
            f"{local.cost.seconds:.2g} s locally, "
            f"{fold:.2g} s + {again:.2g} s to read again across tiles"
        )
        if local.cost.seconds <= fold * 1.1 + again:
            self.local += 1
            self._say(eqn, f"local: {figures}")
            if kind == "reduce" and again <= STEP and not self._beside(eqn):
                self._near.append((eqn, len(self.words) - 1))
            return None
        self._say(eqn, f"{kind} across tiles: {figures}")
        return kind

    def _cut_beside(self, eqn: Equation, said: int) -> None:
        """Cut a reduction if another one can take what it reads from the same walk."""
        axes, files = self._reduced(eqn), self._files[eqn.outputs[0]]
        for out in [v for v, kind in self.cut.items() if kind == "reduce"]:
            other = out.producer
            both = files & self._files[out]
            if other and both and axes and axes <= self._reduced(other):
                self.cut.update(dict.fromkeys(eqn.outputs, "reduce"))
                self.local -= 1
                self._say(eqn, "reduce across tiles: beside another one of its file")
                self.words[said] = self.words.pop()
                return

    def _reduced(self, eqn: Equation) -> set[Label | None]:
        """Return the labels of the axes that a reduction sums over."""
        root = make_root("reduce", eqn.outputs, eqn, self.cut)
        labels = self.links.of(root)
        return {x for d, x in enumerate(labels) if d not in root.kept}

    def _follows(self, eqn: Equation) -> bool:
        if not self.cut or RULES[eqn.name].kind != "reduce":
            return False
        return can_follow(eqn, self.cut, self.program, self.limits.small)

    def _try(self, kind: RootKind, eqn: Equation) -> Found:
        ending = None if kind == "map" else eqn
        outputs = eqn.outputs[:1] if kind == "map" else eqn.outputs
        root = make_root(kind, outputs, ending, self.cut)
        trial = make_pass([root], self.links)
        return self.searches.find(trial, self.places, self.limits, self.limits.memory)

    def _again(self, eqn: Equation) -> float:
        """Return the seconds of reading again what is below a cut and beside it."""
        out = sum(o.nbytes for o in eqn.outputs)
        spilled = 2 * out if out > self.limits.small else 0
        both = self._beside(eqn) & self._files[eqn.outputs[0]]
        return (sum(v.nbytes for v in both) + spilled) / READ + STEP

    def _beside(self, eqn: Equation) -> set[Var]:
        """Return the files that are read beside a result by what is made of it."""
        after, beside = set(eqn.outputs), set[Var]()
        for later in self.program.equations[eqn.number + 1 :]:
            if any(a in after for a in later.inputs):
                after.update(later.outputs)
                for a in later.inputs:
                    if isinstance(a, Var) and a not in after:
                        beside |= self._files.get(a, frozenset())
        return beside

    def _say(self, eqn: Equation, words: str) -> None:
        where = f" ({eqn.source})" if eqn.source else ""
        self.words.append(f"{eqn!r}{where}: {words}")


def _can_end_a_pass(eqn: Equation) -> bool:
    rule = RULES[eqn.name]
    return not isinstance(rule, Reduction) or rule.can_fold(eqn)


def _users(program: Program) -> dict[Var, list[Equation]]:
    users: dict[Var, list[Equation]] = defaultdict(list)
    for eqn in program.equations:
        for atom in eqn.inputs:
            if isinstance(atom, Var):
                users[atom].append(eqn)
    return users


def _files_below(
    program: Program, places: Mapping[Var, Place]
) -> dict[Var, frozenset[Var]]:
    none = frozenset[Var]()
    below = {v: frozenset([v]) if places[v] == "disk" else none for v in program.leaves}
    for eqn in program.equations:
        operands = (below.get(a, none) for a in eqn.inputs if isinstance(a, Var))
        found = none.union(*operands)
        below.update((out, found) for out in eqn.outputs)
    return below
