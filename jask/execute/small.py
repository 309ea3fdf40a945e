"""Small programs: values in memory, one or a few kernels, no plan.

How are arrays of a few elements evaluated at the price of a call?

1. What NumPy does bit by bit (`host`: moving elements, counting) is done by NumPy.
2. Elementwise equations of one shape are an island: one kernel, compiled as the plan
   would compile it, over flat operands that are filled up to one of a few lengths. So
   one kernel serves every shape, and every program in which the island occurs.
3. Everything else needs a plan: reductions of floats, products, sorts. If the targets
   only move its results, these are evaluated first (`Frontier`) and kept.

Values that were computed on the way are kept by their nodes (`Result.value`), so that
reading the elements of a result one by one computes it once.
"""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jask.execute.host import is_exact, run_exactly
from jask.execute.kernel import compile_small, emitted
from jask.rules._table import RULES, Need
from jask.rules.elementwise import Elementwise, Same
from jask.stores.base import read_block
from jask.stores.memory import MemoryStore
from jask.trace.flatten import freeze
from jask.trace.fold import literal_key
from jask.trace.graph import Dense, Node, Result, Source
from jask.trace.ir import Atom, Equation, Literal, Program, Var
from jask.trace.structure import Key

__all__ = [
    "KEEP_BYTES",
    "MOST_ELEMENTS",
    "Frontier",
    "Small",
    "is_candidate",
    "make_small",
]

type Array = np.ndarray[Any, Any]

LENGTHS = (1, 64, 512, 4096)
"""Lengths of an island's operands."""

MOST_ELEMENTS = LENGTHS[-1]
"""Elements of a small array, at most."""

KEEP_BYTES = 1 << 15
"""Bytes up to which a computed value is kept by its node."""

MOST_EQUATIONS = 64
"""Equations of a small program; a longer one is planned: it has fewer kernels then."""

MOST_ISLANDS = 3
"""Islands of a small program."""

_NOTHING = nullcontext()

_NO_NEED = Need(())
"""What the rule of an elementwise primitive looks at besides its blocks: nothing."""


def is_candidate(key: Key) -> bool:
    """Return whether a graph may be a small program, from what its key says."""
    return len(key.calls) <= MOST_EQUATIONS and all(
        leaf.place == "memory" and prod(leaf.shape) <= MOST_ELEMENTS
        for leaf in key.leaves
    )


# ---- the program


class Small:
    """A program that runs without a plan."""

    def __init__(
        self,
        program: Program,
        steps: Sequence["Equation | Island"],
        results: Mapping[int, Atom],
    ) -> None:
        self.program, self.steps = program, steps
        self.kept = {r: a for r, a in results.items() if isinstance(a, Var)}
        """What calls return, by reference, as far as it is computed."""
        self.nbytes = sum(v.nbytes for v in _variables(program))
        """Bytes of all values."""

    def run(self, leaves: Sequence[Node]) -> dict[Var, Array]:
        """Return every value that is computed on the way to the outputs."""
        values = dict(self.program.constants)
        values.update(zip(self.program.leaves, map(_value, leaves), strict=True))
        for step in self.steps:
            if isinstance(step, Island):
                step.run(values)
                continue
            operands = [_read(values, a) for a in step.inputs]
            with np.errstate(all="ignore"):
                found = run_exactly(step, operands)
            values.update(zip(step.outputs, found, strict=True))
        return values

    def outputs(self, values: Mapping[Var, Array]) -> list[Array]:
        """Return copies of the outputs, which the caller may change."""
        return [np.array(_read(values, a), order="C") for a in self.program.outputs]

    def keep(
        self, results: Sequence[tuple[Result, int]], values: Mapping[Var, Array]
    ) -> None:
        """Let nodes keep what was computed for them."""
        for node, reference in results:
            atom = self.kept.get(reference)
            if atom is not None and atom in values and node.nbytes <= KEEP_BYTES:
                node.keep(values[atom])


@dataclass(frozen=True, slots=True)
class Frontier:
    """What has to be evaluated, with a plan, before the program is a small one."""

    references: tuple[int, ...]
    """The results of calls that the targets only move."""


