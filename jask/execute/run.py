"""Evaluate nodes of the lazy graph: the one entrance to the engine.

1. The structure of the graph (operations, leaf shapes, destinations, limits) is the key
   under which the plan and its kernels are kept; a new one is traced and planned.
2. Leaves become sources, destinations become sinks; the ledger grants the memory.
3. The passes run in order. Files appear under their names when all of it has succeeded;
   on any error they and the scratch files are removed.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import jask.rules  # noqa: F401 (fills the rule table)
from jask.config import Settings, current
from jask.errors import MemoryBudgetError
from jask.execute.lanes import PassRun
from jask.execute.ledger import LEDGER
from jask.execute.prepared import Prepared
from jask.execute.progress import Progress
from jask.geometry.box import Box
from jask.plan.explain import describe
from jask.plan.ir import DEFAULT_BLOCK, Limits, Place
from jask.plan.make import make_plan
from jask.stores.memory import MemoryStore
from jask.stores.output import OutputStore, create_output
from jask.stores.scratch import create_scratch
from jask.trace.build import build, structure
from jask.trace.counters import COUNTERS
from jask.trace.graph import Dense, Node, Source
from jask.trace.ir import Literal, Program, Var
from jask.trace.rewrite import rewrite

KEEP_PLANS = 512
"""Plans kept with their kernels; the one used longest ago is dropped first."""


@dataclass(frozen=True, slots=True)
class InMemory:
    """Return the value as a NumPy array; MemoryBudgetError if it does not fit."""


@dataclass(frozen=True, slots=True)
class ToScratch:
    """Write the value to a scratch file that lives as long as the returned store."""


@dataclass(frozen=True, slots=True)
class ToFile:
    """Write the value to a `.npy` file that appears, whole, under its name."""

    path: Path
    """Its final name."""


type Destination = InMemory | ToScratch | ToFile


def evaluate(nodes: Sequence[Node], destinations: Sequence[Destination]) -> list[Any]:
    """Evaluate several nodes as one program, sharing passes over their sources.

    Returns, per node, a NumPy array (`InMemory`) or a readable Store (the others).
    Handles must have been resolved before. The nodes of one call are read as they are
    when it starts: a file that is also a destination is replaced at the end.
    """
    settings = current()
    limits = _limits(settings)
    _refuse_large(nodes, destinations, limits)
    shape_of_graph = structure(nodes)
    prepared = _prepare(nodes, destinations, shape_of_graph, limits)
    COUNTERS.evaluations += 1
    with ExitStack() as stack:
        sources = _sources(prepared.program, shape_of_graph.leaves)
        results = stack.enter_context(
            _results(prepared.program, nodes, destinations, settings)
        )
        stack.enter_context(LEDGER.claim(prepared.plan.projected, limits.memory))
        _run(prepared, sources, results.sinks, settings)
        return results.finish(durable=settings.durable)


def explain(nodes: Sequence[Node]) -> str:
    """Return the plan of evaluating these nodes, in words; nothing is read."""
    limits = _limits(current())
    found = structure(nodes)
    to = [InMemory() if n.nbytes <= limits.small else ToScratch() for n in nodes]
    prepared = _prepare(nodes, to, found, limits)
    return describe(prepared.plan, prepared.program)


def _limits(settings: Settings) -> Limits:
    workers = settings.workers or len(os.sched_getaffinity(0))
    return Limits(
        memory=settings.memory_budget,
        block=settings.block_bytes or DEFAULT_BLOCK,
        workers=workers,
        forced=settings.block_bytes is not None,
    )


def _refuse_large(
    nodes: Sequence[Node], destinations: Sequence[Destination], limits: Limits
) -> None:
    held = sum(
        n.nbytes
        for n, d in zip(nodes, destinations, strict=True)
        if isinstance(d, InMemory)
    )
    if held > limits.memory:
        msg = (
            f"the result takes {held} bytes in memory, over the memory budget of "
            f"{limits.memory} bytes. Keep it on disk with jask.save(path, x) or "
            f"x.persist(), or allow more with jask.set_memory_budget({2 * held})."
        )
        raise MemoryBudgetError(msg)


# ---- plans


_plans: OrderedDict[Any, Prepared] = OrderedDict()
_plans_lock = threading.Lock()


def _prepare(
    nodes: Sequence[Node],
    destinations: Sequence[Destination],
    found: Any,
    limits: Limits,
) -> Prepared:
    kinds = tuple(isinstance(d, InMemory) for d in destinations)
    key = (found.key, kinds, limits)
    with _plans_lock:
        if key in _plans:
            _plans.move_to_end(key)
            return _plans[key]
    program = rewrite(build(nodes, found))
    prepared = Prepared(program, _plan(program, found.leaves, kinds, limits))
    COUNTERS.plans += 1
    COUNTERS.opaque_steps += sum(
        r.kind == "opaque" for p in prepared.plan.passes for r in p.roots
    )
    with _plans_lock:
        _plans[key] = prepared
        while len(_plans) > KEEP_PLANS:
            _plans.popitem(last=False)
    return prepared


def _plan(
    program: Program, leaves: Sequence[Node], kinds: Sequence[bool], limits: Limits
) -> Any:
    places: dict[Var, Place] = {
        v: "disk" if isinstance(n, Source) and n.store.on_disk else "memory"
        for v, n in zip(program.leaves, leaves, strict=True)
    }
    places.update((v, "memory") for v in program.constants)
    wanted: dict[Var, Place] = {}
    for atom, in_memory in zip(program.outputs, kinds, strict=True):
        if isinstance(atom, Var) and wanted.get(atom) != "disk":
            wanted[atom] = "memory" if in_memory else "disk"
    return make_plan(program, places, wanted, limits)


# ---- sources and sinks


def _sources(program: Program, leaves: Sequence[Node]) -> dict[Var, Any]:
    sources: dict[Var, Any] = {}
    for var, node in zip(program.leaves, leaves, strict=True):
        if isinstance(node, Source):
            sources[var] = node.store
            node.store.check()  # type: ignore[attr-defined]
        else:
            assert isinstance(node, Dense)
            sources[var] = MemoryStore(np.asarray(node.value, node.dtype), copy=False)
    for var, array in program.constants.items():
        sources[var] = MemoryStore(array, copy=False)
    return sources


class _Memory:
    """A result that is gathered in memory."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.array = np.empty(shape, dtype)

    def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
        buffer[...] = self.array[box.slices]

    def write(self, box: Box, block: np.ndarray[Any, Any]) -> None:
        self.array[box.slices] = block

    def prefetch(self, box: Box) -> None:
        del box  # it is in memory

    def close(self) -> None:
        """The memory goes with the last reference."""


