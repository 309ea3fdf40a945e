"""What NumPy's own functions do with a DiskArray.

1. A ufunc, `numpy.exp(x)`, is the function of the same name of `jask.numpy`, and lazy.
2. `numpy.add.reduce(x)` is a sum, and so on; `accumulate`, `outer` and `reduceat` are
   the methods of the function's namesake.
3. With `out=`, an array in memory, it is evaluated into it: `a += x`.
4. A reduction, `numpy.sum(x)`, calls the method, with `out=None`.

What else NumPy has converts its operands: evaluated, within the memory budget.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from jask.numpy._engine import fetch, is_disk
from jask.numpy._table import check_operand, check_out

KNOWN = (np.ndarray, np.generic, jax.Array, bool, int, float, complex)
"""Operands that may stand beside a DiskArray; others may know how to handle it."""


def ufunc(
    _self: Any, function: Any, method: str, *operands: Any, out: Any = None, **more: Any
) -> Any:
    """Return what a ufunc of NumPy is here; NumPy calls it."""
    name = function.__name__
    others = [x for x in operands if not (is_disk(x) or isinstance(x, KNOWN))]
    if others and all(isinstance(x, (list, tuple)) for x in others):
        call = name if method == "__call__" else f"{name}.{method}"
        check_operand(f"numpy.{call}", others[0])
    if others:
        return NotImplemented
    own = _namesake(function, method)
    if method == "reduce":  # along the first axis, unless told otherwise
        given = {k: v for k, v in more.items() if k == "axis" or v is not None}
        more = {"axis": 0} | given
    if own is None or (more and method == "__call__"):
        call = name if method == "__call__" else f"{name}.{method}"
        keys = "".join(f", {key}=..." for key in more)
        msg = (
            f"numpy.{call}(x{keys}) of a disk array is not possible without loading "
            "it. Use a function of jask.numpy, or numpy.asarray(x) first."
        )
        raise TypeError(msg)
    result = own(*operands, **more)
    return result if out is None else _into(name, out, result)


REDUCTIONS = {
    "add": "sum",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "max",
    "minimum": "min",
    "multiply": "prod",
}
"""What reducing by a ufunc is called."""


def _namesake(function: Any, method: str) -> Callable[..., Any] | None:
    """Return the function of `jask.numpy` that means what a ufunc of NumPy means."""
    import jask.numpy as namespace  # noqa: PLC0415 - the namespace imports this module

    name = function.__name__
    if getattr(np, name, None) is not function:
        return None
    names = {"__call__": name, "reduce": REDUCTIONS.get(name)}
    found: Callable[..., Any] | None = getattr(namespace, names.get(method) or "", None)
    if found is None and method != "at":  # which changes an array in place
        own = getattr(namespace, name, None)
        found = getattr(own, method, None) if isinstance(own, namespace.ufunc) else None
    return found


def _into(name: str, out: tuple[Any, ...], result: Any) -> Any:
    """Evaluate results into arrays in memory; return those."""
    results = result if isinstance(result, tuple) else (result,)
    if not all(isinstance(o, np.ndarray) for o in out):
        msg = f"numpy.{name}: out must be NumPy arrays; disk arrays are immutable."
        raise TypeError(msg)
    for target, value in zip(out, fetch(name, *results), strict=True):
        np.copyto(target, value, casting="same_kind")
    return out if isinstance(result, tuple) else out[0]


def without_out(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that takes the `out=None` that NumPy's functions pass."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, out: Any = None, **options: Any) -> Any:
        check_out(function.__name__, out)
        return function(self, *args, **options)

    return method
