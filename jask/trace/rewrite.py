"""Patterns of several equations that stream better as one fold.

- `moments`: `sum((x - mean(x))**2)` beside `sum(x)` over the same axes, as variance
  and standard deviation trace, becomes one equation `moments` with the two sums as
  results, so that one reading of `x` gives both.
- `online_softmax`: `sum(exp(x - max(x)))` beside `max(x)` over the same axes, as
  softmax and logsumexp trace, becomes one equation `logsumexp_parts`. It pays only
  where the reduced axes do not fit a tile, so the planner chooses the sites.

- `joins` (in a file of its own): parts of a concatenation that are neighbours in one
  array are one part.
- `absorb_transposes`: a product of a transposed operand contracts another axis of the
  operand itself, so that no transposed block is made.

Other uses of the replaced variables stay as they are: the variables keep their
identity and only change their producer.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import jax
import numpy as np

from jask.trace.build import drop_dead
from jask.trace.ir import Atom, Equation, Program, Var
from jask.trace.joins import merge_joins
from jask.trace.simplify import constant_of, producer_of

type Steps = list[Equation]
"""Equations from a variable back to what it was made from."""


def rewrite(program: Program) -> Program:
    """Apply the patterns that always pay, in place, and return the program."""
    merge_joins(program)
    for eqn in list(program.equations):
        site = _moments_site(eqn)
        if site is not None:
            _replace(program, "moments", {"axes": tuple(eqn.params["axes"])}, site, eqn)
        elif eqn.name == "dot_general":
            for side in (0, 1):
                _absorb_transpose(eqn, side)
    return _tidy(program)


def _absorb_transpose(eqn: Equation, side: int) -> None:
    """Let a product read what its operand transposes, if its result stays the same."""
    turned = producer_of(eqn.inputs[side], "transpose")
    if turned is None:
        return
    order = tuple(turned.params["permutation"])
    contracted, batch = eqn.params["dimension_numbers"]
    used = {*contracted[side], *batch[side]}
    free = [order[d] for d in range(len(order)) if d not in used]
    if free != sorted(free):  # the axes of the result would change places
        return

    def mapped(axes: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        new = list(map(tuple, axes))
        new[side] = tuple(order[d] for d in axes[side])
        return tuple(new)

    numbers = (mapped(contracted), mapped(batch))
    eqn.params = {**eqn.params, "dimension_numbers": numbers}
    inputs = list(eqn.inputs)
    inputs[side] = turned.inputs[0]
    eqn.inputs = tuple(inputs)


def online_softmax(program: Program, keep: Callable[[Equation], bool]) -> Program:
    """Join maximum and sum of exponentials where `keep(maximum)`, in place.

    The new equation has results (m, s) and the parameter `guarded`:
    `s = sum(exp(x - c))` with `c = m`, or, if guarded, `c = m` where `m` is finite and
    0 elsewhere. Without the guard, `s` is NaN wherever `m` is not finite.
    """
    for eqn in list(program.equations):
        site = _softmax_site(eqn)
        if site is not None and keep(site[0]):
            maximum, guarded = site
            axes = tuple(eqn.params["axes"])
            params = {"axes": axes, "guarded": guarded}
            _replace(program, "logsumexp_parts", params, maximum, eqn)
    return _tidy(program)


def _tidy(program: Program) -> Program:
    drop_dead(program)
    return program


def _replace(
    program: Program, name: str, params: Any, first: Equation, second: Equation
) -> None:
    """Put one equation in the place of `first` that also has the result of `second`.

    What lies between the two depends on `first` only, so nothing else moves.
    """
    (operand,) = first.inputs
    outputs = (first.outputs[0], second.outputs[0])
    eqn = Equation(None, name, params, (operand,), outputs, source=second.source)
    for index, var in enumerate(outputs):
        var.producer, var.index = eqn, index
    equations = program.equations
    equations[equations.index(first)] = eqn
    equations.remove(second)


def _moments_site(eqn: Equation) -> Equation | None:
    """Return the sum whose mean the squared deviations in `eqn` are taken from."""
    deviation = _squared(eqn.inputs[0]) if eqn.name == "reduce_sum" else None
    difference = None if deviation is None else producer_of(deviation, "sub")
    if difference is None:
        return None
    x, mean = difference.inputs
    if not isinstance(x, Var) or not _is_real(x) or not x.size:
        return None
    path = _path_to_reduction(mean, "reduce_sum", ("div", "mul"))
    if path is None:
        return None
    *between, total = path
    count = prod(x.shape[axis] for axis in eqn.params["axes"])
    scalings = [e for e in between if e.name in {"div", "mul"}]
    fits = (
        len(scalings) == 1
        and _divides(scalings[0], count)
        and _same_site(x, mean, between, total, eqn)
    )
    return total if fits else None


def _is_real(var: Var) -> bool:
    return jax.numpy.issubdtype(var.dtype, np.floating)


def _squared(atom: Atom) -> Atom | None:
    """Return what an atom is the square of."""
    eqn = producer_of(atom, "square", "integer_pow", "mul")
    if eqn is None:
        return None
    square = (
        eqn.name == "square"
        or (eqn.name == "integer_pow" and eqn.params["y"] == 2)
        or (eqn.name == "mul" and eqn.inputs[0] is eqn.inputs[1])
    )
    return eqn.inputs[0] if square else None


def _divides(eqn: Equation, count: int) -> bool:
    """Return whether an equation divides by `count`, or multiplies by 1 / count."""
    scalar = constant_of(_scalar_operand(eqn))
    if scalar is None:
        return False
    if eqn.name == "div":
        return bool(scalar == np.asarray(count, scalar.dtype))
    return bool(scalar == np.asarray(1 / count, scalar.dtype))


def _scalar_operand(eqn: Equation) -> Atom:
    first, second = eqn.inputs
    other = constant_of(second) is None and eqn.name == "mul"
    return first if other else second


def _carried_operand(eqn: Equation) -> Atom | None:
    """Return the operand that a step of a path passes on, unscaled or scaled."""
    if eqn.name not in {"div", "mul"}:
        return eqn.inputs[0]
    scalar = _scalar_operand(eqn)
    first, second = eqn.inputs
    carried = second if scalar is first else first
    same = isinstance(carried, Var) and carried.shape == eqn.outputs[0].shape
    return carried if same else None


_LAYOUT = ("broadcast_in_dim", "reshape", "squeeze")


def _path_to_reduction(atom: Atom, name: str, also: Sequence[str]) -> Steps | None:
    """Return the equations from a reduction to `atom`, the reduction last."""
    path: Steps = []
    while (eqn := producer_of(atom, name, *_LAYOUT, *also)) is not None:
        path.append(eqn)
        if eqn.name == name:
            return path
        carried = _carried_operand(eqn)
        if carried is None:
            return None
        atom = carried
    return None


def _same_site(
    x: Var, statistic: Atom, between: Steps, reduction: Equation, eqn: Equation
) -> bool:
    """Return whether each element of `x` meets the statistic of its own row."""
    if reduction.inputs[0] is not x:
        return False
    axes = set(reduction.params["axes"])
    if axes != set(eqn.params["axes"]) or eqn.inputs[0].shape != x.shape:
        return False
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    aligned = _axes_of(statistic, between)
    return aligned is not None and all(
        axis == kept[i] for i, axis in enumerate(aligned) if axis is not None
    )


def _axes_of(statistic: Atom, between: Steps) -> list[int | None] | None:
    """Follow the axes of the last variable of a path back to the reduction's result.

    Returns, per axis of that result, its axis in `statistic`; None for axes of one
    element. Returns None if the path mixes axes.
    """
    axes: list[int | None] = list(range(statistic.ndim))
    for eqn in between:
        operand = _carried_operand(eqn)
        if not isinstance(operand, Var):
            return None
        if eqn.name == "broadcast_in_dim":
            axes = [axes[axis] for axis in eqn.params["broadcast_dimensions"]]
        elif eqn.name in {"reshape", "squeeze"}:
            result = eqn.outputs[0]
            if _long(result.shape) != _long(operand.shape):
                return None
            lengths = zip(axes, result.shape, strict=True)
            found = iter([axis for axis, n in lengths if n != 1])
            axes = [next(found) if n != 1 else None for n in operand.shape]
        axes = [a if n != 1 else None for a, n in zip(axes, operand.shape, strict=True)]
    return axes


def _long(shape: Sequence[int]) -> list[int]:
    """Return the lengths of the axes that have more than one element."""
    return [n for n in shape if n != 1]


def _softmax_site(eqn: Equation) -> tuple[Equation, bool] | None:
    """Return the maximum that is subtracted in a sum of exponentials, if guarded."""
    power = producer_of(eqn.inputs[0], "exp") if eqn.name == "reduce_sum" else None
    difference = None if power is None else producer_of(power.inputs[0], "sub")
    if difference is None:
        return None
    x, shift = difference.inputs
    if not isinstance(x, Var) or not _is_real(x) or not x.size:
        return None
    found = _guarded_path(shift)
    if found is None:
        return None
    (*between, maximum), guarded = found
    fits = _same_site(x, shift, between, maximum, eqn)
    return (maximum, guarded) if fits else None


def _guarded_path(shift: Atom) -> tuple[Steps, bool] | None:
    """Return the path from the maximum, without `where(isfinite(m), m, 0)`."""
    before: Steps = []
    while (eqn := producer_of(shift, "select_n", *_LAYOUT)) is not None:
        if eqn.name == "select_n":
            guarded = _finite_or_zero(eqn)
            path = None
            if guarded is not None:
                path = _path_to_reduction(guarded, "reduce_max", ())
            return None if path is None else (before + path, True)
        before.append(eqn)
        shift = eqn.inputs[0]
    path = _path_to_reduction(shift, "reduce_max", ())
    return None if path is None else (before + path, False)


def _finite_or_zero(eqn: Equation) -> Atom | None:
    """Return m if `eqn` is `where(isfinite(m), m, 0)`."""
    if len(eqn.inputs) != 3:
        return None
    finite = producer_of(eqn.inputs[0], "is_finite")
    zero = constant_of(eqn.inputs[1])
    value = eqn.inputs[2]
    same = finite is not None and finite.inputs[0] is value
    return value if same and zero is not None and zero == 0 else None
