"""Roots: what a pass must produce, and which passes come before it.

1. A root is cut out of the program: the equations below its values, down to values that
   are stored (leaves, and results of other roots).
2. Its level is the number of passes that must come before.
3. A root that nobody waits for moves to a later level where a root reads the same file,
   so that the file is read once.
"""

from collections.abc import Iterable, Mapping, Sequence

from jask.plan.ir import Kind, Place, Root
from jask.trace.ir import Atom, Equation, Program, Var

type Cuts = Mapping[Var, Kind]


def make_root(
    kind: Kind, outputs: Sequence[Var], eqn: Equation | None, cut: Cuts
) -> Root:
    """Return the root that makes these values; `eqn` ends it unless it is a map."""
    targets: Iterable[Atom] = outputs if eqn is None else eqn.inputs
    wanted = [t for t in targets if isinstance(t, Var)]
    equations, leaves = _below(wanted, cut, ending=eqn is None)
    return Root(kind, tuple(outputs), eqn, equations, leaves)


def _below(
    targets: Sequence[Var], cut: Cuts, *, ending: bool
) -> tuple[tuple[Equation, ...], tuple[Var, ...]]:
    """Return the equations below these values and the stored values they use."""
    seen: set[Var] = set()
    equations: dict[Equation, None] = {}
    leaves: dict[Var, None] = {}
    stack = [(t, ending) for t in targets]
    while stack:
        var, top = stack.pop()
        if var in seen:
            continue
        seen.add(var)
        if var.producer is None or (var in cut and not top):
            leaves[var] = None
            continue
        equations[var.producer] = None
        stack.extend((a, False) for a in var.producer.inputs if isinstance(a, Var))
    return tuple(sorted(equations, key=lambda e: e.number)), tuple(leaves)


def all_roots(
    program: Program,
    cut: Cuts,
    wanted: Mapping[Var, Place],
    places: Mapping[Var, Place],
) -> list[Root]:
    """Return everything that must be produced, with its level."""
    used = {a for e in program.equations for a in e.inputs}
    found: list[Root] = []
    for eqn in program.equations:
        stored = [o for o in eqn.outputs if o in cut]
        if not stored:
            continue
        kind = cut[stored[0]]
        if kind == "map":
            needed = (o for o in stored if o.size and (o in used or o in wanted))
            found.extend(make_root("map", (o,), None, cut) for o in needed)
        else:
            found.append(make_root(kind, eqn.outputs, eqn, cut))
    asked = (o for o in dict.fromkeys(program.outputs) if isinstance(o, Var) and o.size)
    found.extend(make_root("map", (o,), None, cut) for o in asked if o not in cut)
    _set_levels(found)
    _postpone(found, places)
    return found


def _set_levels(roots: Sequence[Root]) -> None:
    made: dict[Var, int] = {}
    for root in roots:  # in program order, outputs last
        root.level = max((made[v] + 1 for v in root.leaves if v in made), default=0)
        for out in root.outputs:
            made.setdefault(out, root.level)


def _postpone(roots: Sequence[Root], places: Mapping[Var, Place]) -> None:
    last = max((r.level for r in roots), default=0)
    for root in reversed(roots):
        files = _files(root, places)
        outputs = set(root.outputs)
        waiting = [r.level for r in roots if r is not root and outputs & set(r.leaves)]
        latest = min(waiting, default=last + 1) - 1
        near = {r.level for r in roots if r is not root and files & _files(r, places)}
        later = [n for n in near if root.level < n <= latest]
        if root.level not in near and later:
            root.level = min(later)


def _files(root: Root, places: Mapping[Var, Place]) -> set[Var]:
    return {v for v in root.leaves if places[v] == "disk"}
