"""Where the facade meets the rest of jask: the only file here that knows its names."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jask.algorithms.select import place, positions, select
from jask.array import SMALL, DiskArray, from_numpy
from jask.config import current
from jask.errors import MemoryBudgetError
from jask.execute.run import InMemory, ToScratch
from jask.execute.small import MOST_ELEMENTS
from jask.geometry.box import Box
from jask.hijax.apply import apply
from jask.hijax.materialize import dematerialize, evaluate
from jask.hijax.type import is_disk, make_value
from jask.stores.base import read_block
from jask.stores.mapped import is_lent
from jask.stores.memory import MemoryStore
from jask.trace.graph import Dense, Node, Part, Result, Source, kept_value, walk

__all__ = [
    "DiskArray",
    "alias",
    "apply",
    "concrete",
    "current",
    "fetch",
    "fits_easily",
    "from_store",
    "host_value",
    "in_memory_value",
    "is_at_hand",
    "is_disk",
    "is_forced",
    "is_lent",
    "is_stored",
    "is_traced",
    "lies_in",
    "place",
    "positions",
    "rebind",
    "select",
    "stored",
    "takes_much",
    "to_disk",
]


def is_traced(x: Any) -> bool:
    """Return whether `x` is a tracer, of an in-memory or of a disk array."""
    return isinstance(x, jax.core.Tracer)


def to_disk(x: Any) -> Any:
    """Return an in-memory array as a DiskArray; a DiskArray is returned as it is."""
    if is_disk(x):
        return x
    plain = isinstance(x, (np.ndarray, np.generic))  # 64-bit values stay so
    return from_numpy(x) if plain else dematerialize(x)


def alias(x: Any) -> Any:
    """Return another object for the same array, which keeps it when `x` is rebound."""
    return make_value(x.node) if isinstance(x, DiskArray) else x


def rebind(x: DiskArray, new: DiskArray) -> None:
    """Let `x` stand for another expression; whatever file it read is untouched."""
    x._init(new.node)


def fetch(name: str, *arrays: Any) -> list[np.ndarray[Any, Any]]:
    """Evaluate arrays now, in one go; MemoryBudgetError if they do not fit.

    Under a trace there is nothing to evaluate: JAX's concretization error.
    """
    concrete(name, *arrays)
    nodes = [x.node for x in arrays if is_disk(x)]
    try:
        values = iter(evaluate(nodes))
    except MemoryBudgetError as error:
        raise _operands_too_large(name, nodes, error) from None
    return [next(values) if is_disk(x) else np.asarray(x) for x in arrays]


def _operands_too_large(
    name: str, nodes: Sequence[Node], error: MemoryBudgetError
) -> MemoryBudgetError:
    """Return what to raise where operands do not fit, or cannot be computed."""
    needed, budget = sum(n.nbytes for n in nodes), current().memory_budget
    if needed <= budget:
        msg = f"{name} needs its operands in memory: {error}"
    else:
        msg = (
            f"{name} needs its operands in memory: they take {needed} bytes, over the "
            f"memory budget of {budget} bytes. Give it a part of them, or allow more"
        )
        enough = error.budget
        msg += f": jask.set_memory_budget({enough}) would do." if enough else "."
    return MemoryBudgetError(msg, error.budget)


def concrete(name: str, *arrays: Any) -> None:
    """Raise JAX's concretization error for arrays that have no values yet."""
    for x in arrays:
        if is_traced(x):
            raise jax.errors.ConcretizationTypeError(
                x, f"{name}: the shape of the result depends on values."
            )


def fits_easily(*arrays: Any) -> bool:
    """Return whether arrays can be in memory, twice, in a part of the budget."""
    return not is_forced() and 4 * sum(x.nbytes for x in arrays) <= (
        current().memory_budget
    )


def takes_much(x: Any, parts: int = 4) -> bool:
    """Return whether an array takes over a part of the memory budget: a quarter."""
    return parts * int(getattr(x, "nbytes", 0)) > current().memory_budget


