"""From a lazy graph to one flat program.

1. `structure` names what is computed; `build` works from that name alone.
2. Each operation is flattened once (`flatten`) and its steps are copied in order.
3. A step becomes nothing if its result is known: an operand (`simplify`), a scalar
   (`fold`) or the result of an equal equation. So a forward pass that a derivative
   repeats is computed once.
4. What the outputs do not need is dropped; the rest is numbered.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jask._jax import primitives
from jask.trace.flatten import Ref, Spec, Step, flatten, freeze
from jask.trace.fold import fold, literal_key
from jask.trace.graph import Node, Operation
from jask.trace.ir import Atom, Equation, Literal, Program, Var
from jask.trace.simplify import COMPOSED, SIMPLIFIERS, producer_of
from jask.trace.stacks import is_stack, one_result, stacked_name
from jask.trace.structure import WIDTH, Key, LeafSpec, Structure, structure

__all__ = [
    "Key",
    "LeafSpec",
    "Structure",
    "build",
    "build_function",
    "drop_dead",
    "structure",
]

SMALL = 4096
"""Constants up to this many bytes are merged by value."""


class _Builder:
    """The program so far and what is known of it."""

    def __init__(self) -> None:
        self.program = Program()
        self.equal: dict[Hashable, tuple[Var, ...]] = {}
        self.constants: dict[Hashable, Var] = {}
        self.where = ""

    def leaf(self, spec: LeafSpec) -> Var:
        """Append a leaf."""
        var = Var(spec.shape, spec.dtype, index=len(self.program.leaves))
        self.program.leaves.append(var)
        return var

    def constant(self, array: np.ndarray[Any, Any]) -> Var:
        """Return the variable of a constant array."""
        by_value = array.nbytes <= SMALL and not array.dtype.hasobject
        key = freeze(array) if by_value else id(array)
        var = self.constants.get(key)
        if var is None:
            var = self.constants[key] = Var(array.shape, array.dtype)
            self.program.constants[var] = array
        return var

    def call(self, operation: Operation, operands: Sequence[Atom]) -> list[Atom]:
        """Append the steps of an operation; return its results."""
        template = flatten(operation, tuple((a.shape, a.dtype) for a in operands))
        env: list[Any] = [None] * template.slots
        for i, (atom, spec) in enumerate(zip(operands, template.inputs, strict=True)):
            env[i] = self.cast(atom, spec)
        for slot, array in zip(
            template.constant_slots, template.constants, strict=True
        ):
            env[slot] = self.constant(array)
        for step in template.steps:
            results = self.step(step, [_read(env, ref) for ref in step.inputs])
            env[step.first : step.first + len(results)] = results
        return [_read(env, ref) for ref in template.outputs]

    def cast(self, atom: Atom, spec: Spec) -> Atom:
        """Return an operand in the type in which its operation was traced."""
        if atom.dtype == spec[1]:
            return atom
        operation = Operation(_Cast(spec[1]), "astype", x64=True)
        return self.call(operation, [atom])[0]

    def step(self, step: Step, operands: Sequence[Atom]) -> Sequence[Atom]:
        """Return the results of a step, appending an equation if it is new."""
        if step.name == "split":
            return self.split(step, operands[0])
        if step.name == "svd":
            step = _without_vectors(step)
        if operands and is_stack(step.name, operands[0]):
            return self.decomposition(step, operands)
        simplifier = SIMPLIFIERS.get(step.name)
        known = simplifier(step.params, operands) if simplifier else None
        if known is None:
            known = fold(step, operands)
        if known is not None:
            return (known,)
        params, frozen = step.params, step.frozen
        inner = producer_of(operands[0], step.name) if step.name in COMPOSED else None
        if inner is not None:
            composed = COMPOSED[step.name](params, inner)
            if composed is not None:
                params, operands = composed[0], [composed[1]]
                frozen = freeze(params)
                again = SIMPLIFIERS[step.name](params, operands)
                if again is not None:
                    return (again,)
        return self.equation(step, params, frozen, operands)

    def split(self, step: Step, operand: Atom) -> list[Atom]:
        """Return the parts of a split: a slice each, since each has its own shape."""
        axis, at, parts = step.params["axis"], 0, list[Atom]()
        for (shape, dtype), length in zip(
            step.results, step.params["sizes"], strict=True
        ):
            start = tuple(at if d == axis else 0 for d in range(len(shape)))
            stop = tuple(a + n for a, n in zip(start, shape, strict=True))
            params = {"start_indices": start, "limit_indices": stop, "strides": None}
            part = replace(
                step,
                primitive=primitives.slice_p,
                name="slice",
                params=params,
                frozen=freeze(params),
                results=((shape, dtype),),
            )
            parts += self.step(part, [operand])
            at += int(length)
        return parts

    def decomposition(self, step: Step, operands: Sequence[Atom]) -> list[Atom]:
        """Return the results for a stack of matrices, an equation each."""
        parts = list[Atom]()
        for number, result in enumerate(step.results):
            params = {**step.params, "part": number}
            part = replace(
                step,
                primitive=one_result(step.primitive),
                name=stacked_name(step.name),
                results=(result,),
            )
            frozen = None if step.frozen is None else (step.frozen, number)
            parts += self.equation(part, params, frozen, operands)
        return parts

    def equation(
        self, step: Step, params: Any, frozen: Hashable, operands: Sequence[Atom]
    ) -> Sequence[Atom]:
        """Return the results of an equal equation, or of a new one."""
        key = None
        if frozen is not None:
            key = (step.name, frozen, *map(_atom_key, operands))
            if key in self.equal:
                return self.equal[key]
        number = len(self.program.equations)
        eqn = Equation(
            step.primitive,
            step.name,
            params,
            tuple(operands),
            number=number,
            source=step.source or self.where,
        )
        eqn.outputs = tuple(
            Var(shape, dtype, eqn, i) for i, (shape, dtype) in enumerate(step.results)
        )
        self.program.equations.append(eqn)
        if key is not None:
            self.equal[key] = eqn.outputs
        return eqn.outputs


class _Cast:
    """Conversion to a dtype, as a function compared by value."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype

    def __call__(self, x: Any) -> Any:
        return x.astype(self.dtype)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Cast) and self.dtype == other.dtype


