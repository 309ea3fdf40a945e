"""Joins of many parts: what lies side by side in one array is one part.

1. A concatenation of concatenations is one, where nobody else uses the inner ones: an
   array grown part by part is joined once.
2. Parts that are slices of one array, next to each other there too, forwards or one by
   one backwards, become one slice, reversed if need be.

So `stack([x[0], x[1], ...])` costs one equation, however many rows there are. A kernel
of hundreds of slices takes seconds to compile.

A slice `s` that is reshaped to a part `p` and joined along `dim` is that slice made
longer along its axis `e` where as many elements come before `e` in `s` as before `dim`
in `p`: both joins then put the same rows of elements side by side.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from jask._jax import primitives
from jask.geometry.box import Box
from jask.trace.ir import Atom, Equation, Program, Var

type Shape = tuple[int, ...]

NOWHERE = Box((), ())
"""The box of what is not a slice."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a join; where known, which box of which array it is."""

    atom: Atom
    """The part itself."""

    shape: Shape
    """Its shape, the joined axis included."""

    array: Atom | None = None
    """What it is a slice of."""

    box: Box = NOWHERE
    """Which part of it."""


@dataclass(slots=True)
class Run:
    """Pieces side by side along one axis of an array."""

    pieces: list[Piece]
    """In the order of the join."""

    axis: int = -1
    """The axis of the array; -1: there is one piece only."""

    step: int = 0
    """1 where each piece lies behind the one before, -1 where it lies in front."""


def merge_joins(program: Program) -> None:
    """Merge the parts of every join, in place; what is not used any more stays."""
    uses = Counter(a for e in program.equations for a in e.inputs)
    uses.update(program.outputs)
    made: list[Equation] = []
    for eqn in _flattened(program, uses):
        if eqn.name in {"concatenate", "stack"} and len(eqn.inputs) > 1:
            made += _merged(eqn)
        made.append(eqn)
    program.equations = made


def _flattened(program: Program, uses: Counter[Atom]) -> list[Equation]:
    """Return the equations with joins inside joins taken apart."""
    inner: set[Equation] = set()
    for eqn in reversed(program.equations):
        if eqn.name == "concatenate" and eqn not in inner:
            eqn.inputs = tuple(_leaves(eqn, uses, inner))
    return [e for e in program.equations if e not in inner]


def _leaves(
    outer: Equation, uses: Counter[Atom], inner: set[Equation]
) -> Iterator[Atom]:
    """Yield the parts of a join, those of joins that only it uses in their place."""
    stack = list(reversed(outer.inputs))
    while stack:
        atom = stack.pop()
        eqn = atom.producer if isinstance(atom, Var) else None
        same = eqn is not None and (eqn.name, dict(eqn.params)) == (
            outer.name,
            dict(outer.params),
        )
        if eqn is None or not same or uses[atom] != 1:
            yield atom
            continue
        inner.add(eqn)
        stack.extend(reversed(eqn.inputs))


def _merged(eqn: Equation) -> list[Equation]:
    """Merge the parts of a join; return what has to be computed before it."""
    stacked = eqn.name == "stack"
    dim = int(eqn.params["axis" if stacked else "dimension"])
    runs = _runs([_piece(a, dim, stacked=stacked) for a in eqn.inputs], dim)
    if len(runs) == len(eqn.inputs):
        return []
    before: list[Equation] = []
    parts = [_part(run, dim, before, eqn) for run in runs]
    if len(parts) == 1:  # the last step makes the result itself
        last = before.pop()
        eqn.primitive, eqn.name = last.primitive, last.name
        eqn.params, eqn.inputs = last.params, last.inputs
        return before
    eqn.primitive, eqn.name = primitives.concatenate_p, "concatenate"
    eqn.params, eqn.inputs = {"dimension": dim}, tuple(parts)
    return before


def _piece(atom: Atom, dim: int, *, stacked: bool) -> Piece:
    shape = (*atom.shape[:dim], 1, *atom.shape[dim:]) if stacked else atom.shape
    inner = atom
    while isinstance(inner, Var) and (eqn := inner.producer) and _same_order(eqn):
        inner = eqn.inputs[0]
    array, box = _cut(inner)
    known = isinstance(array, Var) and 0 not in shape
    return Piece(atom, shape, array, box) if known else Piece(atom, shape)


