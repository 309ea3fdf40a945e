"""Rows that are read one by one: what is chosen from a file by indices known in time.

`x[i]` with a short list of rows of a long file need not read the file. Where the
indices come from what is in memory or small, and reading slice by slice costs less than
one reading of the operand, the result of the gather becomes a leaf of its own: a file
whose rows are the slices. So does that of a `dynamic_slice`, a box of the file. The
indices are computed when the evaluation starts.

So a batch of random rows costs what its rows cost, in an expression, in a lifted
function and under `jax.jit` alike, and other indices need no other plan.
"""

from collections.abc import Mapping, Sequence
from math import prod

from jask.geometry.box import Box
from jask.plan.cost import PAGE, READ, READ_RUN, runs
from jask.plan.ir import Place
from jask.rules._table import RULES, Reduction
from jask.trace.build import drop_dead
from jask.trace.ir import Atom, Equation, Literal, Pick, Program, Var

CHOICES = frozenset({"gather", "dynamic_slice"})

SLICE = 3e-5
"""Seconds for each slice besides reading it."""

INDICES = 16
"""Part (1/16) of the memory that indices, and all that leads to them, may take."""

HELD = 4
"""A walk holds about this many times the tile of its result."""


def pick_rows(program: Program, places: Mapping[Var, Place], memory: int) -> None:
    """Make leaves of gathers and slices that read little, in place."""
    most = memory // INDICES
    for eqn in list(program.equations):
        if eqn.name in CHOICES and _pays(eqn, places, memory):
            steps = _steps(eqn.inputs[1:], places, most)
            found = None if steps is None else _pick(eqn, *steps)
            if found is not None and found.nbytes <= most:
                most -= found.nbytes
                program.picks.append(found)
                program.equations.remove(eqn)
                found.leaf.producer, found.leaf.index = None, len(program.leaves)
                program.leaves.append(found.leaf)
    if program.picks:
        drop_dead(program)


def _pays(eqn: Equation, places: Mapping[Var, Place], memory: int) -> bool:
    """Return whether reading slice by slice costs less than reading the operand.

    A walk reads it once for each tile of the result.
    """
    operand, indices = eqn.inputs[:2]
    if not isinstance(operand, Var) or operand.producer or places[operand] != "disk":
        return False
    if any(0 in a.shape for a in (*eqn.inputs, *eqn.outputs)):
        return False
    if eqn.name == "dynamic_slice":
        return eqn.outputs[0].size < operand.size
    rule = RULES["gather"]
    if not isinstance(rule, Reduction) or not rule.can_fold(eqn):
        return False
    box = Box.whole(tuple(eqn.params["slice_sizes"]))
    count, length = runs(box, operand.shape, operand.dtype.itemsize)
    one = SLICE + count * READ_RUN + count * length / READ
    walks = 1
    if _whole(operand, box) > memory // HELD:
        walks = -(-HELD * eqn.outputs[0].nbytes // memory)
    return prod(indices.shape[:-1]) * one < walks * operand.nbytes / READ


def _whole(operand: Var, slices: Box) -> int:
    """Return the bytes of the operand that any part of the result needs, page by page.

    Axes of which slices take a part are needed whole.
    """
    sides = zip(slices.shape, operand.shape, strict=True)
    indexed = prod(n for k, n in sides if k < n)
    streamed = operand.nbytes // max(1, indexed)
    return indexed * min(streamed, PAGE)


def _steps(
    indices: Sequence[Atom], places: Mapping[Var, Place], most: int
) -> tuple[list[Equation], list[Var]] | None:
    """Return what computes the indices and from which leaves.

    None if that needs a large file, or nothing at all: then their bounds are known.
    """
    equations: dict[Equation, None] = {}
    leaves: dict[Var, None] = {}
    stack = [*indices]
    while stack:
        atom = stack.pop()
        if isinstance(atom, Literal):
            continue
        if atom.producer is None:
            if places[atom] != "memory" and atom.nbytes > most:
                return None
            leaves[atom] = None
        elif atom.producer not in equations:
            if atom.producer.primitive is None:
                return None
            equations[atom.producer] = None
            stack.extend(atom.producer.inputs)
    ordered = sorted(equations, key=lambda e: e.number)
    return (ordered, list(leaves)) if leaves else None


def _pick(eqn: Equation, equations: list[Equation], leaves: list[Var]) -> Pick:
    source = eqn.inputs[0]
    assert isinstance(source, Var)
    return Pick(eqn.outputs[0], source, eqn, tuple(equations), tuple(leaves))