def _read(env: Sequence[Any], ref: Ref) -> Any:
    return env[ref] if isinstance(ref, int) else ref


def _atom_key(atom: Atom) -> Hashable:
    return literal_key(atom) if isinstance(atom, Literal) else id(atom)


def drop_dead(program: Program) -> None:
    """Drop what the outputs do not need, leaves excepted; number the equations."""
    live = {atom for atom in program.outputs if isinstance(atom, Var)}
    kept = []
    for eqn in reversed(program.equations):
        if any(var in live for var in eqn.outputs):
            kept.append(eqn)
            live.update(atom for atom in eqn.inputs if isinstance(atom, Var))
    program.equations = kept[::-1]
    for number, eqn in enumerate(program.equations):
        eqn.number = number
    program.constants = {v: a for v, a in program.constants.items() if v in live}


def build_function(function: Callable[..., Any], specs: Sequence[Spec]) -> Program:
    """Return the program of a function of arrays of these shapes and dtypes.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np
    >>> build_function(lambda x: (jnp.sin(x),), [((3,), np.dtype("f4"))]).equations
    [sin((3,)) -> (3,)]
    """
    builder = _Builder()
    leaves = [builder.leaf(LeafSpec(*spec, "memory")) for spec in specs]
    operation = Operation(function, "function", x64=True)
    builder.program.outputs = builder.call(operation, leaves)
    drop_dead(builder.program)
    return builder.program


def build(
    targets: Sequence[Node],
    structure: Structure,
    made: dict[int, Atom] | None = None,
) -> Program:
    """Return the program of a graph; its leaves are in the order of the structure's.

    `made` is filled with what each call returns, by reference.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np
    >>> from jask.trace.build import structure
    >>> from jask.trace.graph import Call, Dense, Operation, Result
    >>> x = Dense((3,), np.dtype("f4"), np.ones(3, "f4"))
    >>> y = Result((3,), x.dtype, Call(Operation(jnp.sin, "sin", False), (x,)), 0)
    >>> build([y], structure([y])).equations
    [sin((3,)) -> (3,)]
    """
    key = structure.key
    builder = _Builder()
    leaves = [builder.leaf(spec) for spec in key.leaves]
    results: list[list[Atom]] = []

    def value(reference: int) -> Atom:
        if reference < 0:
            return leaves[-1 - reference]
        return results[reference // WIDTH][reference % WIDTH]

    for number, (operation, operands) in enumerate(key.calls):
        builder.where = structure.where[number] if structure.where else ""
        results.append(builder.call(operation, [value(r) for r in operands]))
    if made is not None:
        made.update(
            (c * WIDTH + i, atom)
            for c, atoms in enumerate(results)
            for i, atom in enumerate(atoms)
        )
    program = builder.program
    program.outputs = [value(r) for r in key.targets]
    for node, atom in zip(targets, program.outputs, strict=True):
        if (node.shape, node.dtype) != (atom.shape, atom.dtype):
            msg = (
                f"a node must have the type that its operation returns; got "
                f"{node.dtype}{node.shape} for {atom.dtype}{atom.shape}"
            )
            raise TypeError(msg)
    drop_dead(program)
    return program


def _without_vectors(step: Step) -> Step:
    """Return a singular value decomposition that makes room for vectors if it has any.

    XLA takes memory for a square matrix of them where only the values are asked for.
    """
    if step.params["compute_uv"] or not step.params["full_matrices"]:
        return step
    params = {**step.params, "full_matrices": False}
    return replace(
        step, params=params, frozen=None if step.frozen is None else freeze(params)
    )
