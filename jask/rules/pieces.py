"""Operands that a tile may need at two places far apart.

A run of elements of a merged axis may lie over the edge of two rows, and a part of a
repeated axis over the end of one copy and the start of the next. One box around both is
as large as the rows, however short the run is. So such an equation is made to name its
operand twice: its rule may then ask for two boxes.
"""

from jask.geometry.box import Box
from jask.rules.reorder import merges
from jask.trace.ir import Equation, Program, Var

__all__ = ["at_edges", "in_pieces"]

_BLOCKS = 3
"""Blocks that a tile at an edge holds beyond others: two boxes and their join."""


def in_pieces(program: Program) -> Program:
    """Let equations ask for two boxes of their operand, in place."""
    for eqn in program.equations:
        if _may_wrap(eqn):
            eqn.inputs = (eqn.inputs[0], eqn.inputs[0])
    return program


def _may_wrap(eqn: Equation) -> bool:
    if len(eqn.inputs) != 1 or not isinstance(eqn.inputs[0], Var):
        return False
    return eqn.name == "tile" or (eqn.name == "reshape" and merges(eqn))


def at_edges(eqn: Equation, box: Box) -> int:
    """Return the bytes that a tile at an edge of rows or copies holds beyond others."""
    if len(eqn.inputs) != 2 or eqn.name not in {"reshape", "tile"}:
        return 0
    return _BLOCKS * box.size * eqn.outputs[0].dtype.itemsize
