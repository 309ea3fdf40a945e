"""Leaves that are only used in one other shape are read in that shape.

A leaf is a row-major file, so a reshape of all of it is the same bytes under another
shape: `reshape(x, (-1, 256))` of a long vector then tiles like any matrix. A leaf with
other uses keeps its shape, or its bytes would be read once for each.
"""

from collections import defaultdict

from jask.trace.ir import Equation, Program, Var


def view_leaves(program: Program) -> Program:
    """Replace, in place, leaves by the one reshape that uses them."""
    users: dict[Var, list[Equation]] = defaultdict(list)
    for eqn in program.equations:
        for atom in eqn.inputs:
            if isinstance(atom, Var):
                users[atom].append(eqn)
    for i, leaf in enumerate(program.leaves):
        if leaf.size and leaf not in program.outputs and len(users[leaf]) == 1:
            (eqn,) = users[leaf]
            if eqn.name == "reshape" and eqn.params["dimensions"] is None:
                _adopt(program, i, eqn)
    return program


def _adopt(program: Program, index: int, eqn: Equation) -> None:
    (view,) = eqn.outputs
    view.producer, view.index = None, index
    program.leaves[index] = view
    program.equations.remove(eqn)
    for number, other in enumerate(program.equations):
        other.number = number
