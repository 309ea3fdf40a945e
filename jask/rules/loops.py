"""Loops whose rows do not look at each other: any block of them can run alone.

A loop of `jax.lax` carries values of one shape whose elements are all treated alike
(rows), beside values that are the same for all (shared: a counter, a random key, a
table in which is searched). `searchsorted` is such a loop, and so are the samplers of
`jax.random` that reject. `stream_loops` replaces it:

1. The body becomes a flat program of its own. A value of it is a row if it has the
   shape of the result, perhaps with more axes at the end, and if the rules of all that
   use it ask for the same box as is asked of them; otherwise it is shared. What is
   shared must not depend on rows.
2. `row_loop` runs the body on a box of the rows, and on all of what is shared.
3. How often does it run? A `scan` so often as it says; a `while` by a condition on what
   is shared. A condition that holds while any row wants to go on is known only after
   all blocks were looked at: `loop_count` runs each block until none of its rows wants
   to go on, and takes the largest number; then `row_loop` runs all blocks so often.

The last needs that no row wants to go on again once it did not: it is done for loops
that are said to be steady (those of `jax.random`), not for any.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask import _jax
from jask.geometry.box import Box
from jask.rules._table import (
    RULES,
    Kind,
    Link,
    Need,
    Reduction,
    Rule,
    register,
)
from jask.trace.build import build_function, drop_dead
from jask.trace.flatten import STEADY_LOOP
from jask.trace.ir import Atom, Equation, Literal, Program, Var

# ruff: noqa: ARG002 - the methods of a rule have one signature

__all__ = ["stream_loops"]

type Shape = tuple[int, ...]


@dataclass(eq=False, slots=True)
class _Loop:
    """A loop over rows of one shape."""

    shape: Shape
    """That of the rows."""

    body: Program
    """From constants and carried values to carried values."""

    condition: Program | None
    """From constants and carried values to whether it goes on; None: it counts."""

    constants: int
    """Constants of the body; they come behind those of the condition."""

    tests: int
    """Constants of the condition."""

    length: int
    """How often it runs, if it counts."""

    shared: set[Var] = field(default_factory=set)
    """Values of the shape of rows that are none."""

    asks_rows: bool = False
    """Whether the condition looks at rows."""

    def is_row(self, atom: Atom) -> bool:
        """Return whether an atom has an element, or several, for each row."""
        alike = atom.shape[: len(self.shape)] == self.shape
        return isinstance(atom, Var) and alike and atom not in self.shared

    def box(self, atom: Atom, rows: Box) -> Box:
        """Return what a box of the rows is of an atom."""
        if not self.is_row(atom):
            return Box.whole(atom.shape)
        rest = [(0, n) for n in atom.shape[len(self.shape) :]]
        return Box.of([*rows.intervals, *rest])

    @property
    def programs(self) -> list[Program]:
        """Body and condition."""
        return [p for p in (self.body, self.condition) if p is not None]

    @property
    def equations(self) -> list[Equation]:
        """Those of body and condition."""
        return [e for p in self.programs for e in p.equations]

    def leaves(self, position: int) -> list[Var]:
        """Return what an operand of the loop is in body and condition."""
        own = position - self.tests
        found = [self.body.leaves[own]] if own >= 0 else []
        if self.condition is not None:
            tested = position if own < 0 else own - self.constants + self.tests
            if own < 0 or own >= self.constants:
                found.append(self.condition.leaves[tested])
        return found

    def carried(self, position: int) -> list[Atom]:
        """Return what becomes of an operand that is carried."""
        number = position - self.tests - self.constants
        return [self.body.outputs[number]] if number >= 0 else []


# ---- which values are rows


def _settle(loop: _Loop, operands: int) -> bool:
    """Find what is shared; return whether each block can run alone."""
    groups = [[*loop.leaves(k), *loop.carried(k)] for k in range(operands)]
    while True:
        before = len(loop.shared)
        for group in groups:
            if not all(map(loop.is_row, group)):
                loop.shared.update(a for a in group if isinstance(a, Var))
        for eqn in loop.equations:
            demoted = _not_rows(loop, eqn)
            if demoted is None:
                return False
            loop.shared.update(demoted)
        if len(loop.shared) == before:
            return True


def _not_rows(loop: _Loop, eqn: Equation) -> list[Var] | None:
    """Return the operands that an equation takes otherwise than row by row.

    None: it cannot be cut into blocks.
    """
    if _asks_any(loop, eqn):
        loop.asks_rows = True
        return []
    inputs = [a for a in eqn.inputs if isinstance(a, Var) and loop.is_row(a)]
    if not all(map(loop.is_row, eqn.outputs)):
        loop.shared.update(eqn.outputs)
        return inputs
    if any(0 in a.shape for a in (*eqn.inputs, *eqn.outputs)):
        return None
    rule = RULES.get(eqn.name)
    if rule is None or rule.kind not in {"map", "indexed"}:
        loop.shared.update(eqn.outputs)
        return inputs
    found = set[Var]()
    for rows in _samples(loop.shape):
        need = rule.need(eqn, loop.box(eqn.outputs[0], rows))
        for atom, box in zip(eqn.inputs, need.boxes, strict=True):
            if atom in inputs and box not in (None, loop.box(atom, rows)):
                assert isinstance(atom, Var)
                found.add(atom)
    return list(found)


def _asks_any(loop: _Loop, eqn: Equation) -> bool:
    """Return whether an equation of the condition asks whether any row goes on."""
    if loop.condition is None or eqn.name != "reduce_or":
        return False
    (operand,) = eqn.inputs
    every = tuple(eqn.params["axes"]) == tuple(range(operand.ndim))
    one = loop.is_row(operand) and operand.shape == loop.shape
    return every and one and eqn in loop.condition.equations


def _only_narrows(loop: _Loop) -> bool:
    """Return whether a condition is `any(rows) and ...`."""
    assert loop.condition is not None
    asking = {
        o for e in loop.condition.equations if _asks_any(loop, e) for o in e.outputs
    }
    for eqn in loop.condition.equations:
        if asking & set(eqn.inputs):
            if eqn.name not in {"and", "convert_element_type"}:
                return False
            asking.update(eqn.outputs)
    return True


def _samples(shape: Shape) -> Iterable[Box]:
    """Yield boxes that tell a rule that goes row by row from others."""
    yield Box.whole(shape)
    yield Box.of((0, (n + 1) // 2) for n in shape)
    yield Box.of((n - 1, n) for n in shape)
    yield Box.of((n // 3, max(n // 3 + 1, n - 1)) for n in shape)


# ---- what a box of the rows is made from


def _inner_needs(loop: _Loop, rows: Box) -> list[Need | None]:
    """Return what each equation needs for a box of the rows; None: it is shared."""
    return [
        RULES[e.name].need(e, loop.box(e.outputs[0], rows))
        if loop.is_row(e.outputs[0])
        else None
        for e in loop.equations
    ]


def _need(loop: _Loop, eqn: Equation, rows: Box) -> Need:
    """Return the need of a loop: the integers of all its equations, one by one."""
    inner = _inner_needs(loop, rows)
    numbers: list[int] = []
    for step, need in zip(loop.equations, inner, strict=True):
        if need is not None:
            numbers += need.offsets
            for atom, box in zip(step.inputs, need.boxes, strict=True):
                if _is_cut(loop, atom, box):
                    assert box is not None
                    numbers += box.start
    key = tuple(
        n and (n.key, len(n.offsets), tuple(b and b.shape for b in n.boxes))
        for n in inner
    )
    boxes = tuple(
        _operand_box(loop, k, atom, rows) for k, atom in enumerate(eqn.inputs)
    )
    return Need(boxes, key, tuple(numbers))


def _is_cut(loop: _Loop, atom: Atom, box: Box | None) -> bool:
    """Return whether a part of what is shared is taken."""
    return box is not None and not loop.is_row(atom) and box.shape != atom.shape


def _operand_box(loop: _Loop, position: int, atom: Atom, rows: Box) -> Box | None:
    if 0 in atom.shape:
        return None
    inside = loop.leaves(position) if position < _width(loop) else []
    return rows if inside and all(map(loop.is_row, inside)) else Box.whole(atom.shape)


def _width(loop: _Loop) -> int:
    return loop.tests + len(loop.body.leaves)


# ---- running a block


class _Runner:
    """The body and the condition of a loop on one block of its rows."""

    def __init__(
        self, loop: _Loop, shape: Shape, key: Any, numbers: Sequence[Any]
    ) -> None:
        self.loop, self.rows = loop, Box.whole(shape)
        self.facts: dict[Equation, tuple[Any, int, Any, int]] = {}
        self.numbers = numbers
        at = 0
        for eqn, fact in zip(loop.equations, key, strict=True):
            if fact is not None:
                self.facts[eqn] = (*fact, at)
                at += fact[1]
                for atom, part in zip(eqn.inputs, fact[2], strict=True):
                    cut = part is not None and not loop.is_row(atom)
                    at += len(part) if cut and part != atom.shape else 0

    def call(self, program: Program, values: Sequence[Any]) -> list[Any]:
        """Return the outputs of body or condition."""
        env: dict[Any, Any] = dict(zip(program.leaves, values, strict=True))
        env.update(program.constants)

        def read(atom: Atom) -> Any:
            return jnp.asarray(atom.value) if isinstance(atom, Literal) else env[atom]

        for eqn in program.equations:
            made = self.equation(eqn, [read(a) for a in eqn.inputs])
            results = made if isinstance(made, list | tuple) else [made]
            env.update(zip(eqn.outputs, results, strict=True))
        return [
            read(a).astype(a.dtype) if isinstance(a, Literal) else read(a)
            for a in program.outputs
        ]

    def equation(self, eqn: Equation, values: list[Any]) -> Any:
        """Return the results of an equation on the block, or whole if it is shared."""
        if _asks_any(self.loop, eqn):
            return jnp.any(values[0])
        if eqn in self.facts:
            return self._on_rows(eqn, values)
        if eqn.primitive is not None:
            return eqn.primitive.bind(*values, **eqn.params)
        whole = RULES[eqn.name].need(eqn, Box.whole(eqn.outputs[0].shape))
        shape = eqn.outputs[0].shape
        numbers = [jnp.asarray(k, np.int64) for k in whole.offsets]
        return RULES[eqn.name].emit(eqn, shape, whole, numbers, values)

    def _on_rows(self, eqn: Equation, values: list[Any]) -> Any:
        key, count, parts, at = self.facts[eqn]
        own, at = self.numbers[at : at + count], at + count
        for k, (atom, part) in enumerate(zip(eqn.inputs, parts, strict=True)):
            if part is None:
                values[k] = None
            elif not self.loop.is_row(atom) and part != atom.shape:
                starts, at = self.numbers[at : at + len(part)], at + len(part)
                values[k] = lax.dynamic_slice(values[k], starts, part)
        boxes = tuple(None if p is None else Box.whole(p) for p in parts)
        need = Need(boxes, key, (0,) * count)
        shape = self.loop.box(eqn.outputs[0], self.rows).shape
        return RULES[eqn.name].emit(eqn, shape, need, own, values)

    def body(self, values: Sequence[Any], carried: Sequence[Any]) -> list[Any]:
        """Return the carried values after one more turn."""
        loop = self.loop
        fixed = values[loop.tests : loop.tests + loop.constants]
        return self.call(loop.body, [*fixed, *carried])

    def goes_on(self, values: Sequence[Any], carried: Sequence[Any]) -> Any:
        """Return whether the condition holds."""
        assert self.loop.condition is not None
        tests = values[: self.loop.tests]
        return self.call(self.loop.condition, [*tests, *carried])[0]


def _start(loop: _Loop, blocks: Sequence[Any]) -> list[Any]:
    """Return the carried values before the first turn."""
    return list(blocks[loop.tests + loop.constants : _width(loop)])


class RowLoop(Rule):
    """A loop on a box of its rows."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the box of the rows, and for all of what is shared."""
        return _need(eqn.params["loop"], eqn, out)

    def emit(
        self,
        eqn: Equation,
        shape: Shape,
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Run the loop."""
        loop: _Loop = eqn.params["loop"]
        run = _Runner(loop, shape, need.key, offsets)
        first = _start(loop, blocks)

        def turn(carried: Sequence[Any]) -> list[Any]:
            return run.body(blocks, carried)

        if loop.asks_rows:
            done = lax.fori_loop(0, blocks[-1], lambda _, c: turn(c), first)
        elif loop.condition is not None:
            done = lax.while_loop(lambda c: run.goes_on(blocks, c), turn, first)
        else:
            done = lax.fori_loop(0, loop.length, lambda _, c: turn(c), first)
        return [done[k] for k in eqn.params["wanted"]]

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes of the rows."""
        return _row_links(eqn)


def _row_links(eqn: Equation) -> list[Link]:
    loop: _Loop = eqn.params["loop"]
    whole = Box.whole(loop.shape)
    rows = Box.of((0, 0) for _ in loop.shape)
    return [
        Link(k, d, d)
        for k, atom in enumerate(eqn.inputs)
        if atom.shape == loop.shape and _operand_box(loop, k, atom, rows) != whole
        for d in range(len(loop.shape))
    ]


class LoopCount(Reduction):
    """How often a loop runs until no row wants to go on."""

    kind: ClassVar[Kind] = "reduce"
    copies: ClassVar[int] = 4
    idempotent: ClassVar[bool] = True

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for everything."""
        return _need(eqn.params["loop"], eqn, Box.whole(eqn.params["loop"].shape))

    def emit(
        self,
        eqn: Equation,
        shape: Shape,
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Count the turns of all rows."""
        rows = eqn.params["loop"].shape
        return self.contribution(eqn, rows, need.key, offsets, blocks)[0]

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link nothing: all rows are joined."""
        return []

    def domain(self, eqn: Equation) -> Shape:
        """Return the shape of the rows."""
        shape: Shape = eqn.params["loop"].shape
        return shape

    def kept(self, eqn: Equation) -> Shape:
        """Return nothing: there is one number."""
        return ()

    def sources(self, eqn: Equation) -> tuple[tuple[int, int], ...]:
        """Return an operand that has the axes of the rows."""
        first = _row_links(eqn)[0].operand
        return tuple((first, d) for d in range(len(self.domain(eqn))))

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Ask for a box of the rows, and for all of what is shared."""
        return _need(eqn.params["loop"], eqn, part)

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the type of the number."""
        return (np.dtype(np.int64),)

    def init(self, eqn: Equation, shape: Shape) -> Sequence[Any]:
        """Return no turn."""
        return (jnp.zeros(shape, np.int64),)

    def contribution(
        self,
        eqn: Equation,
        shape: Shape,
        key: Any,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Sequence[Any]:
        """Count the turns of a block."""
        loop: _Loop = eqn.params["loop"]
        run = _Runner(loop, shape, key, offsets)

        def turn(state: Any) -> Any:
            return state[0] + 1, run.body(blocks, state[1])

        first = (jnp.zeros((), np.int64), _start(loop, blocks))
        done = lax.while_loop(lambda s: run.goes_on(blocks, s[1]), turn, first)
        return (done[0],)

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Keep the larger number."""
        return (jnp.maximum(first[0], second[0]),)

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Return the number."""
        return tuple(accumulators)


# ---- rewriting a program


def stream_loops(program: Program) -> Program:
    """Replace loops whose rows do not look at each other, in place."""
    for eqn in list(program.equations):
        if eqn.name in {"scan", "while", STEADY_LOOP}:
            _replace(program, eqn)
    return program


def _replace(program: Program, eqn: Equation) -> None:
    """Replace a loop if that can be done."""
    used = {a for e in program.equations for a in e.inputs} | {*program.outputs}
    wanted = [n for n, o in enumerate(eqn.outputs) if o in used]
    shapes = {eqn.outputs[n].shape for n in wanted}
    if len(shapes) != 1 or not all(shapes) or 0 in next(iter(shapes)):
        return
    loop = _loop_of(eqn, shapes.pop())
    if loop is None or not _settle(loop, len(eqn.inputs)):
        return
    if not all(loop.is_row(a) for n in wanted for a in _results(loop, n)):
        return
    inputs, at = eqn.inputs, program.equations.index(eqn)
    made: list[Equation] = []
    if loop.asks_rows:
        if eqn.name != STEADY_LOOP or not _only_narrows(loop):
            return
        made.append(_equation("loop_count", {"loop": loop}, inputs, eqn.source))
        made[0].outputs = (Var((), np.dtype(np.int64), made[0], 0),)
        inputs = (*inputs, made[0].outputs[0])
    params = {"loop": loop, "wanted": tuple(wanted)}
    run = _equation("row_loop", params, inputs, eqn.source)
    run.outputs = tuple(eqn.outputs[n] for n in wanted)
    for index, out in enumerate(run.outputs):
        out.producer, out.index = run, index
    program.equations[at : at + 1] = [*made, run]
    drop_dead(program)


def _results(loop: _Loop, number: int) -> list[Atom]:
    """Return what a carried value is, before and after."""
    return [loop.body.leaves[loop.constants + number], loop.body.outputs[number]]


def _equation(
    name: str, params: Any, inputs: tuple[Atom, ...], source: str
) -> Equation:
    return Equation(None, name, params, inputs, source=source)


def _loop_of(eqn: Equation, shape: Shape) -> _Loop | None:
    """Return a loop over rows of a shape; None if it walks or stacks something."""
    params, specs = eqn.params, [(a.shape, a.dtype) for a in eqn.inputs]
    if eqn.name == "scan":
        if _walks(eqn):
            return None
        body = _program(params["jaxpr"], specs)
        constants, length = len(eqn.inputs) - len(eqn.outputs), int(params["length"])
        return _Loop(shape, body, None, constants, 0, length)
    tests, constants = int(params["cond_nconsts"]), int(params["body_nconsts"])
    carried = specs[tests + constants :]
    body = _program(params["body_jaxpr"], [*specs[tests : tests + constants], *carried])
    condition = _program(params["cond_jaxpr"], [*specs[:tests], *carried])
    return _Loop(shape, body, condition, constants, tests, 0)


def _walks(eqn: Equation) -> bool:
    """Return whether a scan takes or makes something with an axis for its turns."""
    jaxpr = eqn.params["jaxpr"]
    takes = [a.shape for a in jaxpr.in_avals] != [a.shape for a in eqn.inputs]
    return takes or [a.shape for a in jaxpr.out_avals] != [o.shape for o in eqn.outputs]


def _program(jaxpr: Any, specs: Sequence[Any]) -> Program:
    """Return a jaxpr as a flat program; loops in it are replaced as well."""
    return stream_loops(build_function(_jax.as_function(jaxpr), specs))


register(["row_loop"], RowLoop())
register(["loop_count"], LoopCount())
