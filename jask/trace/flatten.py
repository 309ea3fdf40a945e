"""One operation as a flat list of primitives.

1. The operation is traced on shapes only, under its own 64-bit flag.
2. Nested jaxprs (jit, checkpoint, custom derivatives, calls, JAX's own hijax
   primitives) are inlined; primitives that only return their operands disappear; of
   branches that are chosen by platform or by a constant, the chosen one is inlined;
   of a linear solve, its solver; random keys become the numbers that they are made of
   (`keys`).
3. The result, a `Template`, is cached by operation and operand types; `build` copies
   it into programs.

Other loops and branches stay equations: of those that work row by row `rules.loops`
makes some that stream, and `rules.control` says why others do not.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from jask import _jax
from jask.errors import UnsupportedPrimitiveError
from jask.trace import keys
from jask.trace.counters import COUNTERS
from jask.trace.graph import Operation
from jask.trace.ir import Literal

type Spec = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and dtype."""

type Ref = int | Literal
"""An operand: a slot of the template, or a scalar."""

CALLS: Mapping[str, str] = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "call": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "composite": "jaxpr",
}
"""Primitives that only run a jaxpr on their operands, and the parameter it is in."""

STEADY = "jask_steady_loops"
"""Name of a jitted function in whose loops no element wants to go on again, once it did
not (see `rules.loops`)."""

STEADY_LOOP = "steady_while"
"""Name of a `while` in such a function."""

IDENTITIES = frozenset(
    {
        "copy",
        "stop_gradient",
        "name",
        "optimization_barrier",
        "device_put",
        "sharding_constraint",
        "reshard",
        "pvary",
    }
    | keys.IDENTITIES
)
"""Primitives that return their operands unchanged."""


@dataclass(frozen=True, slots=True)
class Step:
    """One primitive of a template; its results fill consecutive slots."""

    primitive: Any
    name: str
    params: Mapping[str, Any]
    frozen: Hashable
    """The parameters by value; None if they cannot be compared."""
    inputs: tuple[Ref, ...]
    results: tuple[Spec, ...]
    first: int
    """Slot of the first result."""
    source: str


@dataclass(slots=True)
class Template:
    """An operation as steps over numbered slots: operands, constants, results."""

    inputs: list[Spec] = field(default_factory=list)
    constants: list[np.ndarray[Any, Any]] = field(default_factory=list)
    constant_slots: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)
    slots: int = 0


def freeze(value: Any) -> Hashable:
    """Return a parameter by value; TypeError if it cannot be compared.

    Examples
    --------
    >>> freeze({"axes": [0, 1]}) == freeze({"axes": [0, 1]})
    True
    >>> freeze(0.0) == freeze(-0.0)
    False
    """
    if isinstance(value, Mapping):
        items = sorted(value.items(), key=lambda item: str(item[0]))
        return ("dict", tuple((k, freeze(v)) for k, v in items))
    if type(value) in {list, tuple}:
        return (type(value).__name__, tuple(map(freeze, value)))
    if isinstance(value, float):
        return ("float", float(value).hex())
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            raise TypeError("arrays of objects cannot be compared by value")
        return ("array", value.dtype, value.shape, value.tobytes())
    hash(value)
    return (type(value).__name__, value)


def _freeze_or_none(params: Mapping[str, Any]) -> Hashable:
    try:
        return freeze(params)
    except TypeError:
        return None


def _spec(atom: Any, name: str, source: str) -> Spec:
    shape = getattr(atom.aval, "shape", None)
    if shape is None or not all(isinstance(n, int) for n in shape):
        msg = (
            f"operands and results of {name} must be arrays of known shape; "
            f"got {atom.aval} at {source or 'an unknown line'}"
        )
        raise UnsupportedPrimitiveError(msg)
    return tuple(shape), _dtype(atom)


