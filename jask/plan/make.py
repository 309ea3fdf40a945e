"""Make a plan: which results end a pass, which passes merge, which tiles they use.

1. `decide`: each reduction, scan and sort is local or cut.
2. `roots`: every cut value and every output becomes a root with a level, or follows
   another one (`follow`).
3. `merge`: roots of one level share passes; each pass gets its best tile (`search`).
4. If a pass does not fit, or files are read over and over, plan once more cautiously:
   with every result stored that can be.
"""

from collections.abc import Iterator, Mapping
from math import isqrt

from jask.errors import MemoryBudgetError
from jask.plan.axes import Links, make_pass
from jask.plan.cut import Cuts
from jask.plan.decide import Decider
from jask.plan.follow import unstored
from jask.plan.ir import Limits, Pass, Place, Plan
from jask.plan.merge import Merger
from jask.plan.roots import all_roots
from jask.plan.search import search
from jask.plan.stages import turn_stages
from jask.rules._table import REFUSALS, RULES
from jask.trace.ir import Equation, Program, Var
from jask.trace.rewrite import online_softmax

REREAD = 4
"""A plan that reads its files this many times is compared with a cautious one."""

MOST_STEPS = 1 << 26
"""Steps that a pass may take, at most: a file of 100 TB in blocks of 4 MB has 2**25.
A pass of more would take hours: the budget is too small for it."""

STEPS_A_BYTE = 64
"""So many steps a pass may take for each byte of the budget: under one of a megabyte
`MOST_STEPS`, while a thousand bytes would move in steps of a few elements for hours
what a little more does in seconds."""


def make_plan(
    program: Program,
    leaf_places: Mapping[Var, Place],
    wanted: Mapping[Var, Place],
    limits: Limits,
    *,
    cautious: bool = False,
) -> Plan:
    """Return the plan of a program.

    Parameters
    ----------
    leaf_places
        Where leaves and constant arrays are.
    wanted
        Where each output must go.
    cautious
        Only consider the plan that stores every result that can be stored.

    Raises
    ------
    MemoryBudgetError
        If no tile fits the budget, or so small ones that there would be too many
        steps (`MOST_STEPS`); the message says which budget would do.
    """
    decided = _decided(program, leaf_places, wanted, limits, cautious=cautious)
    bold, choices = _attempt(decided, wanted)
    best = bold
    doubtful = not _fits(bold) or _is_long(bold) or _rereads(bold, program)
    if choices and not cautious and doubtful:
        cautiously = decided.cautiously()
        if turn_stages(program, cautiously.cut):
            return make_plan(program, leaf_places, wanted, limits)
        careful, _ = _attempt(cautiously, wanted)
        best = min(bold, careful, key=_rank)
    for p in best.passes:
        if p.memory > limits.memory - best.kept:
            raise _too_large(p, best, decided.links)
        if p.steps > _most_steps(limits):
            raise _too_many_steps(p, limits)
    return best


def _decided(
    program: Program,
    leaf_places: Mapping[Var, Place],
    wanted: Mapping[Var, Place],
    limits: Limits,
    *,
    cautious: bool,
) -> Decider:
    """Decide what is stored.

    Where a maximum is, the sum of exponentials beside it is joined to it, and the axis
    of a stage is put last, in place: then all is decided anew.
    """
    while True:
        places = dict(leaf_places)
        for out in (o for e in program.equations for o in e.outputs):
            natural: Place = "disk" if out.nbytes > limits.small else "memory"
            places[out] = wanted.get(out, natural)
        decided = Decider(program, places, limits, Links(program), cautious=cautious)
        if not _rewritten(program, decided.cut):
            return decided


def _rewritten(program: Program, cut: Cuts) -> bool:
    """Join what is beside a maximum, or turn stages; return whether anything was."""
    before = len(program.equations)
    online_softmax(program, lambda maximum: maximum.outputs[0] in cut)
    return len(program.equations) != before or turn_stages(program, cut)


