"""The two ways between disk and memory: Materialize and Dematerialize.

1. They are each other's transpose, so the gradient with respect to an in-memory
   parameter arrives as an ordinary jax.Array.
2. Run eagerly, Materialize evaluates. While lowering, it emits one callback that runs
   the whole fused expression.
3. Several of one program make a group: the first returns its value and a ticket, later
   ones whose leaves are among its leaves redeem the ticket. All of a group is ONE
   evaluation; `jit(value_and_grad)` reads its sources once.
"""

import itertools
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

import jax
import numpy as np

from jask._jax import (
    HiPrim,
    ShapedArray,
    Zero,
    io_callback,
    is_lowering,
    is_placeholder,
    linearize_from_jvp,
    trace_of,
    tracer_of,
    tracing_with,
    variable_of,
)
from jask.config import Settings, current, using
from jask.errors import MemoryBudgetError
from jask.execute import run
from jask.execute.held import files_below, held_below
from jask.execute.process import PROCESS
from jask.hijax import type as hitype
from jask.hijax.binding import Template, named, settled, template, traced_leaves
from jask.hijax.cotangents import add_later
from jask.hijax.handles import GRACE, TABLE
from jask.hijax.rows import rows
from jask.hijax.type import DiskArrayType, axis_of, is_disk, make_value, node_of
from jask.trace.graph import Dense, Handle, Node, Result

__all__ = ["Dematerialize", "Materialize", "dematerialize", "evaluate", "materialize"]


# ---- the primitives


class Materialize(HiPrim):
    """Disk to memory: the value of a disk array as a jax.Array."""

    def __init__(self, t: DiskArrayType, dtype: np.dtype[Any]) -> None:
        self.in_avals = (t,)
        self.out_aval = ShapedArray(t.shape, dtype)
        self.params = {"dtype": dtype}
        super().__init__()

    def pp_params(self) -> dict[str, Any]:
        """Return what a jaxpr prints: nothing, the types say it."""
        return {}

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Any:
        """Return the value of a disk array or of a tracer of one."""
        if not is_disk(x):  # the cotangent of a scalar may be in memory
            return x
        t = jax.typeof(x)
        return cls(t, np.dtype(t.dtype if dtype is None else dtype))(x)

    def expand(self, x: Any) -> Any:
        """Evaluate, or emit the callback that will."""
        if is_lowering():
            return _emit(x.node, self.out_aval)
        (value,) = evaluate([x.node])
        return in_memory(value, self.out_aval.dtype)

    def vjp_fwd(self, nonzero: Any, /, x: Any) -> tuple[Any, None]:  # noqa: ARG002 (JAX's signature)
        """Return the value; nothing is kept."""
        return self(x), None

    def vjp_bwd_retval(self, _: None, ct: Any, /) -> tuple[Any]:
        """Return the cotangent as a disk array."""
        return (_passed_on(Dematerialize, ct, self.in_avals[0].to_ct_aval()),)

    def jvp(self, primals: Any, tangents: Any) -> tuple[Any, Any]:
        """Return the value and the tangent, in memory."""
        t = self.out_aval.to_tangent_aval()
        return self(*primals), _passed_on(Materialize, tangents[0], t)

    lin, linearized = linearize_from_jvp

    def transpose(self, ct: Any, x: Any) -> None:
        """Add the cotangent as a disk array."""
        x.accum(Dematerialize.of(ct))

    def batch(self, axis_data: Any, args: Any, dims: Any) -> tuple[Any, Any]:  # noqa: ARG002 (JAX's signature)
        """Return the values of all elements."""
        value = Materialize.of(args[0], dtype=self.out_aval.dtype)
        return value, axis_of(dims[0])


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
        return self(*primals), _passed_on(Dematerialize, tangents[0], t)

    lin, linearized = linearize_from_jvp

    def transpose(self, ct: Any, x: Any) -> None:
        """Add the cotangent, in memory."""
        _add_in_memory(x, ct)

    def batch(self, axis_data: Any, args: Any, dims: Any) -> tuple[Any, Any]:  # noqa: ARG002 (JAX's signature)
        """Return all elements as a disk array."""
        return Dematerialize.of(*args), dims[0]


def _passed_on(kind: Any, tangent: Any, t: Any) -> Any:
    """Return a tangent or cotangent on the other side; that of integers is zero."""
    return Zero(t) if isinstance(tangent, Zero) else kind.of(tangent)


def _add_in_memory(accumulator: Any, ct: Any) -> None:
    """Add a cotangent to one in memory: when that is asked for, if it may wait."""
    if isinstance(ct, Zero):
        return
    concrete = is_disk(ct) and not isinstance(ct, jax.core.Tracer)
    if not (concrete and not is_lowering() and add_later(accumulator, ct, _bring)):
        accumulator.accum(Materialize.of(ct))


