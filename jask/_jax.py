"""The one file that touches JAX internals and experimental APIs.

Every name the rest of jask needs from `jax.extend`, `jax.experimental`,
`jax.interpreters` or `jax._src` is imported here and re-exported under a name of ours.
When a JAX release moves or renames something, the fix belongs in this file.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from types import FunctionType
from typing import Any

import jax
import numpy as np
from jax._src import (
    callback as callbacks,
    config as _config,
    core,
    source_info_util,
    xla_bridge,
)
from jax._src.ad_checkpoint import remat_p
from jax._src.buffer_callback import buffer_callback_p
from jax._src.debugging import debug_callback_p
from jax._src.interpreters.ad import ValAccum
from jax._src.interpreters.partial_eval import trace_to_jaxpr as _trace_to_jaxpr
from jax._src.interpreters.pxla import _dce_jaxpr, is_default_layout
from jax._src.pjit import (
    _check_and_canonicalize_out_shardings,
    _infer_params_cached,
    _process_in_axis_resources,
    create_meta_ty,
)
from jax._src.random import core as _samplers, prng
from jax.experimental import io_callback, serialize_executable
from jax.experimental.hijax import (
    GradAccum,
    HiPrim,
    HiType,
    MappingSpec,
    ShapedArray,
    Zero,
    aval_method,
    aval_property,
    linearize_from_jvp,
    register_hitype,
)
from jax.extend.core import (
    Jaxpr,
    JaxprEqn,
    Literal,
    Primitive,
    jaxpr_as_fun as as_function,
    primitives,
)
from jax.interpreters import ad, batching, mlir
from jaxlib import xla_client
from jaxlib.mlir.dialects import builtin as _builtin, mhlo as _mhlo
from jaxlib.mlir.passmanager import PassManager

from jask._client import kernel_device, worker_device

_LOADED = (_builtin, _mhlo)
"""What JAX would import where it first lowers something. After a Ctrl-C within such an
import nothing can be lowered any more: a dialect cannot be registered twice."""

__all__ = [
    "ALL_PRIMITIVES",
    "GradAccum",
    "HiPrim",
    "HiType",
    "Jaxpr",
    "JaxprEqn",
    "LateSum",
    "Literal",
    "MappingSpec",
    "Primitive",
    "ShapedArray",
    "Zero",
    "ad",
    "as_function",
    "as_keys",
    "aval_method",
    "aval_property",
    "backends_started",
    "batching",
    "calls_python",
    "constants_inside",
    "copies_of",
    "current_trace",
    "divert",
    "divert_operators",
    "eagerly",
    "expanded",
    "forget_traces",
    "gamma_of_key",
    "generator",
    "here",
    "in_place",
    "inside_lowered",
    "io_callback",
    "is_gradient_asking",
    "is_lax_asking",
    "is_library",
    "is_lowering",
    "is_operator_asking",
    "is_placeholder",
    "is_put_asking",
    "is_scan_asking",
    "kernel_device",
    "late_sum",
    "linearize_from_jvp",
    "lowered_once",
    "mlir",
    "primitives",
    "register_hitype",
    "remat_p",
    "run_equation",
    "source_line",
    "trace_of",
    "tracer_of",
    "tracing",
    "tracing_with",
    "variable_of",
    "worker_device",
    "wrap_callbacks",
]

source_info_util.register_exclusion(f"{Path(__file__).parent}{os.sep}")

ALL_PRIMITIVES: Mapping[str, Primitive] = {
    found.name: found
    for found in map(primitives.__dict__.get, dir(primitives))
    if isinstance(found, Primitive)
}
"""Every primitive that JAX makes public, by name."""


def generator(key_type: Any) -> Any:
    """Return how keys of this dtype are made, split and used: JAX's functions."""
    return key_type._impl


def as_keys(numbers: Any, key_type: Any) -> Any:
    """Return the keys that are made of these numbers."""
    return prng.random_wrap(numbers, impl=key_type._impl)


def gamma_of_key(numbers: Any, a: Any, *, log_space: bool, generator: str) -> Any:
    """Return one draw from a gamma distribution, by the numbers of its key."""
    key = prng.random_wrap(numbers, impl=prng.prngs[generator])
    return _samplers._gamma_one(key, a, log_space)


_OWN = f"{Path(__file__).parent}{os.sep}"


def source_line(eqn: Any) -> str:
    """Return the line of a user's function that made an equation: `file:line`, or "".

    It is the first line outside of JAX that made it, unless that is in jask: what lies
    further out only asked for the function.
    """
    traceback = eqn.source_info.traceback
    codes, instructions = traceback.raw_frames() if traceback else ([], [])
    for code, at in zip(codes, instructions, strict=True):
        if code.co_filename.startswith(_OWN):
            return ""
        if source_info_util.is_user_filename(code.co_filename):
            frame = source_info_util.raw_frame_to_frame(code, at)
            return f"{frame.file_name}:{frame.start_line}"
    return ""


