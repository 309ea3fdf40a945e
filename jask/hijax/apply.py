"""The one generic primitive: any pure JAX function, applied lazily to disk arrays.

1. `apply` makes an `Op` of the function and its abstract operands, and binds it.
2. Run eagerly or while lowering, an Op makes lazy nodes and reads nothing.
3. Its derivative, transpose and batching rules are Ops again, of JAX's own transforms
   of the function. Residuals are the operands: recomputing is cheaper than storing.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from jask._jax import (
    GradAccum,
    HiPrim,
    Zero,
    here,
    linearize_from_jvp,
    tracing,
)
from jask.hijax import keys, type as hitype
from jask.hijax.function import (
    Batched,
    Function,
    Pullback,
    Pushforward,
    Transposed,
    freeze,
    shown,
)
from jask.hijax.gradients import mark_pulled_back, mark_sum
from jask.hijax.masks import chosen, is_given
from jask.hijax.materialize import dematerialize, materialize
from jask.hijax.operand import Operand, as_operands, is_64_bit
from jask.hijax.type import (
    DiskArrayType,
    axis_of,
    is_disk,
    is_inexact,
    make_value,
    node_of,
)
from jask.trace.graph import Call, Node, Operation, Result, as_leaf

__all__ = ["Op", "apply", "bind", "constant"]

KEEP = 8192
"""Operations kept with their abstract results."""

ADD = "add_any"
"""The name of the operation that adds cotangents."""

type Mask = tuple[bool, ...]
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NO_STATIC = freeze({})


def apply(
    fn: Callable[..., Any],
    *operands: Any,
    name: str,
    static: Mapping[str, Any] = _NOTHING,
    x64: bool = False,
) -> Any:
    """Apply a pure function of in-memory arrays to disk arrays, lazily.

    Parameters
    ----------
    fn
        Called as `fn(*operands, **static)` on shapes now and on blocks later.
    operands
        Pytrees of DiskArrays, arrays, scalars and tracers of these.
    name
        Shown in jaxprs and plans.
    static
        Static keyword arguments, part of the identity of the operation.
    x64
        Trace with 64-bit types on, whatever the user's flag and the operands say.

    Returns
    -------
    pytree of DiskArray
        The results of `fn`, not evaluated; random keys among them are.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import jask
    >>> x = jask.from_numpy(np.ones((4, 3), "float32"))
    >>> apply(jnp.sum, x, name="sum", static={"axis": 0})
    DiskArray(shape=(3,), dtype=float32, lazy)
    """
    given, tree = jax.tree.flatten(operands)
    function: Any = Function(fn, tree, freeze(dict(static)) if static else _NO_STATIC)
    leaves, generators = keys.apart(given)
    if generators is not None:
        function = keys.Keyed(function, generators)
    chosen, wide = as_operands(leaves, x64=x64)
    return bind(function, chosen, x64=wide, name=name)


def bind(function: Any, operands: Sequence[Operand], *, x64: bool, name: str) -> Any:
    """Apply a flat function to operands; returns its results as a pytree."""
    values = [o.value for o in operands]
    weak = tuple(o.weak for o in operands)
    op, tree, made = _make_op(
        function, tuple(o.aval for o in operands), weak, x64=x64, name=name
    )
    traced = any(isinstance(v, jax.core.Tracer) for v in values)
    results = op(*values) if traced else op.expand(*values)
    if made is not None:  # keys among the results come to memory, where keys are
        pairs = zip(results, made, strict=True)
        results = [keys.key_of(materialize(x), g) if g else x for x, g in pairs]
    return jax.tree.unflatten(tree, results)


_LEAF = jax.tree.structure(0)
"""The tree of a single result."""


@lru_cache(maxsize=KEEP)
def _make_op(
    function: Any, avals: tuple[Any, ...], weak: Mask, *, x64: bool, name: str
) -> tuple["Op", Any, keys.Generators | None]:
    """Return the operation, the tree of its results, and which of these are keys."""
    given = [
        jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=w)
        for a, w in zip(avals, weak, strict=True)
    ]
    known = function.result(given) if isinstance(function, Function) else None
    if known is not None:
        out = DiskArrayType(tuple(known.shape), np.dtype(known.dtype))
        return _named(name)(function, avals, (out,), weak=weak, x64=x64), _LEAF, None
    with jax.enable_x64(x64), tracing():
        leaves, tree = jax.tree.flatten(jax.eval_shape(function, *given))
        made = keys.among(leaves)
        if made is not None:
            function = keys.Numbers(function)
            leaves = jax.tree.leaves(jax.eval_shape(function, *given))
    outs = tuple(DiskArrayType(tuple(o.shape), np.dtype(o.dtype)) for o in leaves)
    return _named(name)(function, avals, outs, weak=weak, x64=x64), tree, made


@cache
def _named(name: str) -> type["Op"]:
    """Return the class of operations that a jaxpr shows under this name."""
    return type(name, (Op,), {"label": name})


class _Mask:
    """A tuple of flags that JAX carries along as a constant."""

    def __init__(self, flags: Mask) -> None:
        self.flags = flags

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Mask) and other.flags == self.flags

    def __hash__(self) -> int:
        return hash(self.flags)


jax.tree_util.register_static(_Mask)


class Op(HiPrim):
    """A pure function applied to disk arrays; both sides are flat."""

    label = "Op"

    def __init__(
        self,
        function: Any,
        avals: tuple[DiskArrayType, ...],
        outs: tuple[DiskArrayType, ...],
        *,
        weak: Mask,
        x64: bool,
    ) -> None:
        self.in_avals = avals
        self.out_aval = outs
        self.params = {"function": function, "avals": avals, "weak": weak, "x64": x64}
        self.operation = Operation(function, self.label, x64, weak)
        super().__init__()

    def pp_params(self) -> dict[str, Any]:
        """Return what a jaxpr prints: the static arguments."""
        return shown(self.operation.function)

    def expand(self, *args: Any) -> tuple[Any, ...]:
        """Return lazy results; nothing is read."""
        operands = tuple(as_leaf(node_of(x)) for x in args)
        call = Call(self.operation, operands, here())
        results: list[Node] = [
            Result(t.shape, t.dtype, call, i) for i, t in enumerate(self.out_aval)
        ]
        function = self.operation.function
        if isinstance(function, Pullback | Transposed):
            results = mark_pulled_back(results, operands, function.pulled)
        elif self.label == ADD:
            results = [mark_sum(results[0], *operands)]
        return tuple(map(make_value, results))

    # ---- derivatives

    def vjp_fwd(self, nonzero: tuple[bool, ...], /, *args: Any) -> tuple[Any, Any]:
        """Return the results, and the operands as residuals."""
        return self(*args), (args, _Mask(tuple(map(bool, nonzero))))

    def vjp_bwd_retval(self, residuals: Any, cts: Any, /) -> tuple[Any, ...]:
        """Return the cotangents of the operands."""
        args, mask = residuals
        wanted = tuple(
            w and is_inexact(a.dtype)
            for w, a in zip(mask.flags, self.in_avals, strict=True)
        )
        given = tuple(is_given(c) for c in cts)
        zeros = tuple(Zero(a.to_ct_aval()) for a in self.in_avals)
        if not any(wanted) or not any(given):
            return zeros
        function = Pullback(self.operation.function, wanted, given)
        found = iter(self._derive(function, "vjp", args, chosen(given, cts)))
        pairs = zip(wanted, zeros, strict=True)
        return tuple(next(found) if w else z for w, z in pairs)

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        """Return results and tangents, as two operations that JAX can part."""
        moving = tuple(is_given(t) for t in tangents)
        zeros = tuple(Zero(a.to_tangent_aval()) for a in self.out_aval)
        if not any(moving):
            return self(*primals), zeros
        function = Pushforward(self.operation.function, moving)
        extra = chosen(moving, tangents)
        found = iter(self._derive(function, "jvp", primals, extra))
        pairs = zip(self.out_aval, zeros, strict=True)
        outs = tuple(next(found) if is_inexact(a.dtype) else z for a, z in pairs)
        return self(*primals), outs

    lin, linearized = linearize_from_jvp

    def transpose(self, cts: Any, *args: Any) -> None:
        """Add to the cotangents of the operands in which the function is linear."""
        linear = tuple(isinstance(a, GradAccum) for a in args)
        given = tuple(is_given(c) for c in cts)
        if not any(given):
            return
        avals = tuple(
            jax.ShapeDtypeStruct(t.shape, t.dtype)
            for t in chosen(linear, self.in_avals)
        )
        function = Transposed(self.operation.function, linear, avals, given)
        known = tuple(not m for m in linear)
        operands = [
            *_operands(chosen(known, args), chosen(known, self.operation.weak)),
            *_operands(chosen(given, cts)),
        ]
        found = bind(function, operands, x64=self._x64(operands), name=self._name("t"))
        for accum, ct in zip(chosen(linear, args), found, strict=True):
            accum.accum(ct)

    def batch(self, axis_data: Any, args: Any, dims: Any) -> tuple[Any, Any]:
        """Return the results for all elements along a mapped axis, which leads."""
        axes = tuple(axis_of(d) for d in dims)
        if all(a is None for a in axes):
            return self(*args), tuple(None for _ in self.out_aval)
        function = Batched(self.operation.function, axes, axis_data.size)
        operands = _operands(args, self.operation.weak)
        outs = bind(function, operands, x64=self._x64(operands), name=self.label)
        return tuple(jax.tree.leaves(outs)), tuple(0 for _ in self.out_aval)

    def _derive(
        self, function: Any, suffix: str, args: Sequence[Any], extra: Sequence[Any]
    ) -> list[Any]:
        operands = [*_operands(args, self.operation.weak), *_operands(extra)]
        x64 = self._x64(operands)
        return jax.tree.leaves(
            bind(function, operands, x64=x64, name=self._name(suffix))
        )

    def _name(self, suffix: str) -> str:
        return f"{self.label}_{suffix}"

    def _x64(self, operands: Sequence[Operand]) -> bool:
        return self.operation.x64 or any(o.is_64_bit for o in operands)


def _operands(
    values: Sequence[Any], weak: Sequence[bool] | None = None
) -> list[Operand]:
    flags = weak or (False,) * len(values)
    values = [v if is_disk(v) else dematerialize(v) for v in values]
    return [
        Operand(v, jax.typeof(v), weak=w) for v, w in zip(values, flags, strict=True)
    ]


def _zeros(t: DiskArrayType) -> Any:
    return constant(jax.numpy.zeros, t, name="zeros")


def constant(fn: Callable[..., Any], t: DiskArrayType, *, name: str) -> Any:
    """Return `fn(shape=..., dtype=...)`, such as zeros, of this very type."""
    static = {"shape": t.shape, "dtype": t.dtype}
    return apply(fn, name=name, static=static, x64=is_64_bit(t.dtype))


def _add(x: Any, y: Any) -> Any:
    return apply(jax.lax.add, x, y, name=ADD)


def _converted(x: Any, dtype: Any) -> Any:
    static = {"new_dtype": np.dtype(dtype)}
    return apply(jax.lax.convert_element_type, x, name="convert", static=static)


hitype.hook("zero", _zeros)
hitype.hook("add", _add)
hitype.hook("convert", _converted)
