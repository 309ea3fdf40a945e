"""An element of what was sorted, by a run-time index: `nanmedian` and its kin.

JAX takes it by a `dynamic_slice`, whose rule needs the axis whole. `gather_from_sorted`
makes a `gather` of it, which can walk an axis that does not fit.
"""

from typing import Any

from jax import lax

from jask._jax import primitives
from jask.trace.ir import Equation, Literal, Program, Var

__all__ = ["gather_from_sorted"]


def gather_from_sorted(program: Program) -> Program:
    """Replace slices of one row, at a run-time place, of what was sorted; in place."""
    for eqn in list(program.equations):
        axis = _axis(eqn) if eqn.name == "dynamic_slice" else None
        if axis is not None:
            at = program.equations.index(eqn)
            program.equations[at : at + 1] = _gathered(eqn, axis)
    for number, eqn in enumerate(program.equations):
        eqn.number = number
    return program


def _axis(eqn: Equation) -> int | None:
    """Return the axis of which one row is taken; None if it is another slice."""
    operand, *starts = eqn.inputs
    sizes = eqn.params["slice_sizes"]
    cut = [d for d, n in enumerate(operand.shape) if sizes[d] != n]
    if not isinstance(operand, Var) or operand.producer is None or len(cut) != 1:
        return None
    single = sizes[cut[0]] == 1 and not isinstance(starts[cut[0]], Literal)
    return cut[0] if single and operand.producer.name == "sort" else None


def _gathered(eqn: Equation, axis: int) -> list[Equation]:
    operand, place = eqn.inputs[0], eqn.inputs[1 + axis]
    vector = _reshape(eqn, place, (1,), None)
    rest = (*operand.shape[:axis], *operand.shape[axis + 1 :])
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(len(rest))),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    params = {
        "dimension_numbers": numbers,
        "slice_sizes": tuple(eqn.params["slice_sizes"]),
        "indices_are_sorted": False,
        "unique_indices": False,
        "mode": lax.GatherScatterMode.CLIP,
        "fill_value": None,
    }
    inputs = (operand, vector.outputs[0])
    found = Equation(primitives.gather_p, "gather", params, inputs, source=eqn.source)
    found.outputs = (Var(rest, operand.dtype, found, 0),)
    (out,) = eqn.outputs
    return [vector, found, _reshape(eqn, found.outputs[0], out.shape, out)]


def _reshape(eqn: Equation, atom: Any, shape: tuple[int, ...], out: Any) -> Equation:
    """Return a reshaping, into a variable that is there already or a new one."""
    params = {"new_sizes": shape, "dimensions": None, "sharding": None}
    made = Equation(primitives.reshape_p, "reshape", params, (atom,), source=eqn.source)
    made.outputs = (Var(shape, atom.dtype) if out is None else out,)
    made.outputs[0].producer, made.outputs[0].index = made, 0
    return made
