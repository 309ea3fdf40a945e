"""The two ways between disk and memory: Materialize and Dematerialize.

1. They are each other's transpose, so the gradient with respect to an in-memory
   parameter arrives as an ordinary jax.Array.
2. Run eagerly, Materialize evaluates. While lowering, it emits one callback that runs
   the whole fused expression.
3. What is materialized at once is one equation, and ONE evaluation: one plan for all
   values, which reads a source that several need once.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jask._jax import (
    GradAccum,
    HiPrim,
    ShapedArray,
    Zero,
    is_lowering,
    linearize_from_jvp,
)
from jask.hijax import type as hitype
from jask.hijax.callbacks import emit
from jask.hijax.cotangents import add_later
from jask.hijax.masks import chosen, filled, is_given
from jask.hijax.type import DiskArrayType, axis_of, is_disk, make_value
from jask.hijax.values import evaluate, in_memory, together_or_apart
from jask.trace.graph import Dense

__all__ = [
    "Dematerialize",
    "Materialize",
    "dematerialize",
    "evaluate",
    "in_memory",
    "materialize",
]


# ---- the primitives


class Materialize(HiPrim):
    """Disk to memory: the values of disk arrays as jax.Arrays, evaluated together."""

    def __init__(
        self, types: tuple[DiskArrayType, ...], dtypes: tuple[np.dtype[Any], ...]
    ) -> None:
        self.in_avals = types
        self.out_aval = tuple(
            ShapedArray(t.shape, d) for t, d in zip(types, dtypes, strict=True)
        )
        self.types, self.dtypes = types, dtypes
        self.params = {"types": types, "dtypes": dtypes}
        super().__init__()

    def pp_params(self) -> dict[str, Any]:
        """Return what a jaxpr prints: nothing, the types say it."""
        return {}

    @classmethod
    def of(cls, xs: Sequence[Any], dtypes: Sequence[Any] | None = None) -> list[Any]:
        """Return the values of disk arrays or of tracers of them, as one equation."""
        if dtypes is None:
            dtypes = [jax.typeof(x).dtype for x in xs]
        disk = list(map(is_disk, xs))  # the cotangent of a scalar may be in memory
        lazy = chosen(disk, xs)
        if not lazy:
            return list(xs)
        types = tuple(map(jax.typeof, lazy))
        prim = cls(types, tuple(map(np.dtype, chosen(disk, dtypes))))
        return filled(disk, prim(*lazy), xs)

    def expand(self, *xs: Any) -> tuple[Any, ...]:
        """Evaluate, or emit the callback that will."""
        nodes = [x.node for x in xs]
        if is_lowering():
            return tuple(emit(nodes, self.out_aval))
        values, _ = together_or_apart(nodes)
        return tuple(in_memory(v, d) for v, d in zip(values, self.dtypes, strict=True))

    def dce(self, used_outs: Any, live_ins: Any) -> tuple[Any, Any, Any]:  # noqa: ARG002 (JAX's signature)
        """Return what is left of the primitive where only some values are used."""
        if all(used_outs):
            return True, True, self
        if not any(used_outs):
            return False, False, None
        types, dtypes = chosen(used_outs, self.types), chosen(used_outs, self.dtypes)
        left = tuple(types), tuple(dtypes)
        return tuple(used_outs), tuple(used_outs), Materialize(*left)

    def vjp_fwd(self, nonzero: Any, /, *xs: Any) -> tuple[Any, None, Any]:
        """Return the values, and which have cotangents; nothing is kept."""
        return self(*xs), None, self._moving(nonzero)

    def vjp_bwd_retval(self, _: None, cts: Any, /) -> tuple[Any, ...]:
        """Return the cotangents as disk arrays."""
        zeros = [Zero(t.to_ct_aval()) for t in self.in_avals]
        given = list(map(is_given, cts))
        found = map(Dematerialize.of, chosen(given, cts))
        return tuple(filled(given, found, zeros))

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        """Return the values and the tangents, in memory."""
        zeros = [Zero(t.to_tangent_aval()) for t in self.out_aval]
        given = list(map(is_given, tangents))
        found = Materialize.of(chosen(given, tangents))
        return self(*primals), tuple(filled(given, found, zeros))

    lin, linearized = linearize_from_jvp

    def transpose(self, cts: Any, *xs: Any) -> None:
        """Add the cotangents as disk arrays."""
        for ct, x in zip(cts, xs, strict=True):
            if isinstance(x, GradAccum) and is_given(ct):
                x.accum(Dematerialize.of(ct))

    def batch(self, axis_data: Any, args: Any, dims: Any) -> tuple[Any, Any]:  # noqa: ARG002 (JAX's signature)
        """Return the values of all elements."""
        values = Materialize.of(args, self.dtypes)
        return tuple(values), tuple(map(axis_of, dims))

    def _moving(self, nonzero: Sequence[Any]) -> tuple[bool, ...]:
        pairs = zip(nonzero, self.in_avals, strict=True)
        return tuple(bool(n) and hitype.is_inexact(t.dtype) for n, t in pairs)


class Dematerialize(HiPrim):
    """Memory to disk: an in-memory array as a disk array, without writing it."""

    def __init__(self, t: Any) -> None:
        self.in_avals = (t,)
        self.out_aval = DiskArrayType(tuple(t.shape), np.dtype(t.dtype))
        self.params = {}
        super().__init__()

    @classmethod
    def of(cls, x: Any) -> Any:
        """Return a jax.Array, or a tracer of one, as a disk array."""
        t = jax.typeof(x)
        return cls(ShapedArray(t.shape, t.dtype))(x)

    def expand(self, x: Any) -> Any:
        """Return the lazy array; `x` may be a literal of the jaxpr."""
        t = self.out_aval
        value = x if isinstance(x, jax.Array) else np.asarray(x, t.dtype)
        return make_value(Dense(t.shape, t.dtype, value))

    def vjp_fwd(self, nonzero: Any, /, x: Any) -> tuple[Any, None]:  # noqa: ARG002 (JAX's signature)
        """Return the disk array; nothing is kept."""
        return self(x), None

    def vjp_bwd(self, _: None, ct: Any, /, *accumulators: Any) -> None:
        """Add the cotangent, in memory."""
        _add_in_memory(accumulators[0], ct)

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        """Return the disk array and the tangent as one."""
        t = self.out_aval.to_tangent_aval()
        moving = is_given(tangents[0])
        tangent = Dematerialize.of(tangents[0]) if moving else Zero(t)
        return self(*primals), tangent

    lin, linearized = linearize_from_jvp

    def transpose(self, ct: Any, x: Any) -> None:
        """Add the cotangent, in memory."""
        _add_in_memory(x, ct)

    def batch(self, axis_data: Any, args: Any, dims: Any) -> tuple[Any, Any]:  # noqa: ARG002 (JAX's signature)
        """Return all elements as a disk array."""
        return Dematerialize.of(*args), dims[0]


def _add_in_memory(accumulator: Any, ct: Any) -> None:
    """Add a cotangent to one in memory: when that is asked for, if it may wait."""
    if isinstance(ct, Zero):
        return
    if not (is_disk(ct) and add_later(accumulator, ct, Materialize.of)):
        accumulator.accum(*Materialize.of([ct]))


# ---- functions


def materialize(*arrays: Any) -> Any:
    """Return disk arrays as jax.Arrays, evaluated as one program.

    Parameters
    ----------
    arrays
        DiskArrays, tracers of them, or pytrees of these; in-memory leaves are returned
        as they are.

    Returns
    -------
    pytree of jax.Array
        Like the argument; a tuple for several.

    Raises
    ------
    MemoryBudgetError
        If the values do not fit the memory budget.
    OverflowError
        If 64-bit types are off and integers do not fit 32 bits.

    Examples
    --------
    >>> import jask
    >>> x = jask.from_numpy(np.arange(3, dtype="float32"))
    >>> jask.materialize(x)
    Array([0., 1., 2.], dtype=float32)
    """
    leaves, tree = jax.tree.flatten(arrays[0] if len(arrays) == 1 else arrays)
    disk = list(map(is_disk, leaves))
    lazy = [_float_narrowed(x) for x in chosen(disk, leaves)]
    if is_lowering() or any(isinstance(x, jax.core.Tracer) for x in lazy):
        found = Materialize.of(lazy, [_canonical(x.dtype) for x in lazy])
    else:
        found = _values(lazy)
    return jax.tree.unflatten(tree, filled(disk, found, leaves))


def dematerialize(x: Any) -> Any:
    """Return an in-memory array as a disk array, without writing it.

    Examples
    --------
    >>> dematerialize(jax.numpy.zeros(3, "float32"))
    DiskArray(shape=(3,), dtype=float32, in memory)
    """
    return Dematerialize.of(x if isinstance(x, jax.Array) else jax.numpy.asarray(x))


def _values(arrays: Sequence[Any]) -> list[Any]:
    """Return the values of concrete arrays, all evaluated together."""
    values = evaluate([x.node for x in arrays])
    return [in_memory(v, _canonical(v.dtype)) for v in values]


# ---- 64-bit values while 64-bit types are off


SINGLE = 4
"""Bytes of an element that JAX holds whether or not 64-bit types are on."""


def _canonical(dtype: Any) -> Any:
    narrow = np.dtype(dtype)
    if narrow.itemsize <= SINGLE:
        return narrow
    return np.dtype(jax.dtypes.canonicalize_dtype(narrow))


def _float_narrowed(x: Any) -> Any:
    """Convert 64-bit floats that JAX would not hold; derivatives convert back."""
    wide, narrow = np.dtype(x.dtype), _canonical(x.dtype)
    if wide == narrow or not hitype.is_inexact(wide):
        return x
    warnings.warn(
        f"{wide} is cut to {narrow} when it is materialized, because 64-bit types "
        f"are off. To keep it, set the jax_enable_x64 configuration option or the "
        f"JAX_ENABLE_X64 shell environment variable.",
        UserWarning,
        skip_file_prefixes=(str(Path(__file__).parent.parent),),
    )
    return hitype.call_hook("convert", x, narrow)
