"""Which axes run together: the grid of a pass.

1. Every (value, axis) is a label; rules link the labels of axes that run together
   (union-find over the whole program, once). So they do for what a product sums over,
   but where a leaf would then run along itself: `x @ x`.
2. The domain axes of one root take distinct grid axes, or `x + x.T` would walk the
   diagonal; axes of different roots with one label share a grid axis, unless one scan
   walks it from its start and another one from its end.
3. The followers of a root have a grid of their own: that of the root's result, with the
   tiles of the pass.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

from jask.plan.ir import Pass, Root
from jask.rules._table import RULES, Reduction
from jask.trace.ir import Equation, Literal, Program, Var

type Label = Hashable


class Links:
    """Labels of axes, joined where axes run together."""

    def __init__(self, program: Program) -> None:
        self._parent: dict[Label, Label] = {}
        for eqn in program.equations:
            self._link(eqn)
        for eqn in program.equations:
            self._link_reduced(eqn, program.leaves)

    def _link(self, eqn: Equation) -> None:
        rule = RULES.get(eqn.name)
        if rule is None:
            return
        for link in rule.links(eqn):
            operand = eqn.inputs[link.operand]
            if isinstance(operand, Var):
                for out in eqn.outputs:
                    self._join((operand, link.axis), (out, link.out))

    def _link_reduced(self, eqn: Equation, leaves: Sequence[Var]) -> None:
        rule = RULES.get(eqn.name)
        for pair in rule.together(eqn) if isinstance(rule, Reduction) else ():
            operands = zip(eqn.inputs[:2], pair, strict=True)
            found = [self.find((v, d)) for v, d in operands if isinstance(v, Var)]
            both = set(found)
            if len(both) == 2 and not any(both <= self._axes(v) for v in leaves):
                self._join(*found)

    def _axes(self, var: Var) -> set[Label]:
        return {self.find((var, d)) for d in range(var.ndim)}

    def _join(self, a: Label, b: Label) -> None:
        self._parent[self.find(a)] = self.find(b)

    def find(self, label: Label) -> Label:
        """Return the representative of a label."""
        parent = self._parent
        while (up := parent.get(label, label)) != label:
            parent[label] = parent.get(up, up)
            label = up
        return label

    def of(self, root: Root) -> list[Label | None]:
        """Return the label of each domain axis of a root."""
        if root.kind != "reduce":
            out = root.outputs[0]
            return [self.find((out, d)) for d in range(len(root.domain))]
        assert root.eqn is not None
        labels: list[Label | None] = []
        for operand, axis in root.reduction.sources(root.eqn):
            atom = root.eqn.inputs[operand]
            labels.append(
                None if isinstance(atom, Literal) else self.find((atom, axis))
            )
        return labels


def make_pass(roots: Iterable[Root], links: Links) -> Pass:
    """Return a pass over these roots, with their axes laid on a common grid."""
    chosen = tuple(roots)
    grid: list[_Axis] = []
    for root in sorted(chosen, key=lambda r: -prod(r.domain)):
        root.axes = _place(root, links.of(root), grid)
    return Pass(roots=chosen, grid=tuple(a.length for a in grid))


def pass_after(p: Pass, root: Root) -> Pass:
    """Return the pass that the followers of a root make, a step for each kept tile."""
    mine = [root.axes[d] for d in root.kept]
    return Pass(
        roots=tuple(root.followers),
        grid=tuple(p.grid[a] for a in mine),
        tile=tuple(p.tile[a] for a in mine),
        order=order_after(p.order, root),
        workers=p.workers,
    )


def order_after(order: Iterable[int], root: Root) -> tuple[int, ...]:
    """Return the order of the loops over the kept tiles of a root."""
    mine = [root.axes[d] for d in root.kept]
    return tuple(mine.index(a) for a in order if a in mine)


@dataclass(slots=True)
class _Axis:
    """An axis of a grid."""

    label: Label | None
    length: int

    descending: bool | None
    """Whether scans walk it from its end; None: none walks it."""

    def serves(self, other: "_Axis") -> bool:
        """Return whether a walk along it is one along the other axis."""
        same = self.label is not None and self.label == other.label
        either = None in {self.descending, other.descending}
        way = either or self.descending == other.descending
        return same and self.length == other.length and way


def _place(
    root: Root, labels: Sequence[Label | None], grid: list[_Axis]
) -> tuple[int, ...]:
    axes: list[int] = []
    for d, (length, label) in enumerate(zip(root.domain, labels, strict=True)):
        mine = _Axis(label, length, _descending(root, d))
        found = (i for i, a in enumerate(grid) if i not in axes and a.serves(mine))
        axis = next(found, len(grid))
        if axis == len(grid):
            grid.append(mine)
        elif mine.descending is not None:
            grid[axis].descending = mine.descending
        axes.append(axis)
    return tuple(axes)


def _descending(root: Root, d: int) -> bool | None:
    """Return whether a root walks one of its axes from the end; None: either way."""
    if root.kind != "scan" or root.eqn is None or root.scan.axis(root.eqn) != d:
        return None
    return root.scan.reverse(root.eqn)