def _bring(cts: Sequence[Any]) -> list[jax.Array]:
    values = evaluate([ct.node for ct in cts])
    return [in_memory(v, ct.dtype) for v, ct in zip(values, cts, strict=True)]


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
    lazy = [x for x in leaves if is_disk(x)]
    if is_lowering() or any(isinstance(x, jax.core.Tracer) for x in lazy):
        found = [_convert(x) for x in lazy]
    else:
        found = _values([_float_narrowed(x) for x in lazy])
    results = iter(found)
    found = [next(results) if is_disk(x) else x for x in leaves]
    return jax.tree.unflatten(tree, found)


def dematerialize(x: Any) -> Any:
    """Return an in-memory array as a disk array, without writing it.

    Examples
    --------
    >>> dematerialize(jax.numpy.zeros(3, "float32"))
    DiskArray(shape=(3,), dtype=float32, in memory)
    """
    return Dematerialize.of(x if isinstance(x, jax.Array) else jax.numpy.asarray(x))


def evaluate(
    nodes: Sequence[Node], destinations: Sequence[run.Destination] | None = None
) -> list[Any]:
    """Evaluate nodes as one program; waits for the calls that return their handles.

    Small values on the way that somebody holds are kept with their nodes.
    """
    if not nodes:
        return []
    targets = settled(nodes)
    to = [run.InMemory()] * len(nodes) if destinations is None else list(destinations)
    if current().block_bytes is None and all(isinstance(d, run.InMemory) for d in to):
        held = held_below(targets)
        if held:
            return _evaluate_with(targets, held)
    return run.evaluate(targets, to)


def _evaluate_with(targets: Sequence[Node], held: Sequence[Result]) -> list[Any]:
    """Evaluate to memory; nodes on the way keep their values if there is room."""
    nodes = [*targets, *held]
    try:
        values = run.evaluate(nodes, [run.InMemory()] * len(nodes))
    except MemoryBudgetError:
        return run.evaluate(targets, [run.InMemory()] * len(targets))
    for node, value in zip(held, values[len(targets) :], strict=True):
        node.keep(value, files_below(node))
    return values[: len(targets)]


def _values(arrays: Sequence[Any]) -> list[Any]:
    """Return the values of concrete arrays, all evaluated together."""
    values = evaluate([x.node for x in arrays])
    return [in_memory(v, _canonical(v.dtype)) for v in values]


# ---- 64-bit values while 64-bit types are off


def in_memory(value: np.ndarray[Any, Any], dtype: Any) -> jax.Array:
    """Return an evaluated value as a jax.Array; integers must fit the dtype."""
    return jax.numpy.asarray(_narrowed(value, dtype))


def _canonical(dtype: Any) -> Any:
    return np.dtype(jax.dtypes.canonicalize_dtype(dtype))


def _convert(x: Any) -> Any:
    x = _float_narrowed(x)
    return Materialize.of(x, dtype=_canonical(x.dtype))


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


