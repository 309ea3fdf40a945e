"""The values of lazy arrays, in memory: one evaluation for all."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jask._jax import in_place
from jask.config import current
from jask.errors import MemoryBudgetError
from jask.execute import run
from jask.execute.held import files_below, held_below
from jask.hijax.binding import settled
from jask.trace.graph import Handle, Node, Result
from jask.trace.structure import structure

__all__ = ["evaluate", "in_memory", "narrowed", "together_or_apart"]


def evaluate(
    nodes: Sequence[Node], destinations: Sequence[run.Destination] | None = None
) -> list[Any]:
    """Evaluate nodes as one program; waits for the calls that return their handles.

    Small values on the way that somebody holds are kept with their nodes.
    """
    if not nodes:
        return []
    to = [run.InMemory()] * len(nodes) if destinations is None else list(destinations)
    if current().block_bytes is None and all(isinstance(d, run.InMemory) for d in to):
        return _evaluate_freely(nodes)
    return run.evaluate(settled(nodes), to)


def _evaluate_freely(nodes: Sequence[Node]) -> list[Any]:
    """Evaluate to memory, with blocks as the planner chooses them."""
    graph = structure(nodes, kept=True)
    if any(isinstance(n, Handle) for n in graph.leaves):
        nodes = settled(nodes)
        graph = structure(nodes, kept=True)
    found = run.evaluate_small(graph)
    if found is not None:
        return found
    held = held_below(nodes)
    if held:
        return _evaluate_with(nodes, held)
    return run.evaluate(nodes, [run.InMemory()] * len(nodes), graph)


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


def together_or_apart(
    nodes: Sequence[Node], *, together: bool = True
) -> tuple[list[Any], bool]:
    """Evaluate nodes as one program, or one by one if that does not fit the budget.

    Return the values, and whether it was one program: without `together`, it is not.
    """
    if together:
        try:
            return evaluate(nodes), True
        except MemoryBudgetError:
            if len(nodes) == 1:
                raise
    return [value for node in nodes for value in evaluate([node])], False


def in_memory(value: np.ndarray[Any, Any], dtype: Any) -> jax.Array:
    """Return an evaluated value as a jax.Array; integers must fit the dtype."""
    return in_place(narrowed(value, dtype))


def narrowed(value: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
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
