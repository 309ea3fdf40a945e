"""How every other function of `jax.numpy` becomes a function of DiskArrays.

1. The arguments are bound to the signature of the `jax.numpy` function.
2. Arrays anywhere in them, and Python numbers where the signature says ArrayLike,
   are run-time operands; everything else is static.
3. The function itself is the kernel: what streams is what its primitives allow.

A function whose result has a shape that depends on values is evaluated at the call,
in memory, unless `size=` is given. What jask does not offer is a row of `REFUSED`.
"""

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jask.numpy import _kernels
from jask.numpy._engine import fetch, is_disk, to_disk
from jask.numpy._table import (
    call,
    check_operand,
    check_out,
    dtype_or_none,
    finish,
    is_array,
    is_wide,
)

type Function = Callable[..., Any]

_LIFTED = """{summary}

`{model}`, over arrays on disk.

Parameters
----------
{parameters}
    As in `{model}`. Arrays, and Python numbers that stand for arrays, are
    run-time operands; everything else is part of the program.

Returns
-------
array
    Shape and dtype as in `jax.numpy`. {memory}
"""

_LAZY = (
    "Reads nothing until a value is asked for; then streams where its\n"
    "    primitives do, and otherwise works in memory or raises MemoryBudgetError."
)

_EAGER = (
    "The shape depends on values: evaluated at the call, in\n"
    "    memory (MemoryBudgetError if it does not fit), or lazy where `size=` (for\n"
    "    bincount `length=`) is given."
)

_STREAMED = (
    "The shape depends on values: evaluated at the call, in a\n"
    "    few passes, into scratch, if an operand is large; lazy where `size=` is given."
)

FIXES_SHAPE = ("size", "length")
"""Arguments that say how long a result is whose length depends on values."""

_EXAMPLE = """
Examples
--------
>>> import jask
>>> import jask.numpy as jnp
>>> {source}
{shown}
"""


