"""Bounds inference for one tile: what to load and compute, and in which shapes.

1. Each root that runs on this tile says which boxes of its operands it needs.
2. Walking the equations backwards, the boxes needed of one value are covered by few
   boxes; each is computed once and says what it needs in turn.
3. What reaches a leaf is loaded. Everything that depends on the tile's position goes
   into one vector of run-time integers, so that equal shapes share a kernel.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jask.geometry.box import Box
from jask.geometry.cover import cover
from jask.plan.ir import Pass, Root
from jask.rules._table import RULES, Need
from jask.trace.ir import Atom, Equation, Literal, Var


@dataclass(frozen=True, slots=True)
class Ref:
    """Where a kernel finds an operand block."""

    kind: str
    """`load`, `value` (an earlier record) or `literal`."""

    index: int
    """Which load, which record, or which operand of the equation."""

    result: int = 0
    """Which result of the record."""

    crop: tuple[int, ...] | None = None
    """Shape to crop to, at run-time offsets; None: the block as it is."""


@dataclass(frozen=True, slots=True)
class Record:
    """One equation on one box."""

    number: int
    """The equation."""

    shape: tuple[int, ...]
    """Shape of the block it makes."""

    key: Any
    """Static facts for `emit`."""

    offsets: int
    """How many run-time integers it takes, after those of its crops."""

    refs: tuple[Ref | None, ...]
    """Its operands."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a root does with its operand blocks."""

    root: int
    """Which root of the pass."""

    shape: tuple[int, ...]
    """Shape of the part of its domain."""

    key: Any
    """Static facts for a reduction."""

    offsets: int
    """How many run-time integers it takes, after those of its crops."""

    refs: tuple[Ref | None, ...]
    """Its operands."""


