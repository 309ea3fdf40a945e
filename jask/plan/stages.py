"""Stages: equations that an algorithm of its own computes, one pass each.

1. The algorithm works along the last axis: `turn_stages` transposes what has its axis
   elsewhere, and back.
2. `stage_pass` says what it holds, reads and writes.
"""

from collections.abc import Mapping

from jask._jax import primitives
from jask.plan.cost import ELEMENT, READ, WRITE
from jask.plan.ir import Pass, Place, Root, RootKind
from jask.rules._table import RULES, Staged
from jask.trace.build import drop_dead
from jask.trace.ir import Atom, Equation, Program, Var

__all__ = ["stage_pass", "stage_seconds", "turn_stages"]

COMPILE = 0.05
"""Seconds of a further pass before its first step."""


def stage_pass(root: Root, places: Mapping[Var, Place], memory: int) -> Pass:
    """Return the pass of one stage that may hold so many bytes."""
    eqn = root.eqn
    assert eqn is not None
    rule = RULES[eqn.name]
    assert isinstance(rule, Staged)
    held = rule.stage_memory(eqn, memory)
    scratch = rule.stage_traffic(eqn, held) - 1
    between = scratch * sum(a.nbytes for a in eqn.inputs if isinstance(a, Var))
    reads = between + sum(v.nbytes for v in root.leaves if places[v] == "disk")
    writes = between + sum(v.nbytes for v in root.outputs if places[v] == "disk")
    seconds = reads / READ + writes / WRITE + rule.stage_work(eqn, held) * ELEMENT
    return Pass((root,), (), memory=held, reads=reads, writes=writes, seconds=seconds)


def stage_seconds(eqn: Equation, memory: int) -> float:
    """Return the modelled seconds of a stage, with what brings its axis to the end."""
    rule = RULES[eqn.name]
    assert isinstance(rule, Staged)
    held = rule.stage_memory(eqn, memory)
    times, turns = rule.stage_traffic(eqn, held), 0
    if rule.stage_axis(eqn) != eqn.outputs[0].ndim - 1:
        times, turns = times + 2, 2
    nbytes = sum(v.nbytes for v in (*eqn.inputs, *eqn.outputs) if isinstance(v, Var))
    moving = nbytes * times / 2 * (1 / READ + 1 / WRITE) + turns * COMPILE
    return moving + rule.stage_work(eqn, held) * ELEMENT


def turn_stages(program: Program, cut: Mapping[Var, RootKind]) -> bool:
    """Put the axis of each stage last, in place; return whether one was not."""
    turned = [e for e in program.equations if _is_to_be_turned(e, cut)]
    for eqn in turned:
        _turn(program, eqn)
    if turned:
        drop_dead(program)
    return bool(turned)


def _is_to_be_turned(eqn: Equation, cut: Mapping[Var, RootKind]) -> bool:
    rule = RULES.get(eqn.name)
    if not isinstance(rule, Staged) or cut.get(eqn.outputs[0]) != "stage":
        return False
    return rule.stage_axis(eqn) != eqn.outputs[0].ndim - 1


def _turn(program: Program, eqn: Equation) -> None:
    """Compute an equation along the last axis of its operands, transposed."""
    axis, ndim = int(eqn.params["dimension"]), eqn.outputs[0].ndim
    there = (*(d for d in range(ndim) if d != axis), axis)
    back = tuple(there.index(d) for d in range(ndim))
    before = [_moved(a, there) for a in eqn.inputs]
    params = {**eqn.params, "dimension": ndim - 1}
    inputs = tuple(e.outputs[0] for e in before)
    made = Equation(eqn.primitive, eqn.name, params, inputs, source=eqn.source)
    shape = inputs[0].shape
    made.outputs = tuple(
        Var(shape, out.dtype, made, n) for n, out in enumerate(eqn.outputs)
    )
    after = []
    for out, var in zip(eqn.outputs, made.outputs, strict=True):
        turned = _transpose(var, back)
        turned.outputs = (out,)  # whoever uses it knows it by this name
        out.producer, out.index = turned, 0
        after.append(turned)
    at = program.equations.index(eqn)
    program.equations[at : at + 1] = [*before, made, *after]


def _moved(atom: Atom, order: tuple[int, ...]) -> Equation:
    """Return what makes an operand with its axes in another order."""
    producer = atom.producer if isinstance(atom, Var) else None
    if producer is None or producer.name != "iota":
        return _transpose(atom, order)
    shape = tuple(atom.shape[d] for d in order)
    along = order.index(producer.params["dimension"])
    params = {**producer.params, "shape": shape, "dimension": along}
    made = Equation(producer.primitive, "iota", params, (), source=producer.source)
    made.outputs = (Var(shape, atom.dtype, made, 0),)
    return made


def _transpose(atom: Atom, order: tuple[int, ...]) -> Equation:
    params = {"permutation": order}
    made = Equation(primitives.transpose_p, "transpose", params, (atom,))
    shape = tuple(atom.shape[d] for d in order)
    made.outputs = (Var(shape, atom.dtype, made, 0),)
    return made
