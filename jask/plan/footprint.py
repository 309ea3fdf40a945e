"""What any tile of a pass needs, worked out once where that follows the tile's sides.

The search looks at hundreds of tiles of one pass, and lowering each is most of its
work. But most rules only hand intervals on: of a product, a transposition or a sum of
rows, each box that is needed runs along an axis with an axis of the grid, or along all
of it.

1. Rules are asked with boxes whose coordinates are marked with the axis of the grid
   that they belong to, for three tiles. Where what they need is marked intervals and
   whole axes, the same ones each time, that holds for all tiles (`_Rules`).
2. So the walk of `lower.needed` is taken once, over sides in place of boxes, for each
   set of roots that run together (`_walk`).
3. A tile then needs boxes with its own intervals for sides. Those of one value are
   covered as they are when lowering; a hull that nobody asked for needs what no walk
   has found: then the tile is lowered.
4. So are all tiles where what is needed does not follow the sides: halos, shifts,
   reshapes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from jask.geometry.box import Box
from jask.geometry.cover import cover
from jask.plan.ir import Pass, Root
from jask.plan.lower import Load, needed, root_inputs, root_need, spans_of
from jask.rules._table import RULES, Need
from jask.rules.elsewhere import Elsewhere
from jask.rules.pieces import at_edges
from jask.trace.ir import Atom, Equation, Var

type Side = int | tuple[int, int]
"""Along an axis of a value: which axis of the grid its interval is, or the interval."""

type Sides = tuple[Side, ...]
"""The shape of a box, for any tile."""

type Spans = Sequence[tuple[int, int]]
"""The interval of each axis of the grid."""

type Asked = list[tuple[Var, Sides]]
"""What is needed of operands."""

type Needed = tuple[list[Box | None], list[tuple[Equation, Box]], list[Load]]
"""The parts of the domains, what is computed on which boxes, and what is loaded."""


class _Mark(int):
    """A coordinate of a tile that knows which one it is."""

    axis: int
    end: int

    @classmethod
    def of(cls, value: int, axis: int, end: int) -> "_Mark":
        """Return the start (0) or the stop (1) of a tile along an axis."""
        mark = cls(value)
        mark.axis, mark.end = axis, end
        return mark


class _Varies(Exception):  # noqa: N818 (not an error: such tiles are lowered)
    """What tiles need does not follow their sides."""


class _Rules:
    """What rules need, in sides."""

    def __init__(self, grid: Sequence[int]) -> None:
        self._tiles = [
            [(_Mark.of(a, d, 0), _Mark.of(b, d, 1)) for d, (a, b) in enumerate(spans)]
            for spans in _probes(grid)
        ]
        self._known: dict[tuple[Equation, Sides], Asked] = {}

    def of_root(self, root: Root) -> Asked:
        """Return what a root needs of its operands."""
        domains = [Box.of(tile[a] for a in root.axes) for tile in self._tiles]
        return _asked(root_inputs(root), [root_need(root, d) for d in domains])

    def of_equation(self, eqn: Equation, sides: Sides) -> Asked:
        """Return what an equation needs of its operands."""
        if (eqn, sides) not in self._known:
            rule = RULES[eqn.name]
            needs = [rule.need(eqn, _box(sides, tile)) for tile in self._tiles]
            self._known[eqn, sides] = _asked(eqn.inputs, needs)
        return self._known[eqn, sides]


def _probes(grid: Sequence[int]) -> Iterable[Spans]:
    """Yield one element in the middle, a part at the start, and a part at the end."""
    yield [(n // 2, min(n, n // 2 + 1)) for n in grid]
    yield [(0, -(-n // 3)) for n in grid]
    yield [(n - -(-n // 4), n) for n in grid]


def _asked(atoms: Sequence[Atom], needs: Sequence[Need]) -> Asked:
    """Return what several tiles need of operands, if that is the same."""
    found = [
        [
            (atom, _sides(atom, box))
            for atom, box in zip(atoms, need.boxes, strict=True)
            if box is not None and isinstance(atom, Var)
        ]
        for need in needs
    ]
    if any(other != found[0] for other in found):
        raise _Varies
    return found[0]


def _sides(var: Var, box: Box) -> Sides:
    sides: list[Side] = []
    for (start, stop), n in zip(box.intervals, var.shape, strict=True):
        marks = [c for c in (start, stop) if isinstance(c, _Mark)]
        if not marks and (start, stop) == (0, n):
            sides.append((0, n))
        elif [m.end for m in marks] == [0, 1] and marks[0].axis == marks[1].axis:
            sides.append(marks[0].axis)
        else:
            raise _Varies
    return tuple(sides)


class _Walk:
    """What some roots of a pass need together."""

    def __init__(self, p: Pass, roots: Iterable[Root], rules: _Rules) -> None:
        wanted: dict[Var, list[Sides]] = defaultdict(list)
        for var, sides in (a for root in roots for a in rules.of_root(root)):
            wanted[var].append(sides)
        self.equations: list[tuple[Equation, list[Sides]]] = []
        for eqn in reversed(p.equations):
            live = [o for o in eqn.outputs if o in wanted]
            if live:
                asked = _largest(s for o in live for s in wanted[o])
                wanted.update((o, asked) for o in live)
                self.equations.append((eqn, asked))
                for var, sides in (a for s in asked for a in rules.of_equation(eqn, s)):
                    wanted[var].append(sides)
        self.equations.reverse()
        self.leaves = [(v, _largest(wanted[v])) for v in p.leaves if v in wanted]


def _largest(asked: Iterable[Sides]) -> list[Sides]:
    """Return the sides that lie in no others: those a cover would join to them."""
    distinct = list(dict.fromkeys(asked))
    return [s for s in distinct if not any(s != t and _inside(s, t) for t in distinct)]


def _inside(inner: Sides, outer: Sides) -> bool:
    pairs = zip(inner, outer, strict=True)
    return all(a == b or not isinstance(b, int) for a, b in pairs)


class Footprint:
    """What the tiles of a pass need: a matter of its roots and grid only.

    Parameters
    ----------
    lowered
        Whether every tile is lowered.
    """

    def __init__(self, p: Pass, *, lowered: bool = False) -> None:
        self._lowered = lowered
        self._pass = Pass(roots=p.roots, grid=p.grid)
        self._rules: _Rules | None = None
        self._walks: dict[tuple[Root, ...], _Walk | None] = {}
        self._after: dict[Root, Footprint] = {}
        self._elsewhere = Elsewhere()

    def needed(self, p: Pass, index: Sequence[int]) -> Needed:
        """Return what the tile at an index of the grid needs."""
        running, walk = self._walk(index)
        if walk is not None:
            spans = spans_of(p, index)
            try:
                return (
                    [
                        Box.of(spans[a] for a in r.axes) if r in running else None
                        for r in p.roots
                    ],
                    [(e, b) for e, s in walk.equations for b in _asked_boxes(s, spans)],
                    _loads(walk, spans),
                )
            except _Varies:
                pass
        domains, instances, loads = needed(p, index)
        return domains, [(e, b) for e, b, _ in instances], loads

    def loads(self, p: Pass, index: Sequence[int]) -> list[Load]:
        """Return what the tile at an index of the grid loads."""
        _, walk = self._walk(index)
        if walk is not None:
            spans = spans_of(p, index)
            try:
                for _, sides in walk.equations:
                    if len(sides) > 1:
                        _asked_boxes(sides, spans)
                return _loads(walk, spans)
            except _Varies:
                pass
        return needed(p, index)[2]

    def beyond(self, computed: Iterable[tuple[Equation, Box]]) -> int:
        """Return the bytes that tiles at other places hold beyond one."""
        return sum(at_edges(e, b) + self._elsewhere.held(e, b) for e, b in computed)

    def leaves(self) -> list[tuple[Var, list[Sides]]]:
        """Return what a tile that all roots run on loads, as far as that is known."""
        _, walk = self._walk([0] * len(self._pass.grid))
        return walk.leaves if walk else []

    def _walk(self, index: Sequence[int]) -> tuple[tuple[Root, ...], _Walk | None]:
        """Return the roots that run at an index, and what they need if it is known."""
        if self._lowered:
            return (), None
        away = {a for a, i in enumerate(index) if i}
        running = tuple(r for r in self._pass.roots if away.issubset(r.axes))
        if running not in self._walks:
            self._rules = self._rules or _Rules(self._pass.grid)
            try:
                walk = _Walk(self._pass, running, self._rules)
            except _Varies:
                self._walks[running] = None
            else:
                self._walks[running] = walk
        return running, self._walks[running]

    def after(self, root: Root) -> "Footprint":
        """Return that of what follows a root."""
        if root not in self._after:
            mine = tuple(self._pass.grid[root.axes[d]] for d in root.kept)
            followers = Pass(roots=tuple(root.followers), grid=mine)
            self._after[root] = Footprint(followers, lowered=self._lowered)
        return self._after[root]


def _loads(walk: _Walk, spans: Spans) -> list[Load]:
    loads: list[Load] = []
    for var, asked in walk.leaves:
        boxes = [_box(s, spans) for s in asked]
        loads.extend(Load(var, b) for b in (cover(boxes) if len(boxes) > 1 else boxes))
    return loads


def _asked_boxes(asked: Sequence[Sides], spans: Spans) -> list[Box]:
    """Return the boxes on which an equation is computed, all of which are asked for."""
    boxes = [_box(s, spans) for s in asked]
    if len(boxes) == 1:
        return boxes
    covering = cover(boxes)
    if not set(covering) <= set(boxes):
        raise _Varies
    return covering


def _box(sides: Sides, spans: Spans) -> Box:
    return Box.of([spans[s] if isinstance(s, int) else s for s in sides])
