"""The invariants of a program, as code that runs between stages in tests.

1. Each variable is made once, before it is used, by the equation it names.
2. Each result has the type that its primitive gives for the types of the operands.
3. Each equation is needed, and numbered by its position.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from jask.trace.ir import Atom, Equation, Literal, Program, Var


def _require(condition: object, what: str, where: object) -> None:
    if not condition:
        msg = f"{what}; got {where}"
        raise AssertionError(msg)


def _kept_twice(eqn: Equation) -> list[tuple[tuple[int, ...], Any]]:
    """Return the result types of a fold with two results over the kept axes."""
    (x,) = eqn.inputs
    axes = eqn.params["axes"]
    kept = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
    return [(kept, x.dtype)] * 2


FOLDS: Mapping[str, Callable[[Equation], list[tuple[tuple[int, ...], Any]]]] = {
    "moments": _kept_twice,
    "logsumexp_parts": _kept_twice,
}
"""Result types of the program's own folds, by name."""


def result_types(eqn: Equation) -> list[tuple[tuple[int, ...], Any]]:
    """Return shape and dtype of each result, from the operands alone."""
    if eqn.primitive is None:
        return FOLDS[eqn.name](eqn)
    operands = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in eqn.inputs]
    with jax.enable_x64(True):  # noqa: FBT003 (JAX's own signature)
        out = jax.eval_shape(partial(eqn.primitive.bind, **eqn.params), *operands)
    return [(o.shape, o.dtype) for o in jax.tree.leaves(out)]


def _check_equation(eqn: Equation, known: set[Var]) -> None:
    for atom in eqn.inputs:
        met = isinstance(atom, Literal) or atom in known
        _require(met, "an operand must be computed before its use", eqn)
    for index, var in enumerate(eqn.outputs):
        _require(var not in known, "a variable must be made once", eqn)
        owned = var.producer is eqn and var.index == index
        _require(owned, "a result must name its equation", eqn)
    types = [(var.shape, var.dtype) for var in eqn.outputs]
    _require(types == result_types(eqn), "results must have the primitive's types", eqn)


def _is_known(atom: Atom, known: set[Var]) -> bool:
    if isinstance(atom, Literal):
        return not np.shape(atom.value)
    return atom in known


def check(program: Program) -> None:
    """Raise AssertionError if a program breaks an invariant.

    Examples
    --------
    >>> import numpy as np
    >>> check(Program(outputs=[Var((3,), np.dtype("float32"))]))
    Traceback (most recent call last):
        ...
    AssertionError: an output must be computed; got 0
    """
    known: set[Var] = set()
    for index, leaf in enumerate(program.leaves):
        fresh = leaf not in known and leaf.producer is None and leaf.index == index
        _require(fresh, "a leaf must be listed once and name its position", index)
        known.add(leaf)
    for var, array in program.constants.items():
        same = (var.shape, var.dtype) == (array.shape, array.dtype)
        _require(same and var.producer is None, "a constant must have its type", var)
        known.add(var)
    for number, eqn in enumerate(program.equations):
        _require(eqn.number == number, "equations must be numbered in order", eqn)
        _check_equation(eqn, known)
        known.update(eqn.outputs)
    for position, atom in enumerate(program.outputs):
        _require(_is_known(atom, known), "an output must be computed", position)
    used = {id(a) for eqn in program.equations for a in eqn.inputs}
    used |= {id(a) for a in program.outputs}
    for eqn in program.equations:
        needed = any(id(var) in used for var in eqn.outputs)
        _require(needed, "an equation must be needed", eqn)
