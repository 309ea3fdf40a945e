"""How a vector of handles stands for a stack of disk arrays.

`lax.scan` walks what it is given along the leading axis, and stacks what its steps
return; reverse mode does so with what a step leaves for the way back. The lowered form
of a stack is one handle for each row.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jask.execute import run
from jask.stores.row import RowStore
from jask.trace.graph import Call, Dense, Node, Operation, Result, Source

__all__ = ["rows", "stack"]


def _stack(*arrays: jax.Array) -> jax.Array:
    return jnp.stack(arrays)


_STACK = Operation(_stack, "stack", x64=True)


def rows(node: Node) -> list[Node]:
    """Return the rows of an array; of a stack, what was stacked.

    An expression is evaluated first, and kept as long as the rows are: each row would
    be computed from all of it again.
    """
    if isinstance(node, Result) and node.call.operation is _STACK:
        return list(node.call.operands)
    shape, dtype = node.shape[1:], node.dtype
    if isinstance(node, Dense):
        return [Dense(shape, dtype, row) for row in np.asarray(node.value)]
    stored: Any
    if isinstance(node, Source):
        stored = node.store
    else:
        (stored,) = run.evaluate([node], [run.ToScratch()])
    return [Source(shape, dtype, RowStore(stored, i)) for i in range(node.shape[0])]


def stack(nodes: Sequence[Node], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Node:
    """Return the array of this shape that has these rows, lazily."""
    if nodes:
        return Result(shape, dtype, Call(_STACK, tuple(nodes)), 0)
    return Dense(shape, dtype, np.zeros(shape, dtype))