@dataclass(frozen=True, slots=True)
class Load:
    """A box of a leaf."""

    leaf: Var
    """What is read."""

    box: Box
    """Where."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """One tile of a pass, ready to run."""

    records: tuple[Record, ...]
    heads: tuple[Head, ...]
    loads: tuple[Load, ...]
    offsets: tuple[int, ...]
    domains: tuple[Box | None, ...]
    """Per root: the part of its domain, or None where it does not run."""

    needs: tuple[Need, ...] = field(compare=False)
    """Per record: an example need, for `emit`."""

    @property
    def signature(self) -> Any:
        """What a kernel depends on: shapes only."""
        return (
            self.records,
            self.heads,
            tuple((load.leaf, load.box.shape) for load in self.loads),
        )


def spans_of(p: Pass, index: Sequence[int]) -> list[tuple[int, int]]:
    """Return the interval of each grid axis at a tile index."""
    found = []
    for t, i, n in zip(p.tile, index, p.grid, strict=True):
        stop = min(t * (i + 1), n)
        found.append((max(0, stop - t) if p.overlaps else t * i, stop))
    return found


def needed(
    p: Pass, index: Sequence[int]
) -> tuple[list[Box | None], list[tuple[Equation, Box, Need]], list[Load]]:
    """Return the parts of the domains, the equations and the loads of one tile."""
    low = _Lowering(p)
    domains, _ = low.start(index)
    instances = low.needed()
    return domains, instances, low.loads()


def lower(p: Pass, index: Sequence[int]) -> Lowered:
    """Lower the tile of a pass at this index of the grid."""
    return _Lowering(p).run(index)


def root_inputs(root: Root) -> tuple[Atom, ...]:
    """Return the values that a root takes blocks of."""
    return root.outputs if root.eqn is None else root.eqn.inputs


def root_need(root: Root, domain: Box) -> Need:
    """Return which boxes of them it needs for a part of its domain."""
    if root.kind == "map":
        return Need((domain,))
    assert root.eqn is not None
    if root.kind == "reduce":
        return root.reduction.need_part(root.eqn, domain)
    if root.kind == "scan":
        return Need((domain,) * len(root.eqn.inputs))
    return Need(
        tuple(None if 0 in a.shape else Box.whole(a.shape) for a in root.eqn.inputs)
    )


class _Lowering:
    def __init__(self, p: Pass) -> None:
        self.p = p
        self.wanted: dict[Var, list[Box]] = defaultdict(list)
        self.place: dict[tuple[Var, Box], Box] = {}
        self.where: dict[tuple[Var, Box], tuple[str, int, int]] = {}
        self.offsets: list[int] = []

    def run(self, index: Sequence[int]) -> Lowered:
        domains, heads = self.start(index)
        instances = self.needed()
        loads = self.loads()
        for i, (eqn, box, _) in enumerate(instances):
            for out in eqn.outputs:
                self.where[out, box] = ("value", i, out.index)
        records = tuple(self._record(*inst) for inst in instances)
        ready = tuple(self._head(*h) for h in heads)
        return Lowered(
            records,
            ready,
            tuple(loads),
            tuple(self.offsets),
            tuple(domains),
            tuple(n for _, _, n in instances),
        )

    def start(self, index: Sequence[int]) -> tuple[list[Box | None], list[Any]]:
        spans = spans_of(self.p, index)
        domains: list[Box | None] = []
        heads: list[tuple[int, Root, Box, Need]] = []
        for k, root in enumerate(self.p.roots):
            mine = set(root.axes)
            if any(i and a not in mine for a, i in enumerate(index)):
                domains.append(None)
                continue
            domain = Box.of(spans[a] for a in root.axes)
            domains.append(domain)
            need = root_need(root, domain)
            self._want(root_inputs(root), need)
            heads.append((k, root, domain, need))
        return domains, heads

    def _want(self, atoms: Sequence[Atom], need: Need) -> None:
        for atom, box in zip(atoms, need.boxes, strict=True):
            if box is not None and isinstance(atom, Var):
                self.wanted[atom].append(box)

    def _resolve(self, var: Var) -> list[Box]:
        asked = self.wanted[var]
        boxes = cover(asked)
        exact = set(boxes)
        for box in asked:
            home = box if box in exact else next(c for c in boxes if box in c)
            self.place[var, box] = home
        return boxes

    def needed(self) -> list[tuple[Equation, Box, Need]]:
        instances: list[tuple[Equation, Box, Need]] = []
        for eqn in reversed(self.p.equations):
            live = [o for o in eqn.outputs if o in self.wanted]
            if not live:
                continue
            if len(live) > 1:  # the results of one equation are computed together
                union = [b for o in live for b in self.wanted[o]]
                for o in live:
                    self.wanted[o] = union
            boxes = [self._resolve(o) for o in live][-1]
            rule = RULES[eqn.name]
            for box in boxes:
                need = rule.need(eqn, box)
                self._want(eqn.inputs, need)
                instances.append((eqn, box, need))
        instances.reverse()
        return instances

    def loads(self) -> list[Load]:
        loads: list[Load] = []
        for leaf in self.p.leaves:
            if leaf in self.wanted:
                for box in self._resolve(leaf):
                    self.where[leaf, box] = ("load", len(loads), 0)
                    loads.append(Load(leaf, box))
        return loads

    def _ref(self, k: int, atom: Atom, box: Box | None) -> Ref | None:
        if box is None:
            return None
        if isinstance(atom, Literal):
            return Ref("literal", k)
        home = self.place[atom, box]
        kind, index, result = self.where[atom, home]
        if home == box:
            return Ref(kind, index, result)
        self.offsets.extend(box.relative_to(home))
        return Ref(kind, index, result, box.shape)

    def _refs(self, atoms: Sequence[Atom], need: Need) -> tuple[Ref | None, ...]:
        refs = tuple(
            self._ref(k, a, b)
            for k, (a, b) in enumerate(zip(atoms, need.boxes, strict=True))
        )
        self.offsets.extend(need.offsets)
        return refs

    def _record(self, eqn: Equation, box: Box, need: Need) -> Record:
        refs = self._refs(eqn.inputs, need)
        return Record(eqn.number, box.shape, need.key, len(need.offsets), refs)

    def _head(self, k: int, root: Root, domain: Box, need: Need) -> Head:
        refs = self._refs(root_inputs(root), need)
        return Head(k, domain.shape, need.key, len(need.offsets), refs)
