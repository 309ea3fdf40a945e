"""Values that must have the same bits in every kernel.

The derivative of a maximum finds the elements that are equal to it: `eq(x, max(x))`.
The maximum is found in one pass and `x` is computed again in another. Within a kernel
XLA joins multiplications with additions as it sees fit, so `x` can differ in its last
bit: then nothing is equal to the maximum. So each operation that leads to such an `x`
is kept apart from the next one, in all kernels.
"""

from jask.trace.ir import Atom, Equation, Program, Var
from jask.trace.simplify import producer_of

__all__ = ["fence_compared"]

_EXTREMES = {"reduce_max", "reduce_min", "cummax", "cummin"}
_MOVES = {
    *("broadcast_in_dim", "convert_element_type", "copy", "expand_dims", "reshape"),
    *("rev", "slice", "squeeze", "transpose"),
}


def fence_compared(program: Program) -> Program:
    """Mark what leads to values that are compared with their extremes, in place."""
    for eqn in program.equations:
        if eqn.name == "eq":
            for extreme in filter(None, map(_extreme, eqn.inputs)):
                _fence([extreme.inputs[0], *eqn.inputs])
    return program


def _extreme(atom: Atom) -> Equation | None:
    """Return the equation of which a value is the moved result, if it is an extreme."""
    while moved := producer_of(atom, *_MOVES):
        atom = moved.inputs[0]
    return producer_of(atom, *_EXTREMES)


def _fence(left: list[Atom]) -> None:
    """Mark all that leads to these."""
    while left:
        atom = left.pop()
        eqn = atom.producer if isinstance(atom, Var) else None
        if eqn is not None and not eqn.fenced:
            eqn.fenced = True
            left += eqn.inputs