def _dtype(atom: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = atom.aval.dtype
    return dtype


class _Flattener:
    """Collects the steps of nested jaxprs."""

    def __init__(self) -> None:
        self.out = Template()
        self.interned: dict[int, tuple[Any, Ref]] = {}
        self.line: str | None = None
        self.steady = False

    def slot(self) -> int:
        self.out.slots += 1
        return self.out.slots - 1

    def constant(self, value: Any) -> Ref:
        """Return the reference of an array baked into a jaxpr."""
        known = self.interned.get(id(value))
        if known is not None:
            return known[1]
        array = np.asarray(keys.numbers_of(value))
        ref: Ref = Literal(array) if array.ndim == 0 else self.slot()
        if isinstance(ref, int):
            self.out.constants.append(array)
            self.out.constant_slots.append(ref)
        self.interned[id(value)] = (value, ref)
        return ref

    def read(self, env: Mapping[Any, Ref], atom: Any) -> Ref:
        if isinstance(atom, _jax.Literal):
            value = np.asarray(atom.val, _dtype(atom))
            return Literal(value) if value.ndim == 0 else self.constant(value)
        return env[atom]

    def run(self, jaxpr: Any, args: Iterable[Ref]) -> list[Ref]:
        """Append the steps of a jaxpr; return the references of its results."""
        env: dict[Any, Ref] = dict(
            zip(jaxpr.constvars, map(self.constant, jaxpr.consts), strict=True)
        )
        env.update(zip(jaxpr.invars, args, strict=True))
        for eqn in jaxpr.eqns:
            inputs = [self.read(env, atom) for atom in eqn.invars]
            env.update(zip(eqn.outvars, self.equation(eqn, inputs), strict=True))
        return [self.read(env, atom) for atom in jaxpr.outvars]

    def equation(self, eqn: Any, inputs: Sequence[Ref]) -> Sequence[Ref]:
        name = eqn.primitive.name
        if name in IDENTITIES:
            return inputs
        if name == "platform_index":
            return [Literal(np.asarray(_platform(eqn.params["platforms"]), np.int32))]
        if name == "cond" and isinstance(inputs[0], Literal):
            branch = eqn.params["branches"][int(inputs[0].value)]
            return self.run(branch, inputs[1:])
        if name == "custom_linear_solve":
            return self.call(eqn, *_solver(eqn.params, inputs))
        inner = _inner(eqn)
        if inner is None:
            return self.step(eqn, name, inputs)
        return self.call(eqn, inner, inputs)

    def call(self, eqn: Any, inner: Any, inputs: Sequence[Ref]) -> Sequence[Ref]:
        """Append the steps of a call; those of JAX's own functions have its line."""
        if eqn.params.get("name") == STEADY and not self.steady:
            self.steady = True
            try:
                return self.call(eqn, inner, inputs)
            finally:
                self.steady = False
        if self.line is not None or not _jax.is_library(inner):
            return self.run(inner, inputs)
        self.line = _jax.source_line(eqn)
        try:
            return self.run(inner, inputs)
        finally:
            self.line = None

    def step(self, eqn: Any, name: str, inputs: Sequence[Ref]) -> Sequence[Ref]:
        source = _jax.source_line(eqn) if self.line is None else self.line
        if eqn.effects:
            msg = (
                f"a function that runs on disk arrays must have no side effects; "
                f"got {name} at {source or 'an unknown line'}"
            )
            raise UnsupportedPrimitiveError(msg)
        if name == "while" and self.steady:
            name = STEADY_LOOP
        params = dict(eqn.params)
        if "weak_type" in params:
            params["weak_type"] = False
        results = tuple(_spec(v, name, source) for v in eqn.outvars)
        slots = [self.slot() for _ in results]
        first = slots[0] if slots else self.out.slots
        frozen = _freeze_or_none(params)
        self.out.steps.append(
            Step(
                eqn.primitive,
                name,
                params,
                frozen,
                tuple(inputs),
                results,
                first,
                source,
            )
        )
        return slots


def _inner(eqn: Any) -> Any:
    """Return the jaxpr that an equation stands for; None: it is a step."""
    name = eqn.primitive.name
    if eqn.params.get(CALLS.get(name, "")) is not None:
        return eqn.params[CALLS[name]]
    if name == "call_hi_primitive" and not eqn.effects:
        return _jax.expanded(eqn.params["_prim"])
    return keys.without_keys(eqn) if keys.concerns_keys(eqn) else None


def _solver(params: Mapping[str, Any], inputs: Sequence[Ref]) -> tuple[Any, list[Ref]]:
    """Return the jaxpr that solves a linear system, and its operands."""
    lengths = params["const_lengths"]
    start = lengths.matvec + lengths.vecmat
    own = inputs[start : start + lengths.solve]
    return params["jaxprs"].solve, [*own, *inputs[sum(lengths) :]]


def _platform(platforms: Sequence[Sequence[str] | None]) -> int:
    """Return which entry kernels run under; None is for all platforms not named."""
    backend = jax.default_backend()
    name = "cuda" if backend == "gpu" else backend
    return next(i for i, names in enumerate(platforms) if not names or name in names)


def _live(template: Template) -> list[Step]:
    """Return the steps that the outputs depend on."""
    live = {ref for ref in template.outputs if isinstance(ref, int)}
    kept = []
    for step in reversed(template.steps):
        if any(step.first + i in live for i in range(len(step.results))):
            kept.append(step)
            live.update(ref for ref in step.inputs if isinstance(ref, int))
    return kept[::-1]


def _aval(spec: Spec, *, weak: bool) -> jax.ShapeDtypeStruct:
    shape, dtype = spec
    if weak:  # a Python scalar: its own width follows the flag
        dtype = jax.dtypes.canonicalize_dtype(dtype)
    return jax.ShapeDtypeStruct(shape, dtype, weak_type=weak)


@lru_cache(maxsize=4096)
def flatten(operation: Operation, specs: tuple[Spec, ...]) -> Template:
    """Return the operation as a flat list of primitives for operands of these types."""
    weak = operation.weak or (False,) * len(specs)
    COUNTERS.traces += 1
    with jax.enable_x64(operation.x64), jax.numpy_dtype_promotion("standard"):
        avals = [_aval(s, weak=w) for s, w in zip(specs, weak, strict=True)]
        with _jax.tracing():
            jaxpr = jax.make_jaxpr(operation.function)(*avals)
        flattener = _Flattener()
        out = flattener.out
        args = [flattener.slot() for _ in specs]
        out.outputs = flattener.run(jaxpr, args)
    out.inputs = [_spec(v, operation.name, "") for v in jaxpr.invars]
    out.steps = _live(out)
    return out