def _attempt(decided: Decider, wanted: Mapping[Var, Place]) -> tuple[Plan, int]:
    """Return a plan, and how much of it a cautious one would do otherwise.

    One with too many steps is not finished.
    """
    program, limits, links = decided.program, decided.limits, decided.links
    followed = None if decided.cautious else limits.small
    roots = all_roots(program, decided.cut, wanted, decided.places, followed)
    places = dict(decided.places)
    places.update((v, "block") for v in unstored(roots, wanted))
    made = (v for r in roots for v in r.made)
    kept = sum(v.nbytes for v in made if places[v] == "memory" and v.producer)
    memory = limits.memory - kept
    if memory <= 0:
        raise _too_many_results(kept, limits)
    merger = Merger(places, limits, links, memory, decided.searches)
    levels = sorted({r.level for r in roots})
    passes: list[Pass] = []
    for n in levels:
        passes += merger.passes([r for r in roots if r.level == n])
        if any(p.steps > _most_steps(limits) for p in passes):
            break
    plan = Plan(
        passes=tuple(passes),
        places=places,
        kept=kept,
        limits=limits,
        decisions=tuple(decided.words),
    )
    return plan, decided.local + sum(len(r.followers) for r in roots)


def _fits(plan: Plan) -> bool:
    return plan.projected <= plan.limits.memory


def _is_long(plan: Plan) -> bool:
    """Return whether a pass takes too many steps."""
    return any(p.steps > _most_steps(plan.limits) for p in plan.passes)


def _rank(plan: Plan) -> tuple[bool, bool, float]:
    return not _fits(plan), _is_long(plan), _seconds(plan)


def _seconds(plan: Plan) -> float:
    return sum(p.seconds for p in plan.passes)


def _rereads(plan: Plan, program: Program) -> bool:
    once = sum(v.nbytes for v in program.leaves if plan.places[v] == "disk")
    return sum(p.reads for p in plan.passes) > REREAD * max(once, 1)


def _too_many_results(kept: int, limits: Limits) -> MemoryBudgetError:
    msg = (
        f"results kept in memory take {kept} bytes but the memory budget is "
        f"{limits.memory}; save large ones to a file instead of materializing them."
    )
    return MemoryBudgetError(msg, round_up(2 * kept))


def _most_steps(limits: Limits) -> int:
    return min(MOST_STEPS, STEPS_A_BYTE * limits.memory)


def _too_many_steps(p: Pass, limits: Limits) -> MemoryBudgetError:
    names, most = ", ".join(r.label for r in p.roots), _most_steps(limits)
    blocks = f" with blocks of {limits.block} bytes" if limits.forced else ""
    msg = (
        f"computing {names} would take {p.steps} steps{blocks}, over the {most} that a "
        f"pass may take under a memory budget of {limits.memory} bytes."
    )
    # with the budget the steps grow larger and more of them are allowed
    larger = max(2, isqrt(p.steps // most))
    return MemoryBudgetError(msg, round_up(larger * limits.memory))


def _too_large(p: Pass, plan: Plan, links: Links) -> MemoryBudgetError:
    memory = plan.limits.memory - plan.kept
    least = p.memory
    if not p.is_stage:
        least = search(make_pass(p.roots, links), plan.places, plan.limits, 1).least
    budget = round_up(int((least + plan.kept) * 1.25))
    names = ", ".join(r.label for r in p.roots)
    why = "; ".join(_reasons(p))
    msg = (
        f"computing {names} needs at least {least} bytes at a time but the memory "
        f"budget leaves {memory} of {plan.limits.memory}{'; ' + why if why else ''}."
    )
    return MemoryBudgetError(msg, budget)


def _reasons(p: Pass) -> Iterator[str]:
    """Yield what in a pass cannot be cut, and where the user wrote it."""
    for r in p.roots:
        if r.kind == "opaque" and r.eqn is not None:
            reason = REFUSALS.get(r.eqn.name, "jask has no rule for it")
            yield f"{_place(r.eqn)}: {reason}, so it runs in memory"
    for eqn in p.equations:
        if eqn.name in RULES and RULES[eqn.name].kind == "whole":
            yield f"{_place(eqn)}: it needs some axes whole, which do not fit"


def _place(eqn: Equation) -> str:
    return f"{eqn.name} at {eqn.source or 'unknown line'}"


def round_up(n: int) -> int:
    """Round up to two digits.

    Examples
    --------
    >>> round_up(12_345), round_up(7)
    (13000, 7)
    """
    unit: int = 10 ** max(0, len(str(n)) - 2)
    return -(-n // unit) * unit