def lifted(
    function: Function,
    summary: str = "",
    example: str = "",
    *,
    module: str,
    first: tuple[str, ...] = (),
    wide: bool = False,
    **defaults: Any,
) -> Function:
    """Return a `jax.numpy` function as a lazy function of DiskArrays.

    `first` names the parameters that the standard takes by position only, `defaults`
    are the standard's where `jax.numpy` has others of the same meaning; `wide` says
    that the result is indices, int64 always.
    """
    known, model = function.__name__, function
    signature = _standard(inspect.signature(function), first, defaults)
    traced = operand_names(signature)
    if wide:
        function = _kernels.of_indices(function)

    @functools.wraps(function)
    def lazy(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        return call_bound(function, known, bound, traced, wide=wide)

    return _dressed(
        lazy, known, signature, module, _doc(model, signature, summary, example, _LAZY)
    )


def _standard(
    signature: inspect.Signature, first: tuple[str, ...], defaults: dict[str, Any]
) -> inspect.Signature:
    """Return a signature with first parameters by position only, other defaults.

    What JAX keeps for itself (`_dot_general`) is left out.
    """
    found = [p for p in signature.parameters.values() if not p.name.startswith("_")]
    for i, name in enumerate(first):
        found[i] = found[i].replace(name=name, kind=inspect.Parameter.POSITIONAL_ONLY)
    return signature.replace(
        parameters=[p.replace(default=defaults.get(p.name, p.default)) for p in found]
    )


def evaluated(
    function: Function,
    summary: str = "",
    example: str = "",
    *,
    module: str,
    streamed: Function | None = None,
    wide: bool = False,
) -> Function:
    """Return a function whose result's shape depends on values: evaluated at once.

    With `size=` or `length=`, which fix the shape, it is lazy. `streamed` does the same
    for operands larger than memory, or returns NotImplemented. `wide` says that the
    result may need 64-bit types.
    """
    name = function.__name__
    signature = inspect.signature(function)
    traced = operand_names(signature)

    @functools.wraps(function)
    def eager(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        if any(bound.arguments.get(given) is not None for given in FIXES_SHAPE):
            return call_bound(function, name, bound, traced, wide=wide)
        found: Any = NotImplemented
        if streamed is not None:
            found = streamed(*bound.args, **bound.kwargs)
        return _call_now(function, name, bound) if found is NotImplemented else found

    memory = _EAGER if streamed is None else _STREAMED
    doc = _doc(function, signature, summary, example, memory)
    return _dressed(eager, name, signature, module, doc)


def _dressed(
    function: Function, name: str, signature: inspect.Signature, module: str, doc: str
) -> Function:
    """Give a lifted function the name and the signature of its model."""
    del function.__wrapped__  # type: ignore[attr-defined]
    _sign(function, signature)
    return finish(function, name, module, doc)


def _sign(function: Function, signature: inspect.Signature) -> None:
    """Give a function the signature of its model, without annotations."""
    function.__annotations__ = {}
    plain = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=plain, return_annotation=signature.empty
    )


def _doc(
    model: Function,
    signature: inspect.Signature,
    summary: str,
    example: str,
    memory: str,
) -> str:
    """Return the docstring of a lifted function; its summary may be its model's."""
    parameters = ", ".join(
        ("*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else "")
        + p.name
        for p in signature.parameters.values()
    )
    text = _LIFTED.format(
        summary=f"{summary}." if summary else _summary_of(model),
        model=_full_name(model),
        parameters=parameters,
        memory=memory,
    )
    if example:
        source, _, shown = example.partition(" -> ")
        text += _EXAMPLE.format(source=source, shown=shown)
    return text


def _summary_of(model: Function) -> str:
    """Return the first line of what JAX says of its function, without markup."""
    first = (inspect.getdoc(model) or model.__name__).partition("\n")[0]
    return re.sub(r":\w+:(`[^`]*`)", r"\1", first).rstrip(".") + "."


def _full_name(model: Function) -> str:
    """Return how a user writes the name of a function of `jax.numpy`."""
    name = model.__name__
    for part in ("linalg", "fft"):
        if part in model.__module__ and hasattr(getattr(jax.numpy, part), name):
            return f"jax.numpy.{part}.{name}"
    return f"jax.numpy.{name}"


def operand_names(signature: inspect.Signature) -> frozenset[str]:
    """Return the parameters for which a Python number stands for an array."""
    return frozenset(
        p.name
        for p in signature.parameters.values()
        if "Array" in str(p.annotation) and p.name not in _ALWAYS_STATIC
    )


_ALWAYS_STATIC = frozenset(
    ("axis", "axes", "k", "n", "N", "M", "deg", "num", "decimals", "offset", "source",
     "shift", "pad_width", "indices_or_sections", "size", "minlength", "length", "m",
     "total_repeat_length", "repeats", "ord", "invert", "bins", "range", "obj", "d")
)  # fmt: skip


def call_bound(
    function: Function,
    name: str,
    bound: inspect.BoundArguments,
    traced: frozenset[str],
    *,
    wide: bool = False,
) -> Any:
    """Call lazily: operands apart, the rest static."""
    check_out(name, bound.arguments.get("out"))
    wide = wide or asks_for_64_bits(bound.arguments)
    operands: list[Any] = []

    def separate(value: Any, *, numbers: bool) -> Any:
        if is_array(value) and (
            numbers or not isinstance(value, (np.ndarray, np.generic))
        ):
            operands.append(check_operand(name, value))
            return _kernels.OPERAND
        if numbers and type(value) in (bool, int, float, complex):
            operands.append(value)
            return _kernels.OPERAND
        return frozen(value)

    kept = {
        key: jax.tree.map(
            functools.partial(separate, numbers=key in traced), value, is_leaf=_is_leaf
        )
        for key, value in bound.arguments.items()
    }
    remade = inspect.BoundArguments(bound.signature, kept)
    leaves, tree = jax.tree.flatten((remade.args, remade.kwargs), is_leaf=_is_leaf)
    options = {"function": function, "tree": tree, "constants": tuple(leaves)}
    with _one_axis_error(name, bound):
        return call(_kernels.call_flat, operands, name=name, wide=wide, **options)


def asks_for_64_bits(arguments: Mapping[str, Any]) -> bool:
    """Return whether arguments name a dtype that needs 64-bit types; it is honoured."""
    named = (arguments.get(k) for k in ("dtype", "preferred_element_type"))
    return any(is_wide(_named_dtype(d)) for d in named)


def _named_dtype(named: Any) -> np.dtype[Any] | None:
    """Return a dtype; None for what names none, which the function says itself."""
    try:
        return dtype_or_none(named)
    except TypeError:
        return None


@contextlib.contextmanager
def _one_axis_error(name: str, bound: inspect.BoundArguments) -> Iterator[None]:
    """Raise NumPy's AxisError where there is no such axis.

    `jax.numpy` says so in several ways.
    """
    try:
        yield
    except (AssertionError, IndexError, ValueError) as error:
        axis, said = bound.arguments.get("axis"), str(error)
        known = isinstance(error, AssertionError) or any(w in said for w in _NO_AXIS)
        if axis is None or not known:
            raise
        msg = f"{name}: axis {axis} is out of bounds."
        raise np.exceptions.AxisError(msg) from error


_NO_AXIS = ("out of bounds for array of dim", "out of bounds for axis", "out of range")


def _is_leaf(value: Any) -> bool:
    """Return whether a value is an argument as it stands."""
    return is_array(value) or is_disk(value)


def frozen(value: Any) -> Any:
    """Return a static argument in a hashable form."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _kernels.Frozen.of(np.asarray(value))
    return value


def _call_now(function: Function, name: str, bound: inspect.BoundArguments) -> Any:
    """Evaluate the operands, call in memory, and wrap the results."""
    args, tree = jax.tree.flatten((bound.args, bound.kwargs), is_leaf=_is_leaf)
    where = [i for i, a in enumerate(args) if is_disk(a) or is_array(a)]
    for i, value in zip(where, fetch(name, *(args[i] for i in where)), strict=True):
        args[i] = value
    with jax.enable_x64(True):  # noqa: FBT003 - JAX's signature
        positional, named = jax.tree.unflatten(tree, args)
        with _one_axis_error(name, bound):
            return jax.tree.map(_wrapped, function(*positional, **named))


def _wrapped(value: Any) -> Any:
    """Return an array as a DiskArray; anything else as it is."""
    return to_disk(np.asarray(value)) if is_array(value) else value


def made(function: Function, *, module: str) -> Function:
    """Return a function that makes an in-memory array, wrapped."""
    name = function.__name__
    signature = inspect.signature(function)

    def make(*args: Any, **kwargs: Any) -> Any:
        wide = asks_for_64_bits(signature.bind(*args, **kwargs).arguments)
        with jax.enable_x64(wide or jax.config.jax_enable_x64):
            return _wrapped(function(*args, **kwargs))

    doc = f"What `jax.numpy.{name}` makes, in memory, as a DiskArray.\n"
    _sign(make, signature)
    return finish(make, name, module, doc)


class IndexMaker:
    """`mgrid`, `ogrid`, `r_` or `c_` of `jax.numpy`: arrays by slice notation."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getitem__(self, key: Any) -> Any:
        """Return the arrays that a key describes."""
        key = jax.tree.map(_fetched, key, is_leaf=_is_leaf)
        return jax.tree.map(_wrapped, self._model[key])


def _fetched(value: Any) -> Any:
    """Return the values of a DiskArray; anything else as it is."""
    return fetch("index", value)[0] if is_disk(value) else value


REFUSED = {
    "load": "jask.open opens files without reading them",
    "save": "jask.save writes arrays of any size",
    "savez": "jask.save({path: x, ...}) writes several arrays in one set of passes",
}
"""Names of `jax.numpy` that jask does not have, each with its reason."""
