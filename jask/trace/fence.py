"""Values that must have the same bits in every kernel.

The derivative of a maximum finds the elements that are equal to it: `eq(x, max(x))`.
The maximum is found in one pass and `x` is computed again in another. Within a kernel
XLA joins multiplications with additions as it sees fit, so `x` can differ in its last
bit: then nothing is equal to the maximum. So each operation that leads to such an `x`
is kept apart from the next one, in all kernels.
"""

from jask.trace.ir import Atom, Equation, Program, Var

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
            origins = [_origin(atom) for atom in eqn.inputs]
            extremes = [e for e in origins if e is not None and e.name in _EXTREMES]
            for atom in (a for e in extremes for a in (e.inputs[0], *eqn.inputs)):
                _fence(atom)
    return program


def _origin(atom: Atom) -> Equation | None:
    """Return what makes a value that is only moved."""
    eqn = _producer(atom)
    while eqn is not None and eqn.name in _MOVES:
        eqn = _producer(eqn.inputs[0])
    return eqn


def _producer(atom: Atom) -> Equation | None:
    return atom.producer if isinstance(atom, Var) else None


def _fence(atom: Atom) -> None:
    left = [atom]
    while left:
        eqn = _producer(left.pop())
        if eqn is not None and not eqn.fenced:
            eqn.fenced = True
            left += eqn.inputs