def make_small(
    program: Program, results: Mapping[int, Atom], memory: int
) -> Small | Frontier | None:
    """Return how to run a program without a plan; None if it must be planned.

    Parameters
    ----------
    results
        What each call of the graph returns, by reference.
    memory
        Bytes that all values together may take.
    """
    values = _variables(program)
    if (
        len(program.equations) > MOST_EQUATIONS
        or any(v.size > MOST_ELEMENTS for v in values)
        or sum(v.nbytes for v in values) > memory
    ):
        return None
    stages = _staged(program)
    if stages is None:
        return _frontier(program, results)
    steps: list[Equation | Island] = []
    for exact, islands in stages:
        steps += exact
        steps += [Island(eqns, program) for eqns in islands]
    return Small(program, steps, results)


def _variables(program: Program) -> list[Var]:
    return [
        *program.leaves,
        *program.constants,
        *(v for e in program.equations for v in e.outputs),
    ]


def _is_frozen(eqn: Equation) -> bool:
    """Return whether the parameters can be compared."""
    try:
        freeze(eqn.params)
    except TypeError:
        return False
    return True


type Stage = tuple[list[Equation], list[list[Equation]]]
"""Exact equations, in order, and islands that read their results."""


def _staged(program: Program) -> list[Stage] | None:
    """Return the equations by stages; None if one of them takes a plan."""
    known: dict[Var, int] = defaultdict(int)  # the stage that can read it
    inside: dict[Var, tuple[int, tuple[int, ...]]] = {}
    exact: dict[int, list[Equation]] = defaultdict(list)
    islands: dict[tuple[int, tuple[int, ...]], list[Equation]] = defaultdict(list)
    for eqn in program.equations:
        inputs = [a for a in eqn.inputs if isinstance(a, Var)]
        if is_exact(eqn) or isinstance(RULES.get(eqn.name), Same):
            stage = max((known[v] for v in inputs), default=0)
            exact[stage].append(eqn)
            known.update((v, stage) for v in eqn.outputs)
            continue
        elementwise = type(RULES.get(eqn.name)) is Elementwise
        if not (elementwise and inputs and _is_frozen(eqn)):
            return None
        shape = eqn.outputs[0].shape
        stage = max(
            inside[v][0] if v in inside and v.shape == shape else known[v]
            for v in inputs
        )
        islands[stage, shape].append(eqn)
        inside.update((v, (stage, shape)) for v in eqn.outputs)
        known.update((v, stage + 1) for v in eqn.outputs)
    if len(islands) > MOST_ISLANDS:
        return None
    last = max([*exact, *(s for s, _ in islands)], default=-1)
    return [
        (exact[s], [e for (t, _), e in islands.items() if t == s])
        for s in range(last + 1)
    ]


def _frontier(program: Program, results: Mapping[int, Atom]) -> Frontier | None:
    """Return the results of calls from which NumPy makes the outputs."""
    references = {a: r for r, a in results.items() if isinstance(a, Var)}
    found: dict[int, None] = {}
    moved = False
    waiting = [a for a in program.outputs if isinstance(a, Var)]
    seen: set[Var] = set()
    while waiting:
        var = waiting.pop()
        if var in seen or var.producer is None:
            continue
        seen.add(var)
        if is_exact(var.producer):
            moved = True
            waiting += [a for a in var.producer.inputs if isinstance(a, Var)]
        elif var in references and var.nbytes <= KEEP_BYTES:
            found[references[var]] = None
        else:
            return None
    return Frontier(tuple(found)) if moved and found else None


def _read(values: Mapping[Var, Array], atom: Atom) -> Array:
    return atom.value if isinstance(atom, Literal) else values[atom]


# ---- islands


