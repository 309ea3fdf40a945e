"""Which values on the way to a result does the user still hold? Small ones are kept.

A Python loop that looks at its state (`while float(norm(x - y)) > tol: x = step(x)`)
would compute its whole history at each look: `x` is an expression of the last `x`, and
that of the one before. So what is evaluated hands on, as further results, every small
value that an array object stands for and that is computed on the way in any case; the
node keeps it, and what is made from it later starts there. A file that was changed in
the meantime is an error then, as it would be at a read.

Large values are not kept: `persist` does that where the user says so.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeGuard

from jask._jax import eagerly, kernel_device
from jask.config import current
from jask.execute.small import KEEP_BYTES
from jask.trace.build import build
from jask.trace.graph import Node, Result, Source, Stored, is_held, is_turned, walk
from jask.trace.ir import Equation, Program, Var
from jask.trace.structure import Structure, structure

__all__ = ["files_below", "held_below"]

MOST = 16
"""Values kept by one evaluation; those nearest to the results."""

SHARE = 64
"""Part (1/64) of the memory budget that they may take together."""

KNOWN = 4096
"""Graphs of which it is known what is computed in any case."""

_known: OrderedDict[Any, tuple[bool, ...]] = OrderedDict()


def held_below(targets: Sequence[Node]) -> list[Result]:
    """Return small results that are held, and computed on the way to the targets."""
    order = walk(targets)
    if not any(isinstance(n, Source) and n.store.on_disk for n in order):
        return []
    wanted = set(map(id, targets))
    found = [n for n in order if id(n) not in wanted and _is_candidate(n)]
    found = found[-MOST:]
    if not found or sum(n.nbytes for n in found) > current().memory_budget // SHARE:
        return []
    graph = structure([*targets, *found], kept=True)
    mask = _mask([*targets, *found], graph, len(targets))
    return [n for n, needed in zip(found, mask, strict=True) if needed]


def files_below(node: Node) -> tuple[Stored, ...]:
    """Return the files that a node is computed from."""
    sources = (n for n in walk([node]) if isinstance(n, Source) and n.store.on_disk)
    return tuple({id(n.store): n.store for n in sources}.values())


def _is_candidate(node: Node) -> TypeGuard[Result]:
    return (
        isinstance(node, Result)
        and node.value is None
        and not is_turned(node)
        and 0 < node.nbytes <= KEEP_BYTES
        and is_held(node)
    )


def _mask(nodes: Sequence[Node], graph: Structure, wanted: int) -> tuple[bool, ...]:
    """Return which nodes after the wanted ones these are computed from."""
    key = (graph.key, wanted)
    if key not in _known:
        with kernel_device(), eagerly():
            program = build(nodes, graph)
        needed = _needed(program, wanted)
        _known[key] = tuple(
            isinstance(a, Var) and a.producer in needed
            for a in program.outputs[wanted:]
        )
        while len(_known) > KNOWN:
            _known.popitem(last=False)
    return _known[key]


def _needed(program: Program, wanted: int) -> set[Equation]:
    """Return the equations below the first outputs."""
    below = {a for a in program.outputs[:wanted] if isinstance(a, Var)}
    found = set[Equation]()
    for eqn in reversed(program.equations):
        if below.intersection(eqn.outputs):
            found.add(eqn)
            below.update(a for a in eqn.inputs if isinstance(a, Var))
    return found
