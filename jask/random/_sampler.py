"""How a sampler of `jax.random` becomes a lazy function.

1. The arguments are bound to the signature of the `jax.random` function.
2. Its key and the parameters that its signature calls arrays are operands; the rest,
   such as the shape, is static.
3. The sampler itself is the operation: what streams is what its primitives allow.
"""

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np

from jask.hijax.apply import apply
from jask.numpy._table import as_dtype, check_operand, finish, is_array, is_wide
from jask.trace.flatten import STEADY
from jask.trace.keys import is_key

type Sampler = Callable[..., Any]

_DOC = """{summary}, as `jax.random.{name}` draws them.

Parameters
----------
key : key
    One key, from `jax.random.key` or `jax.random.split`; use each key once.
{parameters}
    As in `jax.random.{name}`; numbers and arrays, on disk or not, where those are
    arrays.

Returns
-------
array
    Shape and dtype as in `jax.random`, and the same values; a 64-bit `dtype=` is
    honoured whatever `jax_enable_x64` says. {memory}

Examples
--------
>>> import jask, jax
>>> key = jax.random.key(0)
>>> jask.random.{name}(key, {example})
{shown}
"""

_STREAMS = "Nothing is drawn until a value is asked for;\n    then block by block."
_WHOLE = (
    "Nothing is drawn until a value is asked for;\n    then in memory "
    "(MemoryBudgetError if it does not fit)."
)


def sampler(name: str, summary: str, example: str, *, whole: bool = False) -> Sampler:
    """Return a sampler of `jax.random` as a lazy function."""
    model = getattr(jax.random, name)
    found = inspect.signature(model).parameters.values()
    kept = [p for p in found if p.name != "out_sharding"]
    arrays = frozenset(p.name for p in kept if "Array" in str(p.annotation))
    plain = [p.replace(annotation=p.empty) for p in kept]
    signature = inspect.Signature(plain)

    def draw(*args: Any, **kwargs: Any) -> Any:
        return _draw(model, arrays, signature.bind(*args, **kwargs).arguments)

    draw.__signature__ = signature  # type: ignore[attr-defined]  # inspect looks there
    doc = _DOC.format(
        name=name,
        summary=summary,
        parameters=", ".join(p.name for p in plain[1:]),
        memory=_WHOLE if whole else _STREAMS,
        example=example.partition(" -> ")[0],
        shown=f"DiskArray({example.partition(' -> ')[2]}, lazy)",
    )
    return finish(draw, name, "jask.random", doc)


def _draw(model: Sampler, arrays: frozenset[str], given: dict[str, Any]) -> Any:
    """Apply a sampler: its key and its arrays are operands, the rest is static."""
    name = model.__name__
    operands: dict[str, Any] = {}
    static: dict[str, Any] = {}
    for argument, value in given.items():
        if argument == "key":
            operands[argument] = _one_key(name, value)
        elif argument == "dtype" and value is not None:
            static[argument] = as_dtype(value)
        elif argument in arrays and _is_operand(argument, value):
            operands[argument] = check_operand(name, value)
        else:
            static[argument] = value
    _check_shape(name, static.get("shape"))
    wide = is_wide(static.get("dtype"))
    return apply(_by_name(model), operands, name=name, static=static, x64=wide)


def _check_shape(name: str, shape: Any) -> None:
    """Raise ValueError for a shape with a negative length."""
    if isinstance(shape, tuple | list) and any(n < 0 for n in shape):
        msg = f"{name}: a shape must not have negative lengths; got {shape}."
        raise ValueError(msg)


def _one_key(name: str, value: Any) -> Any:
    """Return a key, or the numbers of one; TypeError for anything else."""
    raw = is_array(value) and not is_key(value.dtype) and value.dtype == np.uint32
    if raw or (isinstance(value, jax.Array) and is_key(value.dtype)):
        return value
    msg = (
        f"{name}: the first argument must be a random key, made by jax.random.key; got "
        f"{type(value).__name__}: {value!r:.80}."
    )
    raise TypeError(msg)


def _is_operand(argument: str, value: Any) -> bool:
    """Return whether a parameter is an array or stands for one.

    An integer is how many there are to choose from or to permute.
    """
    counted = argument in {"a", "x"} and type(value) is int
    return value is not None and not counted


@cache
def _by_name(model: Sampler) -> Sampler:
    """Return a sampler that takes its arrays in a dict."""

    def named(arrays: dict[str, Any], **static: Any) -> Any:
        def drawn(arrays: dict[str, Any]) -> Any:
            return model(**arrays, **static)

        drawn.__name__ = STEADY
        return jax.jit(drawn)(arrays)

    return named
