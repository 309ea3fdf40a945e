"""How the rows of the facade become functions.

1. A row names a function, the pure `jax.numpy`-level kernel that says what it does,
   and its facts (what it computes, dtypes, an example).
2. A maker turns the row into a function with a real signature and a docstring.
3. Calling it goes through `call`, which checks the operands and builds a lazy array.

Nothing here computes: every function reads nothing and returns at once.
"""

import inspect
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from jask.numpy._engine import apply

type Array = Any
"""A DiskArray, or a tracer of one."""

type Operand = Any
"""What a function accepts: a DiskArray, a JAX or NumPy array, or a Python scalar."""

type Axis = int | Sequence[int] | None
"""One axis, several, or all."""

STREAMS = "Reads nothing until a value is asked for; then streams in one pass."


def call(
    kernel: Callable[..., Any],
    *operands: Any,
    name: str,
    wide: bool = False,
    **static: Any,
) -> Any:
    """Apply a pure `jax.numpy`-level function lazily.

    `wide` says that the function is traced with 64-bit types on, whatever
    `jax_enable_x64` says, because an index or an explicit dtype needs them.
    """
    checked = [
        check_operand(name, x)
        if is_not_container(x)
        else jax.tree.map(partial(check_operand, name), x, is_leaf=is_not_container)
        for x in operands
    ]
    return apply(kernel, *checked, name=name, static=static, x64=wide)


def is_not_container(x: Any) -> bool:
    """Return whether `x` is an operand, right or wrong, and not a group of them."""
    return not isinstance(x, (list, tuple)) and x is not None


def check_operand(name: str, x: Any) -> Any:
    """Return an operand, or raise TypeError for what is not an array."""
    if isinstance(x, np.generic):
        x = np.asarray(x)
    if is_array(x):
        if getattr(x.dtype, "kind", "") in "OSUMm":
            msg = f"{name}: an array must have numeric or bool elements; got {x.dtype}."
            raise TypeError(msg)
        return x
    if isinstance(x, (bool, int, float, complex)):
        return x
    msg = (
        f"{name}: an operand must be an array or a Python scalar; got "
        f"{type(x).__name__}. Convert it with jask.numpy.asarray."
    )
    raise TypeError(msg)


def check_out(name: str, out: Any) -> None:
    """Raise TypeError for an `out` that is given: no array is written into."""
    if out is not None:
        msg = f"{name}: arrays are immutable; out must be None; got {type(out)}."
        raise TypeError(msg)


def check_arrays(name: str, arrays: Any) -> list[Any]:
    """Return a sequence of operands as a list; an array is a sequence of its rows."""
    if hasattr(arrays, "shape"):
        return [arrays[i] for i in range(len(arrays))]
    if not isinstance(arrays, (list, tuple)):
        msg = f"{name}: must be given a tuple or list of arrays; got {type(arrays)}."
        raise TypeError(msg)
    if not arrays:
        msg = f"{name}: needs at least one array."
        raise ValueError(msg)
    return list(arrays)


def is_array(x: Any) -> bool:
    """Return whether `x` has elements: not a Python scalar, a dtype or a type."""
    return hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, type)


def shape_of(x: Operand) -> tuple[int, ...]:
    """Return the shape of any operand; `()` for a Python scalar."""
    return tuple(getattr(x, "shape", ()))


def ndim_of(x: Operand) -> int:
    """Return the number of axes of any operand."""
    return len(shape_of(x))


def axis_index(axis: Any, ndim: int) -> int:
    """Return one axis, counted from the front; AxisError when there is none such."""
    return int(normalize_axis_index(_as_index(axis), ndim))


def axes_tuple(axis: Axis, ndim: int) -> tuple[int, ...] | None:
    """Return axes counted from the front; None stays None (all axes)."""
    if axis is None:
        return None
    one = not isinstance(axis, (list, tuple))
    axes = (axis,) if one else tuple(axis)  # type: ignore[arg-type]
    return tuple(normalize_axis_tuple(tuple(map(_as_index, axes)), ndim))


def _as_index(axis: Any) -> int:
    """Return an axis as an int; floats and the like are a TypeError."""
    return operator.index(axis)


def dtype_or_none(dtype: Any) -> np.dtype[Any] | None:
    """Return what names an element type as a dtype; None stays None."""
    return None if dtype is None else as_dtype(dtype)


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """Return what names an element type as a dtype; Python types as JAX reads them."""
    if any(dtype is kind for kind in (bool, int, float, complex)):
        return default_dtype(dtype)
    found: np.dtype[Any] = np.dtype(dtype)
    if found.kind in "OSUMm":
        msg = f"A dtype must be numeric or bool; got {found}."
        raise TypeError(msg)
    return found


def is_wide(dtype: np.dtype[Any] | None) -> bool:
    """Return whether a dtype exists in JAX only with 64-bit types on."""
    if dtype is None:
        return False
    return int(dtype.itemsize) // (2 if dtype.kind == "c" else 1) > 4


