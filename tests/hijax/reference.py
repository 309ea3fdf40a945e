"""A second evaluator, in memory and without plans, to compare and to isolate with."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import numpy as np

from jask._jax import kernel_device
from jask.geometry.box import Box
from jask.trace.graph import Dense, Node, Operation, Result, Source, walk


def evaluate(nodes: Sequence[Node], destinations: Sequence[Any], *_: Any) -> list[Any]:
    """Return every node's value as a NumPy array, whatever the destination."""
    assert len(destinations) == len(nodes)
    values: dict[int, Any] = {}
    with kernel_device():
        for node in walk(nodes):
            values[id(node)] = _value(node, values)
        return [np.asarray(values[id(n)]) for n in nodes]


@cache
def _jitted(operation: Operation) -> Any:
    return jax.jit(operation.function)


def _value(node: Node, values: dict[int, Any]) -> Any:
    match node:
        case Source(store=store):
            buffer = np.empty(store.shape, store.dtype)
            store.read(Box.whole(store.shape), buffer)  # type: ignore[attr-defined]
            return buffer
        case Dense(value=value):
            return np.asarray(value)
        case Result(call=call, index=index):
            operation = call.operation
            weak = operation.weak or (False,) * len(call.operands)
            operands = [
                values[id(o)].item() if w else values[id(o)]
                for o, w in zip(call.operands, weak, strict=True)
            ]
            with jax.enable_x64(operation.x64):
                out = _jitted(operation)(*operands)
            return np.asarray(jax.tree.leaves(out)[index])
        case _:
            raise AssertionError(node)
