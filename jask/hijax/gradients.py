"""Where the gradient of a file belongs: beside it, under its name plus `.grad`.

1. What pulls a cotangent back to an array in a file marks the cotangent with the array;
   so it does for an argument of a jitted function, which may turn out to be one.
2. The sum of two cotangents of one array is marked so too.
3. A mark is an operation that returns its first operand: programs do not see it, and
   nothing is read to find out where a gradient belongs.

A folder that cannot be written gets no gradients: they go where values without a file
go. An array in scratch has no place that lasts, and so has its gradient.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax

from jask.hijax.handles import Owed
from jask.stores.scratch import ScratchStore
from jask.trace.graph import Call, Handle, Node, Operation, Result, Source, is_turned

__all__ = ["beside", "gradient_path", "mark_pulled_back", "mark_sum"]


def _first(gradient: jax.Array, array: jax.Array) -> jax.Array:  # noqa: ARG001 (an operand all the same)
    return gradient


_MARK = Operation(_first, "gradient", x64=True)


def mark_pulled_back(
    results: Sequence[Node], operands: Sequence[Node], wanted: Sequence[bool]
) -> list[Node]:
    """Return the cotangents of the wanted operands, marked where these have files."""
    if not wanted:
        return list(results)
    chosen = [o for o, w in zip(operands, wanted, strict=False) if w]
    pairs = zip(results, chosen, strict=True)
    return [_mark(r, o) if _may_have_file(o) else r for r, o in pairs]


def mark_sum(result: Node, x: Node, y: Node) -> Node:
    """Return the sum of two cotangents, marked if both are of one array."""
    array = _marked_with(x)
    return (
        result
        if array is None or array is not _marked_with(y)
        else _mark(result, array)
    )


def gradient_path(node: Node) -> Path | None:
    """Return where a gradient belongs; waits for the call that returns it, if any."""
    array = _marked_with(_known(node))
    return None if array is None else beside(_known(array))


def beside(array: Node) -> Path | None:
    """Return where the gradient of a stored array belongs, if it has a place."""
    if is_turned(array):
        (array,) = array.call.operands
    store: Any = array.store if isinstance(array, Source) else None
    path = getattr(store, "path", None)
    if path is None or isinstance(store, ScratchStore):
        return None
    return Path(f"{path}.grad") if os.access(path.parent, os.W_OK) else None


def _mark(gradient: Node, array: Node) -> Node:
    call = Call(_MARK, (gradient, array))
    return Result(gradient.shape, gradient.dtype, call, 0)


def _marked_with(node: Node) -> Node | None:
    if isinstance(node, Result) and node.call.operation is _MARK:
        return node.call.operands[1]
    return None


def _may_have_file(node: Node) -> bool:
    return isinstance(node, Handle) or beside(node) is not None


def _known(node: Node) -> Node:
    owed = node.value if isinstance(node, Handle) else None
    return owed.node() if isinstance(owed, Owed) else node