def finish[F: Callable[..., Any]](function: F, name: str, module: str, doc: str) -> F:
    """Give a function made by a maker its name, its home and its docstring."""
    function.__name__ = name
    function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = doc
    return function


def documented(summary: str, parameters: str, returns: str, example: str) -> str:
    """Return a docstring in the NumPy style; an example is `call -> shown`.

    A list in an example stands for the array of its elements.
    """
    source, _, shown = example.partition(" -> ")
    source = source.replace("[", "jnp.asarray([").replace("]", "])")
    lines = [
        f"{summary}.", "",
        "Parameters", "----------", parameters, "",
        "Returns", "-------", "array", f"    {returns}", "    " + STREAMS, "",
        "Examples", "--------",
        ">>> import jask", ">>> import jask.numpy as jnp",
        f">>> jask.materialize(jnp.{source})", shown, "",
    ]  # fmt: skip
    return "\n".join(lines)


def _example(name: str, row: str) -> str:
    """Return `name(arguments) -> shown` from a row's `arguments -> shown`."""
    arguments, _, shown = row.partition(" -> ")
    return f"{name}({arguments}) -> {shown}"


def unary(
    name: str,
    kernel: Callable[..., Any],
    summary: str,
    dtypes: str,
    example: str,
    *,
    module: str,
) -> Callable[[Operand], Array]:
    """Return an elementwise function of one array."""

    def function(x: Operand, /) -> Array:
        with _dtypes_named(name, x):
            return call(kernel, check_operand(name, x), name=name)

    doc = documented(
        summary,
        "x : array\n    The operand.",
        f"The shape of `x`; {dtypes}.",
        _example(name, example),
    )
    return finish(function, name, module, doc)


def binary(
    name: str,
    kernel: Callable[..., Any],
    summary: str,
    dtypes: str,
    example: str,
    *,
    module: str,
) -> Callable[[Operand, Operand], Array]:
    """Return an elementwise function of two arrays that broadcast together."""

    def function(x1: Operand, x2: Operand, /) -> Array:
        check_operand(name, x1), check_operand(name, x2)
        with _dtypes_named(name, x1, x2):
            return call(kernel, x1, x2, name=name)

    doc = documented(
        summary,
        "x1, x2 : array or scalar\n    The operands; their shapes must broadcast.",
        f"The broadcast shape; {dtypes}.",
        _example(name, example),
    )
    return finish(function, name, module, doc)


class _dtypes_named:
    """Raise TypeError with the operands' dtypes where a function refuses them."""

    def __init__(self, name: str, *operands: Operand) -> None:
        self.name, self.operands = name, operands

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if type(error) is not TypeError:
            return
        dtypes = [str(getattr(x, "dtype", type(x).__name__)) for x in self.operands]
        said = str(error)
        if not all(d in said for d in dtypes):
            msg = f"{self.name}: is not defined for {' and '.join(dtypes)}. {said}"
            raise TypeError(msg) from error


def check_device(name: str, device: Any) -> None:
    """Raise ValueError for a device that is not the one there is."""
    if device is not None and device != DEVICE:
        msg = f"{name}: the device must be {DEVICE!r} or None; got {device!r}."
        raise ValueError(msg)


DEVICE = "disk"
"""The one device of jask's arrays."""


def default_dtype(kind: type) -> np.dtype[Any]:
    """Return the dtype of a Python number's type under the user's flag."""
    return np.dtype(jax.dtypes.canonicalize_dtype(np.dtype(kind)))


_PARAMETERS = {
    "x": ("array", "The operand."),
    "dtype": ("dtype, optional", "Of the result."),
    "keepdims": ("bool", "Keep the reduced axes with length one."),
    "out": ("None", "For compatibility: arrays are immutable."),
    "where": ("array, optional", "Elements to take."),
    "initial": ("array, optional", "Start value."),
    "promote_integers": ("bool", "False: small integers keep their dtype."),
    "correction": ("number", "Taken off the count that the squares are divided by."),
    "ddof": ("number", "NumPy's name for `correction`."),
    "mean": ("array, optional", "The mean, where it is known."),
    "include_initial": ("bool", "Put the value of an empty selection first."),
}
"""What the parameters of functions along axes take, and what they do."""


def documented_reduction(
    function: Callable[..., Any], name: str, summary: str, dtypes: str, example: str
) -> str:
    """Return the docstring of a function that works along axes, from its signature."""
    lines = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "axis":
            several = parameter.annotation is Axis
            takes = "int, tuple of ints or None" if several else "int or None"
            does = "Where to work; None: everywhere."
        else:
            takes, does = _PARAMETERS[parameter.name]
        lines.append(f"{parameter.name} : {takes}\n    {does}")
    returns = f"Along the axes; {dtypes}."
    return documented(summary, "\n".join(lines), returns, _example(name, example))