@dataclass(slots=True)
class _Results:
    """The sinks of one evaluation, in the order of its nodes."""

    sinks: dict[Var, list[Any]]
    each: list[Any]

    def finish(self, *, durable: bool) -> list[Any]:
        """Commit what was written; return the results."""
        return [_settled(r, durable=durable) for r in self.each]

    def abort(self) -> None:
        """Remove what was written."""
        for result in self.each:
            result.close()


def _settled(result: Any, *, durable: bool) -> Any:
    if isinstance(result, OutputStore):
        return result.commit(durable=durable)
    return result.array if isinstance(result, _Memory) else result


@contextmanager
def _results(
    program: Program,
    nodes: Sequence[Node],
    destinations: Sequence[Destination],
    settings: Settings,
) -> Iterator[_Results]:
    results = _Results({}, [])
    try:
        for atom, node, to in zip(program.outputs, nodes, destinations, strict=True):
            sink = _sink(node, to, settings)
            results.each.append(sink)
            if isinstance(atom, Literal):
                sink.write(Box.whole(node.shape), atom.value)
            elif atom.size:
                results.sinks.setdefault(atom, []).append(sink)
        yield results
    except BaseException:
        results.abort()
        raise


def _sink(node: Node, to: Destination, settings: Settings) -> Any:
    match to:
        case InMemory():
            return _Memory(node.shape, node.dtype)
        case ToFile(path):
            return create_output(path, node.shape, node.dtype)
        case ToScratch():
            return _scratch(node, settings)


def _scratch(value: Node | Var, settings: Settings) -> Any:
    return create_scratch(
        value.shape,
        value.dtype,
        directory=settings.scratch_dir,
        limit=settings.scratch_limit,
    )


def _run(
    prepared: Prepared,
    sources: Mapping[Var, Any],
    wanted: Mapping[Var, list[Any]],
    settings: Settings,
) -> None:
    steps = sum(p.p.steps for p in prepared.passes)
    live: dict[Var, Any] = dict(sources)
    spilled: list[Any] = []
    last_use = _last_uses(prepared)
    try:
        with Progress(steps, show=settings.progress) as progress:
            for number, p in enumerate(prepared.passes):
                sinks = _pass_sinks(prepared, p.p, wanted, live, spilled, settings)
                PassRun(p, live, sinks, progress.advance).run()
                for var in [
                    v for v, n in last_use.items() if n == number and v not in sources
                ]:
                    _release(live.pop(var, None), spilled)
    finally:
        for store in spilled:
            store.close()


def _last_uses(prepared: Prepared) -> dict[Var, int]:
    return {v: n for n, p in enumerate(prepared.passes) for v in p.p.leaves}


def _release(store: Any, spilled: list[Any]) -> None:
    if store in spilled:
        spilled.remove(store)
        store.close()


def _pass_sinks(
    prepared: Prepared,
    p: Any,
    wanted: Mapping[Var, list[Any]],
    live: dict[Var, Any],
    spilled: list[Any],
    settings: Settings,
) -> dict[Var, list[Any]]:
    """Return where each result of a pass goes, and make it readable for later passes."""
    sinks: dict[Var, list[Any]] = {}
    for var in (v for r in p.roots for v in r.outputs):
        sinks[var] = list(wanted.get(var, []))
        if not sinks[var]:
            if prepared.plan.places[var] == "memory":
                sinks[var] = [_Memory(var.shape, var.dtype)]
            else:
                store = _scratch(var, settings)
                spilled.append(store)
                sinks[var] = [store]
        live.setdefault(var, sinks[var][0])
    return sinks
