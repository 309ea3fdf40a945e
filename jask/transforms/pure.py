"""A function written for disk arrays, as a function of arrays in memory.

1. It is traced once, on shapes, with arrays in memory for its arguments.
2. Operations on disk arrays become the functions that they are made of, and what goes
   between disk and memory becomes nothing.
3. What it closes over becomes operands.

So `jask.map` and `jask.scan` may walk rows in memory, block by block, with a function
that says `jask.numpy` or `jax.numpy`.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from jask._jax import Jaxpr, Literal, as_function, run_equation
from jask.hijax.apply import Op
from jask.hijax.materialize import Dematerialize, Materialize
from jask.trace.flatten import freeze
from jask.trace.keys import numbers_of

__all__ = ["Pure", "pure"]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Pure:
    """A flat function of in-memory arrays: of what it closed over, then its arguments.

    Two are equal if they do the same: a function that is defined anew in each step of a
    loop is one.
    """

    key: Hashable
    """What it does, by value; see `jaxpr_key`."""

    closed: Any = field(compare=False)
    """The traced function."""

    hashed: int = field(init=False, compare=False)
    """The hash of the key, which may be long."""

    def __post_init__(self) -> None:
        """Compute the hash once."""
        object.__setattr__(self, "hashed", hash(self.key))

    def __hash__(self) -> int:
        """Return the hash of the key."""
        return self.hashed

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


def pure(
    fn: Callable[..., Any], *args: Any, origin: Callable[..., Any]
) -> tuple[Pure, list[Any], Any] | None:
    """Return a function in memory, what it closes over, and the tree of its results.

    `origin` is the user's function that it was made of; its own derivative rules are
    taken for the same as long as it is. None if it cannot be told apart from its loops
    and branches over disk arrays.
    """
    closed, shape = jax.make_jaxpr(fn, return_shape=True)(*args)
    if any(_hides_disk_arrays(eqn) for eqn in closed.eqns):
        return None
    tree = jax.tree.structure(shape)
    key = jaxpr_key(closed, _by_value(origin, None))
    return Pure(key, closed), list(closed.consts), tree


def jaxpr_key(jaxpr: Jaxpr, origin: Hashable = None) -> Hashable:
    """Return what a jaxpr does, by value; what cannot be compared equals itself only.

    The text of a jaxpr would not do: it leaves out callbacks, long constants and what
    operations on disk arrays are made of. Derivative rules are functions, made anew by
    each tracing; `origin` stands for them.

    Examples
    --------
    >>> jaxprs = [jax.make_jaxpr(lambda x: x * 2.0)(1.0) for _ in range(2)]
    >>> jaxpr_key(jaxprs[0]) == jaxpr_key(jaxprs[1])
    True
    """
    numbers: dict[Any, int] = {}

    def use(atom: Any) -> Hashable:
        if isinstance(atom, Literal):
            return (atom.aval, _constant(atom.val))
        return numbers.setdefault(atom, len(numbers))

    def make(variables: Sequence[Any]) -> Hashable:
        return tuple((use(v), v.aval) for v in variables)

    heads = make(jaxpr.constvars), make(jaxpr.invars)
    steps = tuple(
        (
            eqn.primitive,
            eqn.ctx,
            _params_key(eqn, origin),
            tuple(map(use, eqn.invars)),
            make(eqn.outvars),
        )
        for eqn in jaxpr.eqns
    )
    return heads, steps, tuple(map(use, jaxpr.outvars))


@dataclass(frozen=True, slots=True, eq=False)
class _Itself:
    """Something that equals itself only."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def _params_key(eqn: Any, origin: Hashable) -> Hashable:
    """Return the parameters of an equation, the origin for derivative rules."""
    rules = eqn.primitive.name.startswith("custom_")
    plain = (Jaxpr, Mapping, tuple, list, int, str, type(None))
    return tuple(
        (
            name,
            origin
            if rules and origin is not None and not isinstance(value, plain)
            else _by_value(value, origin),
        )
        for name, value in sorted(eqn.params.items())
    )


def _by_value(param: Any, origin: Hashable) -> Hashable:
    """Return a parameter of an equation, by value where that is possible."""
    if isinstance(param, Jaxpr):
        return jaxpr_key(param, origin), tuple(map(_constant, param.consts))
    if isinstance(param, Mapping):
        return tuple((k, _by_value(param[k], origin)) for k in sorted(param, key=str))
    if isinstance(param, (tuple, list)):
        return (type(param).__name__, *(_by_value(p, origin) for p in param))
    try:
        return freeze(param)
    except TypeError:
        return _Itself(param)


def _constant(value: Any) -> Hashable:
    """Return the elements of a constant in memory; others equal themselves only."""
    if isinstance(value, (jax.Array, np.ndarray, np.generic, int, float, complex)):
        return freeze(np.asarray(numbers_of(value)))
    return _Itself(value)


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
        pairs = zip(values, primitive.out_aval, strict=True)
        return [jax.lax.convert_element_type(x, t.dtype) for x, t in pairs]
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