def is_stored(x: Any) -> bool:
    """Return whether an array has its values in a store: in a file or in memory."""
    return isinstance(x, DiskArray) and isinstance(x.node, Source)


def stored(arrays: Sequence[Any]) -> list[Any]:
    """Return the stores of arrays; what is lazy is evaluated, in one go."""
    nodes = [to_disk(x).node for x in arrays]
    lazy = [n for n in nodes if not isinstance(n, Source)]
    small = min(SMALL, current().memory_budget // 8)
    to = [InMemory() if n.nbytes <= small else ToScratch() for n in lazy]
    made = iter(evaluate(lazy, to))
    return [n.store if isinstance(n, Source) else _as_store(next(made)) for n in nodes]


def _as_store(value: Any) -> Any:
    in_memory = isinstance(value, np.ndarray)
    return MemoryStore(value, copy=False) if in_memory else value


def lies_in(
    part: Any, whole: Any, start: tuple[int, ...], limit: tuple[int, ...]
) -> None:
    """Note that a part of what is stored is read in place, if it is in one piece.

    The parts of a file that a loop takes then share a plan.
    """
    if not (isinstance(whole, DiskArray) and isinstance(part, DiskArray)):
        return
    node, made = whole.node, part.node
    if isinstance(node, Source):
        known = Part(node.store, node.store)
    elif isinstance(node, Result) and node.part is not None:
        known = node.part
    else:
        return
    cut = getattr(known.store, "part", None)
    box = Box(tuple(map(int, start)), tuple(map(int, limit)))
    found = cut(box, part.shape) if cut else None
    if found is not None and isinstance(made, Result):
        made.lies_in(Part(found, known.whole))


def from_store(store: Any) -> DiskArray:
    """Return the array that a store holds."""
    made: DiskArray = make_value(Source(store.shape, store.dtype, store))
    return made


def is_at_hand(x: Any) -> bool:
    """Return whether an array comes from a few small arrays in memory, by few steps."""
    if not isinstance(x, DiskArray) or x.size > MOST_ELEMENTS:
        return False
    if isinstance(x.node, Result) and x.node.value is not None:
        return True
    nodes = walk([x.node])
    return len(nodes) <= 16 and all(map(_is_small, nodes))


def host_value(x: Any) -> np.ndarray[Any, Any] | None:
    """Return the values themselves of a small array that has them; None for others."""
    if not isinstance(x, DiskArray) or x.size > MOST_ELEMENTS:
        return None
    node = x.node
    if isinstance(node, Result):
        return kept_value(node)
    if isinstance(node, Dense) and not is_traced(node.value):
        return np.asarray(node.value)
    store = node.store if isinstance(node, Source) else None
    return store.array if isinstance(store, MemoryStore) else None


def is_forced() -> bool:
    """Return whether the user chose the size of blocks: nothing is done otherwise."""
    return current().block_bytes is not None


def _is_small(node: Node) -> bool:
    """Return whether a node is a small value in memory, or a small result."""
    if node.nbytes > MOST_ELEMENTS * node.dtype.itemsize:
        return False
    if isinstance(node, Source):
        return not node.store.on_disk
    return isinstance(node, Result) or (
        isinstance(node, Dense) and not is_traced(node.value)
    )


def in_memory_value(x: Any) -> np.ndarray[Any, Any] | None:
    """Return the values of an array that is already in memory; None for others."""
    if isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(x)
    if is_traced(x):
        return None
    if isinstance(x, jax.Array):
        return np.asarray(x)
    return _node_value(x.node) if isinstance(x, DiskArray) else None


def _node_value(node: Any) -> np.ndarray[Any, Any] | None:
    """Return the values of a node that holds them in memory; None for others."""
    if isinstance(node, Dense) and not is_traced(node.value):
        return np.asarray(node.value)
    if not isinstance(node, Source) or node.store.on_disk:
        return None
    return read_block(node.store)  # type: ignore[arg-type]