def is_library(jaxpr: Any) -> bool:
    """Return whether a jaxpr is of a function of JAX's own, which has no user's lines.

    JAX keeps such jaxprs, so that their lines are those of whoever called them first.
    """
    file = getattr(jaxpr.debug_info, "func_filename", None)
    return file is not None and not source_info_util.is_user_filename(file)


def here() -> str:
    """Return the user's line that runs now, or that is being lowered, or ""."""
    if is_lowering():
        found = source_info_util.user_frame(source_info_util.current().traceback)
        return "" if found is None else f"{found.file_name}:{found.start_line}"
    frame: Any = sys._getframe(1)
    while frame is not None:
        if source_info_util.is_user_filename(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def expanded(primitive: HiPrim) -> Any:
    """Return the closed jaxpr of what a hijax primitive of JAX's own stands for."""
    args = primitive.in_tree.unflatten(primitive.in_avals_flat)
    return jax.make_jaxpr(primitive.expand)(*args)


def run_equation(eqn: JaxprEqn, values: Sequence[Any]) -> Sequence[Any]:
    """Return the results of an equation of a jaxpr for these operands."""
    params = eqn.primitive.get_bind_params(eqn.params)
    with eqn.ctx.manager:
        made = eqn.primitive.bind(*values, **params)
    results: Sequence[Any] = made if eqn.primitive.multiple_results else [made]
    return results


def is_lowering() -> bool:
    """Return whether JAX is tracing or lowering here, rather than running eagerly."""
    return not isinstance(core.trace_ctx.trace, core.EvalTrace)


def is_operator_asking() -> bool:
    """Return whether an operator of a JAX array called the caller's caller.

    `w * x` asks `x.__jax_array__()` before it lets `x` try. No answer makes it let go
    but one that is no JAX array.
    """
    name = sys._getframe(3).f_code.co_name
    return name.startswith("_operator_")


def is_gradient_asking() -> bool:
    """Return whether `jax.grad` checks the type that the caller's caller looks at.

    It knows loss and arguments by `isinstance`, and has the right words only for types
    of its own.
    """
    name = sys._getframe(2).f_code.co_name
    return name in {"_check_scalar", "_check_input_dtype_revderiv"}


def is_lax_asking() -> bool:
    """Return whether a primitive of `jax.lax` was given what the caller is asked of.

    So is a JAX array its index.
    """
    name = sys._getframe(2).f_code.co_name
    return name in {
        "_is_boolean_index",
        "standard_abstract_eval",
        "standard_multi_result_abstract_eval",
    }


def is_put_asking() -> bool:
    """Return whether `jax.device_put` writes the caller's type into its refusal."""
    return sys._getframe(2).f_code.co_name == "device_put"


def is_scan_asking() -> bool:
    """Return whether `jax.lax.scan` asks for the type that the caller makes.

    That is, where it is to walk along hijax values only, and was given no length. Of
    traced values it knows the types, and asks nobody.
    """
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_name in {"typeof", "<genexpr>", "map"}:
        frame = frame.f_back
    if frame is None or frame.f_code.co_name != "scan":
        return False
    known = frame.f_locals
    walked = list(known.get("xs_flat", ()))
    unknown = bool(walked) and known.get("length", 0) is None
    return unknown and all(isinstance(core.typeof(x), HiType) for x in walked)


def is_placeholder(handle: Any) -> bool:
    """Return whether JAX made up a lowered value while it only traces.

    The branches of a `cond` must leave the same kinds of values for the way back; a
    branch hands on something of the type for what only another one leaves.
    """
    return isinstance(handle, jax.core.Tracer) and not handle._trace.requires_low


def eagerly() -> AbstractContextManager[Any]:
    """Return a context in which JAX runs at once, whatever trace is under way.

    Unlike `jax.ensure_compile_time_eval` it leaves a trace that is begun inside it
    alone: there, constants the size of an array stay symbolic.
    """
    context: AbstractContextManager[Any] = core.eval_context()
    return context


def current_trace() -> Any:
    """Return the trace that records, or runs, what is bound here."""
    return core.trace_ctx.trace


def trace_of(tracer: Any) -> Any:
    """Return the trace that a tracer belongs to."""
    return tracer._trace


def tracing_with(trace: Any) -> AbstractContextManager[Any]:
    """Return a context in which primitives are recorded by this trace."""
    context: AbstractContextManager[Any] = core.set_current_trace(trace)
    return context


def variable_of(tracer: Any) -> Any:
    """Return the variable of the jaxpr under construction that a tracer stands for."""
    return tracer.val


def tracer_of(trace: Any, variable: Any) -> Any:
    """Return a tracer that stands for this variable of the trace."""
    return trace.var_to_tracer(variable, source_info_util.current())


def backends_started() -> bool:
    """Return whether JAX has started its threads in this process."""
    started: bool = xla_bridge.backends_are_initialized()
    return started


_CALLBACKS = frozenset(
    {
        buffer_callback_p,
        callbacks.io_callback_p,
        callbacks.pure_callback_p,
        debug_callback_p,
    }
)


def calls_python(primitive: Primitive, params: Mapping[str, Any]) -> bool:
    """Return whether an equation, or the body of its loop or branch, calls Python.

    Examples
    --------
    >>> body = lambda x: jax.pure_callback(abs, x, x)
    >>> (eqn,) = jax.make_jaxpr(lambda x: jax.lax.map(body, x))(np.ones(3)).eqns
    >>> eqn.primitive.name, calls_python(eqn.primitive, eqn.params)
    ('scan', True)
    """
    inner = (e for j in core.jaxprs_in_params(params) for e in j.eqns)
    return primitive in _CALLBACKS or any(
        calls_python(e.primitive, e.params) for e in inner
    )


def constants_inside() -> AbstractContextManager[Any]:
    """Return a context in which a program holds its constants, as `copies_of` needs."""
    context: AbstractContextManager[Any] = _config.use_simplified_jaxpr_constants(False)  # noqa: FBT003 (JAX's own signature)
    return context


def lowered_once(function: Any, specs: Sequence[Any]) -> tuple[Any, bool]:
    """Return a jitted function lowered for these operands, and whether it calls Python.

    JAX keeps nothing of it.
    A cache of JAX refers to the program from its own weak key if unused operands are
    kept: program, module and executable would stay, about a megabyte for each.
    Nor do the operations keep their locations. XLA names instructions after them, and
    `dynamic_slice.5` beside its own `dynamic-slice.5` became one function that called
    itself without end.
    """
    with tracing():
        traced = function.trace(*specs)
        lowered = traced.lower()
    module = lowered._lowering.stablehlo()
    with module.context:
        PassManager.parse("builtin.module(strip-debuginfo)").run(module.operation)
    _dce_jaxpr.evict_weakref(traced.jaxpr)
    return lowered, bool(lowered._lowering.compile_args["host_callbacks"])


_TRACES = (_trace_to_jaxpr, _infer_params_cached)
"""JAX's caches of traces, from weak keys; of the first no entry is ever dropped."""

_ARGUMENTS = (
    _process_in_axis_resources,
    _check_and_canonicalize_out_shardings,
    create_meta_ty,
    is_default_layout,
)
"""JAX's caches of facts about the arguments of what was lowered: about 0.1 MB for
each kernel, and little work to make again."""


_OURS = object()
_tracer = jax.make_user_context(default_value=None)
"""Who traces; JAX keeps traces apart by it."""


def tracing() -> AbstractContextManager[Any]:
    """Return a context for tracing what is kept elsewhere (see `forget_traces`)."""
    context: AbstractContextManager[Any] = _tracer(_OURS)
    return context


def forget_traces() -> None:
    """Let JAX forget traces of its own functions and jask's that jask alone made.

    It keeps that for every shape, for good, some 22 traces for a small program, of
    which jask keeps what it needs (`trace.flatten`). Traces of what a user has traced
    too stay, and so does all that was compiled: a gradient that is computed eagerly
    is compiled again if a function of `jax.numpy` in it is traced again.
    """
    for traces in _TRACES:
        keys = [(key[0](), key[1]) for key in traces.cache_keys()]
        users = {f for f, context in keys if all(v is not _OURS for v in context)}
        for function in {f for f, _ in keys} - users:
            if _home(function) in {"jask", "jax"}:
                traces.evict_weakref(function)
    for facts in _ARGUMENTS:
        facts.cache_clear()


def _home(function: Any) -> str:
    """Return the package of a function, or of the class of what is called like one."""
    made = function if isinstance(function, FunctionType) else type(function)
    return str(made.__module__).partition(".")[0]


def copies_of(compiled: Any) -> Callable[[int], Any]:
    """Return a function that gives each worker what was compiled for the first one.

    Loading the machine code again takes 2 ms where compiling takes 30 or more. It is
    taken down here: after its first run a program that sorts does not give it any more.
    """
    if worker_device() is None:
        return lambda _: compiled
    code, taken, given = serialize_executable.serialize(compiled)

    def copy(worker: int) -> Any:
        if worker == 0:
            return compiled
        device = worker_device(workers=worker + 1, worker=worker)
        return serialize_executable.deserialize_and_load(
            code, taken, given, backend=device.client, execution_devices=[device]
        )

    return copy


def in_place(host: np.ndarray[Any, Any]) -> jax.Array:
    """Return an array on this thread's device that XLA reads in place, if it can.

    On a CPU it can where the address is a multiple of 64. This is what `jax.device_put`
    comes to, at a tenth of its time, of which a small evaluation would spend a third.
    """
    made: jax.Array
    if jax.default_backend() != "cpu":
        made = jax.device_put(host, may_alias=True)
        return made
    device: Any = jax.config.jax_default_device
    if not isinstance(device, xla_client.Device):  # none, or the name of a platform
        device = _first_device(device)
    made = xla_client.batched_device_put(
        _aval(host.shape, host.dtype),
        _sharding(device),
        [host],
        [device],
        committed=False,
        enable_x64=True,
    )
    return made


@cache
def _first_device(backend: str | None) -> Any:
    return jax.local_devices(backend=backend)[0]


_aval = lru_cache(1024)(core.ShapedArray)
_sharding = cache(jax.sharding.SingleDeviceSharding)


class LateSum(ValAccum):
    """A sum of cotangents of which a part is added when the sum is asked for."""

    part: Any = None
    """What is still to be added, by `settle`."""
    trace: Any
    """The trace in which the part was made."""
    settle: Callable[["LateSum"], None]

    def freeze(self) -> Any:
        """Return the sum."""
        if self.part is not None:
            self.settle(self)
        return super().freeze()


def late_sum(accumulator: Any, settle: Callable[[LateSum], None]) -> LateSum | None:
    """Return an accumulator as one that can wait; None if it is of another kind."""
    if type(accumulator) is ValAccum:
        late: Any = accumulator
        late.__class__, late.settle = LateSum, settle
    return accumulator if isinstance(accumulator, LateSum) else None


# ---- what JAX 0.12 lacks for hijax types; tests/hijax/test_assumptions.py pins each


def inside_lowered() -> AbstractContextManager[Any]:
    """Return a context for lowering a result, inside the jaxpr that it is a result of.

    JAX lowers the results of a jaxpr within another one when the outer trace is current
    again. What is recorded for a constant would be in the outer jaxpr.
    """
    frame = sys._getframe(2)
    if frame.f_code.co_name != "lower_jaxpr" or not is_lowering():
        return nullcontext()
    return core.set_current_trace(frame.f_locals["trace"])


def wrap_callbacks(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Let each Python callback be wrapped where the program that has it is lowered.

    JAX says nowhere else on behalf of which call XLA runs a callback on its threads.
    """
    ordinary = callbacks.emit_python_callback

    def emit(ctx: Any, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return ordinary(ctx, wrap(callback), *args, **kwargs)

    callbacks.emit_python_callback = emit


def divert(
    primitive: Primitive,
    concerns: Callable[[Any], bool],
    instead: Callable[[Primitive, Sequence[Any], Mapping[str, Any]], Any],
) -> None:
    """Let a primitive of JAX do something else for operands of ours.

    JAX's own transformations bind a few primitives of arrays (`broadcast_in_dim` of
    what a mapped function returns) on values of any type. There is no other place to
    say what they mean for a hijax type.
    """
    ordinary = primitive.bind

    def bind(*args: Any, **params: Any) -> Any:
        if any(map(concerns, args)):
            return instead(primitive, args, params)
        return ordinary(*args, **params)

    primitive.bind = bind  # type: ignore[method-assign]  # JAX has no hook there


def _raising(lower: Callable[..., Sequence[Any]]) -> Callable[..., list[Any]]:
    """Return the lowering of `jax.checkpoint`, which forgets to raise its results."""

    def lowered(*args: Any, jaxpr: Any, **params: Any) -> list[Any]:
        outs = lower(*args, jaxpr=jaxpr, **params)
        if [jax.typeof(x) for x in outs] == list(jaxpr.out_avals):
            return list(outs)
        rest = iter(outs)
        return [
            t.raise_val(*islice(rest, len(t.lo_ty()))) if t.is_high else next(rest)
            for t in jaxpr.out_avals
        ]

    return lowered


def divert_operators(
    concerns: Callable[[Any], bool],
    reflected: Mapping[str, Callable[[Any, Any], Any]],
) -> None:
    """Let operators of traced JAX arrays leave values of ours to functions of ours.

    Between two tracers of one class Python does not try the reflected operator.
    """
    for name, instead in reflected.items():
        ordinary = getattr(ShapedArray, f"_{name}")
        setattr(ShapedArray, f"_{name}", _deferring(ordinary, concerns, instead))


def _deferring(
    ordinary: Callable[[Any, Any], Any],
    concerns: Callable[[Any], bool],
    instead: Callable[[Any, Any], Any],
) -> Any:
    def operator(x: Any, y: Any) -> Any:
        return instead(y, x) if concerns(y) else ordinary(x, y)

    return staticmethod(operator)


remat_p.to_lojax = _raising(remat_p.to_lojax)  # type: ignore[method-assign]  # mends JAX