def _narrowed(value: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """Return integers in 32 bits if they fit; anything else is returned as it is."""
    if value.dtype == dtype:
        return value
    limits = np.iinfo(dtype)
    if value.size and (value.min() < limits.min or value.max() > limits.max):
        msg = (
            f"Values of {value.dtype} must fit {dtype} while 64-bit types are off; "
            f"they reach from {value.min()} to {value.max()}. Turn on jax_enable_x64."
        )
        raise OverflowError(msg)
    return value.astype(dtype)


# ---- callbacks


_HANDLE = jax.ShapeDtypeStruct((), np.int32)


@dataclass(eq=False, slots=True)
class Group:
    """The materializes of one program that are evaluated together."""

    settings: Settings
    """Those in force where the program was lowered."""

    templates: list[Template] = field(default_factory=list)
    """What is evaluated, in order of appearance."""

    dtypes: list[np.dtype[Any]] = field(default_factory=list)
    """The dtype of each value in memory."""

    whole: Template | None = None
    """All of them as one, known when the program first runs."""

    def add(self, item: Template, dtype: Any) -> int:
        """Add one, and return its index."""
        self.templates.append(item)
        self.dtypes.append(np.dtype(dtype))
        return len(self.templates) - 1

    def run(self, *operands: Any) -> tuple[Any, np.int32]:
        """Evaluate all; return the first value and the ticket for the others."""
        with TABLE.running(), using(self.settings):
            # Converted once: templates that use one operand share one leaf.
            arrays = [np.asarray(x) for x in operands]
            if self.whole is None:
                self.whole = Template.joined(self.templates)
            nodes = self.whole.fill(arrays)
            values = [
                _narrowed(v, d)
                for v, d in zip(evaluate(nodes), self.dtypes, strict=True)
            ]
            return values[0], _park(values[1:], self.whole.parents(operands))

    def redeem(self, index: int) -> Callable[[Any], Any]:
        """Return the callback that hands over the value with this index."""
        return lambda ticket: _parked[int(ticket)].take(index - 1)


@dataclass(eq=False, slots=True)
class _Parked:
    """Values that wait for their callbacks."""

    ticket: int
    values: list[Any]
    left: int
    since: float = field(default_factory=time.monotonic)

    def take(self, index: int) -> Any:
        """Return a value once; the last one clears the ticket."""
        value, self.values[index] = self.values[index], None
        self.left -= 1
        if not self.left:
            _parked.pop(self.ticket, None)
        return value


_parked: dict[int, _Parked] = {}
_tickets = itertools.count(1)


def _park(values: list[Any], parents: Sequence[int]) -> np.int32:
    """Keep values for the other callbacks of the call, and return their ticket.

    A call that fails does not redeem it: the ticket ends with an argument of the call,
    or, if there is none, some time later.
    """
    if not values:
        return np.int32(0)
    ticket = next(_tickets) % 2**31
    _parked[ticket] = _Parked(ticket, values, len(values))
    TABLE.attach(lambda: _Forget(ticket), parents)
    for old in list(_parked.values())[:1]:
        if time.monotonic() - old.since > GRACE:
            _parked.pop(old.ticket, None)
    return np.int32(ticket)


class _Forget:
    """Forgets a ticket when it is collected."""

    __slots__ = ("ticket",)

    def __init__(self, ticket: int) -> None:
        self.ticket = ticket

    def __del__(self, parked: dict[int, _Parked] = _parked) -> None:
        parked.pop(self.ticket, None)  # a default outlives the module at exit


class _Open(threading.local):
    """The group that the program being lowered on this thread can still join."""

    trace: Any = None
    """Weak reference to its trace."""
    positions: dict[Any, int]
    """Its leaves."""
    group: Group
    ticket: Any
    """The variable that holds the ticket."""


_open = _Open()


def _emit(node: Node, out: Any) -> Any:
    """Emit the callback that evaluates a node, or join the open group."""
    run.check([node])
    leaves = traced_leaves([node])
    shape = jax.ShapeDtypeStruct(out.shape, out.dtype)
    if not leaves:
        return _emit_alone(settled([node])[0], shape)
    trace = trace_of(next(iter(leaves.values())))
    joined = _open.trace is not None and _open.trace() is trace
    if joined and leaves.keys() <= _open.positions.keys():
        index = _open.group.add(template([node], _open.positions), out.dtype)
        ticket = tracer_of(trace, _open.ticket)
        return io_callback(_open.group.redeem(index), shape, ticket)
    group = Group(current())
    positions = {v: i for i, v in enumerate(leaves)}
    group.add(template([node], positions), out.dtype)
    value, ticket = io_callback(group.run, (shape, _HANDLE), *leaves.values())
    _open.trace, _open.positions = weakref.ref(trace), positions
    _open.group, _open.ticket = group, variable_of(ticket)
    return value


def _emit_alone(node: Node, shape: Any) -> Any:
    """Emit a callback without operands: every leaf is known already."""
    group = Group(current())
    group.add(template([node], {}), shape.dtype)
    return io_callback(lambda: group.run()[0], shape)


# ---- handles


def _lower(t: DiskArrayType, x: Any) -> Any:
    """Return the handle of a value: lent to a call, or built by a callback.

    What is walked along its leading axis has one axis more than the type says, and a
    handle for each row.
    """
    PROCESS.require_usable()
    node = node_of(x)
    walked = len(node.shape) > len(t.shape)
    if _is_symbol(node) and bool(node.value.ndim) == walked:
        return node.value
    leaves = traced_leaves([node])
    if leaves:
        with tracing_with(trace_of(next(iter(leaves.values())))):
            return _emit_build(node, leaves, walked=walked)
    (known,) = settled([node])
    if is_lowering():
        return _emit_constant(known, walked=walked)
    return TABLE.lend(known, rows(known) if walked else None)


def _is_symbol(node: Node) -> TypeGuard[Handle]:
    """Return whether a node is a handle that only the program will know."""
    return isinstance(node, Handle) and isinstance(node.value, jax.core.Tracer)


def _handles(node: Node, *, walked: bool) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(node.shape[:1] if walked else (), np.int32)


def _emit_constant(node: Node, *, walked: bool) -> Any:
    """Emit the callback that names a node known while lowering, and keeps it alive."""
    pin = TABLE.pin(node)

    @cache
    def handles() -> Any:  # those of the rows when they are asked for
        return TABLE.parts(pin, rows(node)) if walked else pin.handle

    return jax.pure_callback(handles, _handles(node, walked=walked))


def _emit_build(node: Node, leaves: dict[Any, Any], *, walked: bool) -> Any:
    item = template([node], {v: i for i, v in enumerate(leaves)})

    def build(*values: Any) -> Any:
        with TABLE.running():
            (made,) = item.fill(values)
            parts = rows(made) if walked else None
            return TABLE.build(made, item.parents(values), parts)

    return jax.pure_callback(build, _handles(node, walked=walked), *leaves.values())


def _raise(t: DiskArrayType, handle: Any) -> Any:
    """Return the value that a handle names, or that the handles of its rows name."""
    if is_placeholder(handle):
        return hitype.call_hook("zero", t)
    like = Handle((*handle.shape, *t.shape), t.dtype, None)
    traced = isinstance(handle, jax.core.Tracer)
    value = handle if traced else TABLE.owe(handle, lambda h: named(h, like))
    return make_value(Handle(like.shape, like.dtype, value))


hitype.hook("lower", _lower)
hitype.hook("raise", _raise)