class Island:
    """Elementwise equations of one shape."""

    def __init__(self, equations: Sequence[Equation], program: Program) -> None:
        made = {v: i for i, v in enumerate(v for e in equations for v in e.outputs)}
        inputs: dict[Var, int] = {}
        for atom in (a for e in equations for a in e.inputs):
            if isinstance(atom, Var) and atom not in made:
                inputs.setdefault(atom, len(inputs))
        inner = set(map(id, equations))
        used = {a for e in program.equations if id(e) not in inner for a in e.inputs}
        used.update(program.outputs)
        self.shape = equations[0].outputs[0].shape
        self.inputs = tuple(inputs)
        self.outputs = tuple(v for v in made if v in used)
        self.size = prod(self.shape)
        self.length = next(n for n in LENGTHS if n >= self.size)
        self.wide = any(v.dtype.itemsize > 4 for v in (*self.inputs, *self.outputs))
        self.kernel = self._kernel(equations, made, inputs)

    def _kernel(
        self,
        equations: Sequence[Equation],
        made: Mapping[Var, int],
        inputs: Mapping[Var, int],
    ) -> Callable[..., Any] | None:
        """Return the kernel that computes the outputs; None where there is nothing."""
        if not self.size:
            return None

        def place(atom: Atom) -> Hashable:
            if isinstance(atom, Literal):
                return literal_key(atom)
            return made[atom] if atom in made else -1 - inputs[atom]

        length = self.length
        steps = tuple(
            (e.name, freeze(e.params), tuple(map(place, e.inputs))) for e in equations
        )
        specs = tuple(jax.ShapeDtypeStruct((length,), v.dtype) for v in self.inputs)
        wanted = tuple(made[v] for v in self.outputs)
        key = (steps, tuple(v.dtype for v in self.inputs), length, wanted)
        function = _function(equations, self.inputs, self.outputs)
        return _kernels.get(key, lambda: compile_small(function, specs))

    def run(self, values: dict[Var, Array]) -> None:
        """Compute the outputs from the inputs."""
        if self.kernel is None:
            values.update((v, np.empty(self.shape, v.dtype)) for v in self.outputs)
            return
        operands = [self._flat(values[v]) for v in self.inputs]
        with jax.enable_x64(True) if self.wide else _NOTHING:  # noqa: FBT003 (JAX's own signature)
            found = self.kernel(*operands)
        for var, array in zip(self.outputs, found, strict=True):
            values[var] = np.asarray(array)[: self.size].reshape(self.shape)

    def _flat(self, value: Array) -> Array:
        """Return the elements in a row, the first repeated at the end."""
        if value.shape != self.shape:
            value = np.broadcast_to(value, self.shape)
        row = value.reshape(-1)
        if self.size == self.length:
            return row
        filled = np.empty(self.length, value.dtype)
        filled[: self.size] = row
        filled[self.size :] = row[0]
        return filled


def _function(
    equations: Sequence[Equation], inputs: Sequence[Var], outputs: Sequence[Var]
) -> Callable[..., list[Any]]:
    """Return the function of flat operands that applies the equations."""

    def island(*operands: Any) -> list[Any]:
        env: dict[Var, Any] = dict(zip(inputs, operands, strict=True))
        for number, eqn in enumerate(equations):
            given = _flat_operands(eqn, env)
            made = emitted(eqn, (), _NO_NEED, (), given, position=number)
            env.update(zip(eqn.outputs, made, strict=True))
        return [env[v] for v in outputs]

    return island


def _flat_operands(eqn: Equation, env: Mapping[Var, Any]) -> list[Any]:
    flat = (1,) if eqn.outputs[0].shape == () else ()  # a row of one, as its neighbours
    return [
        jnp.asarray(a.value).reshape(flat) if isinstance(a, Literal) else env[a]
        for a in eqn.inputs
    ]


class _Kernels:
    """Compiled islands; the one used longest ago goes first."""

    MOST = 4096

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, Callable[..., Any]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Callable[..., Any]:
        """Return the kernel of a key, made at its first use."""
        with self._lock:
            if key not in self._found:
                self._found[key] = make()
                while len(self._found) > self.MOST:
                    self._found.popitem(last=False)
            self._found.move_to_end(key)
            return self._found[key]


_kernels = _Kernels()


# ---- values in memory


def _value(node: Node) -> Array:
    """Return the elements of a leaf in memory."""
    if isinstance(node, Dense):
        return np.asarray(node.value, node.dtype)
    assert isinstance(node, Source)
    if isinstance(node.store, MemoryStore):
        return node.store.array
    store: Any = node.store
    return read_block(store)
