"""A function written for disk arrays, as a function of arrays in memory.

1. It is traced once, on shapes, with arrays in memory for its arguments.
2. Operations on disk arrays become the functions that they are made of, and what goes
   between disk and memory becomes nothing.
3. What it closes over becomes operands.

So `jask.map` and `jask.scan` may walk rows in memory, block by block, with a function
that says `jask.numpy` or `jax.numpy`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from jask._jax import Literal, as_function, run_equation
from jask.hijax.apply import Op
from jask.hijax.materialize import Dematerialize, Materialize

__all__ = ["Pure", "pure"]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Pure:
    """A flat function of in-memory arrays: of what it closed over, then its arguments.

    Two are equal if they were made of one piece of code and do the same.
    """

    origin: Any
    """The code it was made of, or the function where that says more."""

    text: str
    """What it does, as JAX prints it."""

    closed: Any = field(compare=False)
    """The traced function."""

    @property
    def loops(self) -> bool:
        """Whether it holds loops or branches, which do not stream."""
        names = {eqn.primitive.name for eqn in self.closed.eqns}
        return not names.isdisjoint({"scan", "while", "cond"})

    def __call__(self, *leaves: Any) -> list[Any]:
        """Run it."""
        env = dict(zip(self.closed.constvars, leaves, strict=False))
        rest = leaves[len(self.closed.constvars) :]
        env.update(zip(self.closed.invars, rest, strict=True))
        for eqn in self.closed.eqns:
            values = [_read(env, v) for v in eqn.invars]
            env.update(zip(eqn.outvars, _run(eqn, values), strict=True))
        return [_read(env, v) for v in self.closed.outvars]


def pure(fn: Callable[..., Any], *args: Any) -> tuple[Pure, list[Any], Any] | None:
    """Return a function in memory, what it closes over, and the tree of its results.

    None if it cannot be told apart from its loops and branches over disk arrays.
    """
    closed, shape = jax.make_jaxpr(fn, return_shape=True)(*args)
    if any(_hides_disk_arrays(eqn) for eqn in closed.eqns):
        return None
    tree = jax.tree.structure(shape)
    text = str(closed)
    return Pure(_origin(fn, text), text, closed), list(closed.consts), tree


def _origin(fn: Any, text: str) -> Any:
    """Return what functions of one text must have in common to do the same.

    A function that is defined anew in each step of a loop has the same code. What JAX
    prints leaves out derivative rules and callbacks, which are the function's own.
    """
    function = getattr(fn, "fn", fn)
    hidden = any(word in text for word in ("custom_", "callback", " at 0x"))
    return fn if hidden else getattr(function, "__code__", fn)


def _hides_disk_arrays(eqn: Any) -> bool:
    inner = eqn.params.values() if not isinstance(_primitive(eqn), Op) else ()
    parts = [x for p in inner for x in (p if isinstance(p, tuple) else (p,))]
    return any(getattr(p, "is_high", False) for p in parts)


def _primitive(eqn: Any) -> Any:
    return eqn.params.get("_prim")


def _read(env: dict[Any, Any], atom: Any) -> Any:
    return atom.val if isinstance(atom, Literal) else env[atom]


def _run(eqn: Any, values: Sequence[Any]) -> Sequence[Any]:
    """Return the results of one equation, in memory."""
    primitive = _primitive(eqn)
    if isinstance(primitive, Op):
        return _as_traced(primitive, values)
    if isinstance(primitive, Materialize):
        return [jax.lax.convert_element_type(values[0], primitive.out_aval.dtype)]
    if isinstance(primitive, Dematerialize):
        return values
    return run_equation(eqn, values)


def _as_traced(op: Op, values: Sequence[Any]) -> Sequence[Any]:
    """Return what an operation computes, by the promotions of where it was made."""
    operation = op.operation
    specs = [
        jax.ShapeDtypeStruct(t.shape, t.dtype, weak_type=weak)
        for t, weak in zip(op.in_avals, operation.weak, strict=True)
    ]
    with jax.enable_x64(operation.x64):
        closed = jax.make_jaxpr(operation.function)(*specs)
        found: Sequence[Any] = as_function(closed)(*values)
    return found
