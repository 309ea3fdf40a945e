"""What tiles hold where an operand lies that a tile in the middle lacks.

The planner looks at a tile in the middle of the grid. Of joined or padded operands, and
of an update of a part, it may see none: nothing shows what the other tiles read, and
which decompositions of matrices, with all that goes into them, are arrays of their own
there.

1. The rules say where their operands begin (`origins`). Those with the most files and
   decompositions behind them are looked at: a tile of the same shape is laid there.
2. Walk back over what makes the parts that it needs. Stop at what looks at much more
   than it makes: it is stored by then.
3. The bytes of the files and arrays on the way are what such a tile holds: at most,
   since some are gone when others are made.
"""

from jask.geometry.box import Box
from jask.rules._table import RULES
from jask.trace.ir import Atom, Equation, Var

__all__ = ["Elsewhere"]

MUCH = 32
"""What is made of so many times its own bytes, and those of the tile, is stored."""

LOOKED_AT = 3
"""Operands of an equation that are looked at: of a thousand joined files, a few."""

type Part = tuple[Var, Box]


class Elsewhere:
    """What tiles at other places hold: found once for all tiles of a shape."""

    def __init__(self) -> None:
        self._weights: dict[Var, int] = {}
        self._starts: dict[Equation, list[tuple[int, ...]]] = {}
        self._most: dict[tuple[Equation, tuple[int, ...]], int] = {}

    def held(self, eqn: Equation, box: Box) -> int:
        """Return the bytes that other tiles of this shape hold beyond this one."""
        if eqn not in self._starts:
            self._starts[eqn] = self._looked_at(eqn)
        starts, key = self._starts[eqn], (eqn, box.shape)
        if not starts:
            return 0
        if key not in self._most:
            tiles = (_laid(box.shape, s, eqn.outputs[0].shape) for s in starts)
            self._most[key] = max(_made_of(eqn, tile) for tile in tiles)
        return max(0, self._most[key] - _made_of(eqn, box))

    def _looked_at(self, eqn: Equation) -> list[tuple[int, ...]]:
        """Return where the heaviest operands begin."""
        found = zip(eqn.inputs, RULES[eqn.name].origins(eqn), strict=False)
        starts = [(self._weight(atom), s) for atom, s in found if s is not None]
        light = all(w <= eqn.outputs[0].dtype.itemsize for w, _ in starts)
        if light and len(starts) == len(eqn.inputs):
            return []  # one file behind each
        return [s for _, s in sorted(starts, reverse=True)[:LOOKED_AT]]

    def _weight(self, atom: Atom) -> int:
        """Return bytes of an element of each part read and decomposed for a value."""
        if not isinstance(atom, Var):
            return 0
        if atom not in self._weights:
            counted = (v for v in _behind(atom) if _kind(v) in {"", "whole"})
            self._weights[atom] = sum(v.dtype.itemsize for v in counted)
        return self._weights[atom]


def _behind(var: Var) -> list[Var]:
    """Return a value and all from which it is made, what is read at each use."""
    found, left = [var], [var]
    seen = {var}
    while left:
        for atom in _inputs(left.pop()):
            if atom not in seen or not _inputs(atom):
                found.append(atom)
            if atom not in seen:
                seen.add(atom)
                left.append(atom)
    return found


def _inputs(var: Var) -> list[Var]:
    eqn = var.producer
    atoms = [] if eqn is None or eqn.name not in RULES else eqn.inputs
    return [a for a in atoms if isinstance(a, Var)]


def _laid(
    shape: tuple[int, ...], start: tuple[int, ...], whole: tuple[int, ...]
) -> Box:
    """Return a box of this shape that begins there, or as near as the array allows."""
    first = [max(0, min(s, n - k)) for s, k, n in zip(start, shape, whole, strict=True)]
    return Box(tuple(first), tuple(a + k for a, k in zip(first, shape, strict=True)))


def _made_of(eqn: Equation, tile: Box) -> int:
    """Return the bytes of the files and arrays of which a tile is made."""
    whole, left, total = tile.size * eqn.outputs[0].dtype.itemsize, _parts(eqn, tile), 0
    seen = set(left)
    while left:
        var, part = left.pop()
        most = MUCH * max(whole, _nbytes(var, part))
        operands = _operands(var, part, most)
        if operands is None:
            total += _nbytes(var, part)
            continue
        kind = _kind(var)
        if kind != "map":
            total += _nbytes(var, part)
        if kind == "whole":
            total += sum(_nbytes(a, b) for a, b in operands if _kind(a) == "map")
        fresh = [pair for pair in operands if pair not in seen]
        seen.update(fresh)
        left += fresh
    return total


def _operands(var: Var, part: Box, most: int) -> list[Part] | None:
    """Return what makes a part of a value; None if it is read, or looks at more."""
    eqn = var.producer
    if eqn is None or eqn.name not in RULES:
        return None
    found = _parts(eqn, part)
    return found if sum(_nbytes(a, b) for a, b in found) <= most else None


def _parts(eqn: Equation, box: Box) -> list[Part]:
    need = RULES[eqn.name].need(eqn, box)
    pairs = zip(eqn.inputs, need.boxes, strict=True)
    found = ((a, b) for a, b in pairs if isinstance(a, Var) and b is not None)
    return list(dict.fromkeys(found))


def _kind(var: Var) -> str:
    """Return how a value is made; nothing if it is read."""
    rule = None if var.producer is None else RULES.get(var.producer.name)
    return "" if rule is None else rule.kind


def _nbytes(var: Var, part: Box) -> int:
    return part.size * var.dtype.itemsize