def _cut(atom: Atom) -> tuple[Atom | None, Box]:
    """Return what an atom is a slice or a place of, and which."""
    eqn = atom.producer if isinstance(atom, Var) else None
    if eqn is not None and eqn.name == "unstack":
        assert isinstance(atom, Var)
        (whole,) = eqn.inputs
        spans = list(Box.whole(whole.shape).intervals)
        spans[int(eqn.params["axis"])] = (atom.index, atom.index + 1)
        return whole, Box.of(spans)
    if eqn is None or eqn.name != "slice" or set(eqn.params["strides"] or ()) > {1}:
        return None, NOWHERE
    starts, limits = eqn.params["start_indices"], eqn.params["limit_indices"]
    return eqn.inputs[0], Box(tuple(map(int, starts)), tuple(map(int, limits)))


def _same_order(eqn: Equation) -> bool:
    """Return whether a result has its operand's elements in the same order."""
    if eqn.name == "squeeze":
        return True
    if eqn.name == "reshape":
        return eqn.params["dimensions"] is None
    if eqn.name != "broadcast_in_dim" or len(eqn.inputs) > 1:
        return False
    axes = tuple(eqn.params["broadcast_dimensions"])
    same_size = prod(eqn.inputs[0].shape) == prod(eqn.outputs[0].shape)
    return same_size and list(axes) == sorted(axes)


def _runs(pieces: Sequence[Piece], dim: int) -> list[Run]:
    runs: list[Run] = []
    for piece in pieces:
        if not runs or not _extend(runs[-1], piece, dim):
            runs.append(Run([piece]))
    return runs


def _extend(run: Run, piece: Piece, dim: int) -> bool:
    """Add a piece to a run if it lies beside its last one; return whether it did."""
    last = run.pieces[-1]
    if piece.array is None or piece.array is not last.array:
        return False
    pairs = zip(last.box.intervals, piece.box.intervals, strict=True)
    different = [d for d, (a, b) in enumerate(pairs) if a != b]
    if len(different) != 1 or run.axis not in {-1, *different}:
        return False
    (axis,) = different
    step = _direction(last.box, piece.box, axis)
    outer = {prod(p.box.shape[:axis]) for p in (last, piece)}
    if not step or run.step not in {0, step} or outer != {prod(piece.shape[:dim])}:
        return False
    run.pieces.append(piece)
    run.axis, run.step = axis, step
    return True


def _direction(a: Box, b: Box, axis: int) -> int:
    """Return 1 if `b` begins where `a` ends, -1 if a single row lies before `a`'s."""
    if a.stop[axis] == b.start[axis]:
        return 1
    single = a.shape[axis] == b.shape[axis] == 1
    return -1 if single and b.stop[axis] == a.start[axis] else 0


def _part(run: Run, dim: int, before: list[Equation], join: Equation) -> Atom:
    """Return the atom of a run, appending what computes it."""
    first, last = run.pieces[0], run.pieces[-1]
    length = sum(p.shape[dim] for p in run.pieces)
    shape = (*first.shape[:dim], length, *first.shape[dim + 1 :])
    atom, hull = first.atom, first.box | last.box
    if first.array is not None and len(run.pieces) > 1:
        atom = first.array
        cut = {"start_indices": hull.start, "limit_indices": hull.stop}
        if hull != Box.whole(atom.shape) or (run.step > 0 and hull.shape == shape):
            atom = _add("slice", atom, hull.shape, before, join, strides=None, **cut)
        if run.step < 0:
            atom = _add("rev", atom, hull.shape, before, join, dimensions=(run.axis,))
    if atom.shape == shape:
        return atom
    sizes = {"new_sizes": shape, "dimensions": None, "sharding": None}
    return _add("reshape", atom, shape, before, join, **sizes)


def _add(
    name: str,
    operand: Atom,
    shape: Shape,
    before: list[Equation],
    join: Equation,
    **params: Any,
) -> Atom:
    """Append an equation and return its result."""
    primitive = getattr(primitives, f"{name}_p")
    eqn = Equation(primitive, name, params, (operand,), source=join.source)
    eqn.outputs = (Var(shape, operand.dtype, eqn),)
    before.append(eqn)
    return eqn.outputs[0]
