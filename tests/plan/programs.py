"""Small programs and their plans, made without any file."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

import jask.rules  # noqa: F401 (fills the rule table)
from jask.plan.ir import Limits, Plan
from jask.plan.make import make_plan
from jask.rules.pieces import in_pieces
from jask.trace.build import build, structure
from jask.trace.graph import Call, Node, Operation, Result, Source
from jask.trace.ir import Program, Var
from jask.trace.rewrite import rewrite


class OnDisk:
    """A store that is only ever asked for its shape."""

    on_disk = True

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)

    def reshaped(self, shape: tuple[int, ...]) -> "OnDisk":
        """The same file under another shape."""
        return OnDisk(shape, self.dtype.str)

    def check(self) -> None:
        """The file never changes."""


def call(fn: Callable[..., Any], *operands: Node) -> list[Node]:
    """Apply a function to lazy nodes, with 64-bit types on."""
    specs = [jax.ShapeDtypeStruct(n.shape, n.dtype) for n in operands]
    outs = jax.tree.leaves(jax.eval_shape(fn, *specs))
    made = Call(Operation(fn, getattr(fn, "__name__", "fn"), x64=True), operands)
    return [Result(o.shape, np.dtype(o.dtype), made, i) for i, o in enumerate(outs)]


def source(shape: tuple[int, ...], dtype: str = "float32") -> Source:
    """A file of this shape."""
    return Source(shape, np.dtype(dtype), OnDisk(shape, dtype))


def plan_of(
    nodes: Sequence[Node], limits: Limits, *, to: str = "disk"
) -> tuple[Plan, Program]:
    """Plan these nodes; results go to disk unless said otherwise."""
    found = structure(nodes)
    program = in_pieces(rewrite(build(nodes, found)))
    places: dict[Var, Any] = {
        v: "disk" if isinstance(n, Source) else "memory"
        for v, n in zip(program.leaves, found.leaves, strict=True)
    }
    places.update((v, "memory") for v in program.constants)
    wanted = {o: to for o in program.outputs if isinstance(o, Var)}
    return make_plan(program, places, wanted, limits), program  # type: ignore[arg-type]
