"""A root is cut out of the program.

It is the equations below its values, down to values that are stored: leaves, and
results of other roots.
"""

from collections.abc import Iterable, Mapping, Sequence

from jask.plan.ir import Root, RootKind
from jask.trace.ir import Atom, Equation, Var

type Cuts = Mapping[Var, RootKind]
"""Which results are stored, and how they come about."""


def make_root(
    kind: RootKind, outputs: Sequence[Var], eqn: Equation | None, cut: Cuts
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
