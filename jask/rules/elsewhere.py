"""What tiles of a padded or joined array hold where another operand lies.

The planner looks at a tile in the middle of the grid. Where that is of padding, nothing
shows what the tiles hold that have elements. Maps are fused, and need little; but each
decomposition of matrices, and what goes into it, is an array of its own.

1. From the operand that the tile lacks, walk back over what makes a box of it as large
   as the tile.
2. Stop at what looks at much more than it makes: it is stored by then.
3. The bytes of the arrays on the way are what such a tile holds: at most, since some
   are gone when others are made.
"""

from functools import lru_cache

from jask.geometry.box import Box
from jask.rules._table import RULES
from jask.trace.ir import Equation, Var

__all__ = ["held_elsewhere"]

MUCH = 32
"""What is made of so many times its own bytes, and those of the tile, is stored."""


def held_elsewhere(eqn: Equation, box: Box) -> int:
    """Return the bytes that other tiles of this shape hold beyond this one."""
    parts = RULES[eqn.name].need(eqn, box).boxes
    here, elsewhere = [0], [0]
    for atom, part in zip(eqn.inputs, parts, strict=True):
        if not isinstance(atom, Var) or not _is_heavy(atom):
            continue
        if part is None:
            elsewhere.append(_made_of(atom, _clipped(box.shape, atom.shape)))
        else:
            here.append(_made_of(atom, part.shape))
    return max(0, max(elsewhere) - max(here))


@lru_cache(1024)
def _is_heavy(var: Var) -> bool:
    """Return whether decompositions and the like lead to a value."""
    seen, left = {var}, [var]
    while left:
        eqn = left.pop().producer
        if eqn is None or eqn.name not in RULES:
            continue
        if RULES[eqn.name].kind == "whole":
            return True
        fresh = [a for a in eqn.inputs if isinstance(a, Var) and a not in seen]
        seen.update(fresh)
        left += fresh
    return False


def _clipped(shape: tuple[int, ...], whole: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(min(n, m) for n, m in zip(shape, whole, strict=True))


@lru_cache(256)
def _made_of(var: Var, shape: tuple[int, ...]) -> int:
    """Return the bytes of the arrays that make a box of this shape, in the middle."""
    starts = [(n - k) // 2 for n, k in zip(var.shape, shape, strict=True)]
    box = Box(tuple(starts), tuple(a + k for a, k in zip(starts, shape, strict=True)))
    seen, left, total = {(var, box)}, [(var, box)], 0
    while left:
        atom, part = left.pop()
        most = MUCH * max(_nbytes(var, box), _nbytes(atom, part))
        operands = _operands(atom, part, most)
        if operands is None:
            total += _nbytes(atom, part)
            continue
        kind = _kind(atom)
        if kind != "map":
            total += _nbytes(atom, part)
        if kind == "whole":
            total += sum(_nbytes(a, b) for a, b in operands if _kind(a) == "map")
        fresh = [pair for pair in operands if pair not in seen]
        seen.update(fresh)
        left += fresh
    return total


def _operands(var: Var, part: Box, most: int) -> list[tuple[Var, Box]] | None:
    """Return what makes a part of a value; None if it is read, or looks at more."""
    eqn = var.producer
    if eqn is None or eqn.name not in RULES:
        return None
    need = RULES[eqn.name].need(eqn, part)
    found = {
        (atom, box): _nbytes(atom, box)
        for atom, box in zip(eqn.inputs, need.boxes, strict=True)
        if isinstance(atom, Var) and box is not None
    }
    return list(found) if sum(found.values()) <= most else None


def _kind(var: Var) -> str:
    """Return how a value is made."""
    rule = None if var.producer is None else RULES.get(var.producer.name)
    return "" if rule is None else rule.kind


def _nbytes(var: Var, part: Box) -> int:
    return part.size * var.dtype.itemsize
