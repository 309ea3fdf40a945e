"""Lazy graphs made by hand, and programs run in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jask.trace.build import build, structure
from jask.trace.check import check
from jask.trace.graph import Call, Dense, Node, Operation, Result, Source
from jask.trace.ir import Equation, Literal, Program


@dataclass(frozen=True)
class Fixed:
    """A function with static arguments, compared by value."""

    function: Callable[..., Any]
    static: tuple[tuple[str, Any], ...]

    def __call__(self, *operands):
        return self.function(*operands, **dict(self.static))


@dataclass(frozen=True)
class Gradient:
    """The gradient of a function, compared by value."""

    function: Callable[..., Any]
    argnums: tuple[int, ...] = (0,)

    def __call__(self, *operands):
        return jax.grad(self.function, self.argnums)(*operands)


@dataclass(frozen=True, eq=False)
class FakeFile:
    """What the graph asks of a store."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    path: Path
    on_disk: bool = True

    def reshaped(self, shape: tuple[int, ...]) -> "FakeFile":
        """Return the same file under another shape."""
        return replace(self, shape=shape)

    def check(self) -> None:
        """Accept the file as it is."""


def source(shape, dtype="float32", path="x.npy", *, on_disk=True) -> Source:
    store = FakeFile(shape, np.dtype(dtype), Path(path), on_disk)
    return Source(store.shape, store.dtype, store)


def dense(value) -> Dense:
    array = np.asarray(value)
    return Dense(array.shape, array.dtype, array)


def _aval(node: Node, weak: bool) -> jax.ShapeDtypeStruct:
    dtype = jax.dtypes.canonicalize_dtype(node.dtype) if weak else node.dtype
    return jax.ShapeDtypeStruct(node.shape, dtype, weak_type=weak)


def call(function, *operands: Node, x64=True, weak=()) -> list[Result]:
    """Apply a function to nodes."""
    operation = Operation(function, "f", x64, weak)
    weak = weak or (False,) * len(operands)
    with jax.enable_x64(x64):
        avals = [_aval(n, w) for n, w in zip(operands, weak, strict=True)]
        out = jax.tree.leaves(jax.eval_shape(function, *avals))
    made = Call(operation, operands)
    return [Result(o.shape, o.dtype, made, i) for i, o in enumerate(out)]


def one(function, *operands: Node, x64=True, weak=()) -> Result:
    (result,) = call(function, *operands, x64=x64, weak=weak)
    return result


def program_of(*targets: Node) -> Program:
    """Build and check a program."""
    program = build(targets, structure(targets))
    check(program)
    return program


def program_for(function, *operands, x64=True) -> Program:
    """Build and check the program of one function of arrays."""
    return program_of(*call(function, *map(dense, operands), x64=x64))


def names(program: Program) -> list[str]:
    return [eqn.name for eqn in program.equations]


def _moments(eqn: Equation, x):
    axes = eqn.params["axes"]
    total = jnp.sum(x, axes)
    centred = x - jnp.mean(x, axes, keepdims=True)
    return total, jnp.sum(centred * centred, axes)


def _logsumexp_parts(eqn: Equation, x):
    axes = eqn.params["axes"]
    maximum = jnp.max(x, axes, keepdims=True)
    shift = maximum
    if eqn.params["guarded"]:
        shift = jnp.where(jnp.isfinite(maximum), maximum, jnp.zeros_like(maximum))
    return jnp.squeeze(maximum, axes), jnp.sum(jnp.exp(x - shift), axes)


_FOLDS = {"moments": _moments, "logsumexp_parts": _logsumexp_parts}


def _apply(eqn: Equation, operands: Sequence[Any]):
    if eqn.primitive is None:
        return _FOLDS[eqn.name](eqn, *operands)
    out = eqn.primitive.bind(*operands, **eqn.params)
    return out if eqn.primitive.multiple_results else (out,)


def interpret(program: Program, *leaves) -> list[np.ndarray[Any, Any]]:
    """Evaluate a program on whole arrays, one primitive at a time."""
    env: dict[Any, Any] = dict(
        zip(program.leaves, map(jnp.asarray, leaves), strict=True)
    )
    env.update((var, jnp.asarray(a)) for var, a in program.constants.items())

    def read(atom):
        return jnp.asarray(atom.value) if isinstance(atom, Literal) else env[atom]

    with jax.enable_x64(True):
        for eqn in program.equations:
            results = _apply(eqn, [read(atom) for atom in eqn.inputs])
            env.update(zip(eqn.outputs, results, strict=True))
        return [np.asarray(read(atom)) for atom in program.outputs]
