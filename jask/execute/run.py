"""Evaluate nodes of the lazy graph: the one entrance to the engine.

1. The structure of the graph (operations, leaf shapes, destinations, limits) is the key
   under which the plan and its kernels are kept; a new one is traced and planned.
2. Leaves become sources, destinations become sinks; the ledger grants the memory.
3. The passes run in order. Files appear under their names when all of it has succeeded;
   on any error they and the scratch files are removed.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import thread_time
from typing import Any

import jask.rules  # noqa: F401 (fills the rule table)
from jask._client import processors
from jask._jax import eagerly, forget_traces, kernel_device
from jask.config import Settings, current
from jask.errors import MemoryBudgetError
from jask.execute.heap import HeapGuard
from jask.execute.lanes import PassRun
from jask.execute.ledger import LEDGER, RESERVE
from jask.execute.prepared import Prepared, PreparedPass
from jask.execute.process import PROCESS
from jask.execute.progress import Progress
from jask.execute.results import Destination, InMemory, Results, ToFile, ToScratch
from jask.execute.small import KEEP_BYTES, Frontier, Small, is_candidate, make_small
from jask.execute.stages import run_stage
from jask.plan.explain import describe
from jask.plan.ir import DEFAULT_BLOCK, Limits, Place, Plan
from jask.plan.make import make_plan, round_up
from jask.plan.picks import pick_rows
from jask.rules.loops import stream_loops
from jask.rules.pieces import in_pieces
from jask.rules.sorted_rows import gather_from_sorted
from jask.trace.build import build, structure
from jask.trace.counters import COUNTERS
from jask.trace.fence import fence_compared
from jask.trace.graph import Handle, Node, Result, Source, walk
from jask.trace.ir import Atom, Program, Var
from jask.trace.rewrite import rewrite
from jask.trace.structure import Key, Structure
from jask.trace.views import view_leaves

__all__ = [
    "Destination",
    "InMemory",
    "ToFile",
    "ToScratch",
    "check",
    "evaluate",
    "explain",
    "prepare",
]

TRIES = 16
"""Budgets tried, each at least four times the last, to name one that would do."""

NARROWED = 4
"""Budgets tried between one that would do and one that would not."""

PATIENCE, HASTE = 0.5, 64
"""Seconds after which each budget that is tried is so many times the last, and the
first one that would do is named."""

CLOSE = 1.25
"""A budget that is named is at most so many times one that would not do, or was found
in all tries."""

KEEP_PLANS = 512
"""Most plans kept with their kernels; the one used longest ago is dropped first."""

KEEP_CODE = 16 << 20
"""Bytes that the kept plans may take, about, a part of the reserve; of a large memory
budget `CODE_SHARE`."""

CODE_SHARE = 16
"""Part (1/16) of the memory budget that the kept plans may take, if that is more than
`KEEP_CODE`. What is more is set aside: plans do not have it."""

MOST_TRACED = 32
"""So many operations traced and kernels compiled, and JAX is told to forget how."""

KEEP_SMALL = 8192
"""Small programs kept, and graphs known not to be one."""

FREE_BYTES = 1 << 16
"""Bytes of a small program that need no claim on the budget."""

SMALL_SHARE = 8
"""Part (1/8) of the memory budget that all values of a small program may take."""


def evaluate(
    nodes: Sequence[Node],
    destinations: Sequence[Destination],
    graph: Structure | None = None,
) -> list[Any]:
    """Evaluate several nodes as one program, sharing passes over their sources.

    Returns, per node, a NumPy array (`InMemory`) or a readable Store (the others).
    Handles must have been resolved before. The nodes of one call are read as they are
    when it starts: a file that is also a destination is replaced at the end. Nothing
    is staged into a trace that is under way. `graph` is their structure, kept values
    being leaves, if that is known.
    """
    sharing = LEDGER.share(current().memory_budget)
    with PROCESS.evaluation(), sharing as memory, kernel_device(), eagerly():
        return _evaluate(nodes, destinations, memory, graph)


def evaluate_small(graph: Structure) -> list[Any] | None:
    """Return the values in memory of a small program that was evaluated before.

    None if it is another one: then `evaluate` is asked. At most `FREE_BYTES` for each
    thread that asks are neither claimed nor waited for, they are a part of the reserve;
    nothing is traced or compiled, so that no context of JAX is needed.
    """
    if not is_candidate(graph.key):
        return None
    small = _known_small(graph.key, current().memory_budget)
    if small is None or small.nbytes > FREE_BYTES:
        return None
    with PROCESS.evaluation():
        COUNTERS.evaluations += bool(small.steps)
        return _run_small(small, graph)


def _known_small(key: Key, memory: int) -> Small | None:
    with _plans_lock:
        found = _small.get((key, memory))
        if not isinstance(found, Small):
            return None
        _small.move_to_end((key, memory))
    return found


def _run_small(small: Small, graph: Structure) -> list[Any]:
    values = small.run(graph.leaves)
    small.keep(graph.results, values)
    return small.outputs(values)


def _evaluate(
    nodes: Sequence[Node],
    destinations: Sequence[Destination],
    memory: int,
    graph: Structure | None = None,
) -> list[Any]:
    settings = current()
    limits = replace(_limits(settings), memory=memory)
    kept = not limits.forced and all(isinstance(d, InMemory) for d in destinations)
    if graph is None or not kept:
        graph = structure(nodes, kept=kept)
    found = _evaluate_small(nodes, graph, limits) if kept else None
    if found is not None:
        return found
    prepared = _prepare(nodes, destinations, graph, limits)
    COUNTERS.evaluations += 1
    wanted = list(zip(nodes, destinations, strict=True))
    with Results(prepared, graph.leaves, wanted, settings) as results:
        with LEDGER.claim(
            prepared.plan.projected,
            settings.memory_budget,
            calls_back=prepared.calls_back,
        ):
            _run(prepared, results, settings)
        values = results.finish()
    if kept:
        _keep(nodes, graph, values)
    return values


def _evaluate_small(
    nodes: Sequence[Node], graph: Structure, limits: Limits
) -> list[Any] | None:
    """Return the values of a small program; None if it needs a plan."""
    if not is_candidate(graph.key):
        return None
    small = _find_small(nodes, graph, limits)
    if isinstance(small, Frontier):
        _evaluate_first(small, graph, limits.memory)
        graph = structure(nodes, kept=True)
        small = _find_small(nodes, graph, limits)
    elif isinstance(small, Small) and small.steps:
        COUNTERS.evaluations += 1
    if not isinstance(small, Small):
        return None
    with LEDGER.claim(small.nbytes, limits.memory):
        return _run_small(small, graph)


def _find_small(
    nodes: Sequence[Node], graph: Structure, limits: Limits
) -> Small | Frontier | None:
    """Return how a graph is evaluated without a plan, kept for the next call."""
    key = (graph.key, limits.memory)
    with _plans_lock:
        if key in _small:
            _small.move_to_end(key)
            return _small[key]
    made: dict[int, Atom] = {}
    program = build(nodes, graph, made)
    used = {reference: made[reference] for _, reference in graph.results}
    found = make_small(program, used, limits.memory // SMALL_SHARE)
    with _plans_lock:
        _small[key] = found
        while len(_small) > KEEP_SMALL:
            _small.popitem(last=False)
    return found


def _evaluate_first(frontier: Frontier, graph: Structure, memory: int) -> None:
    """Evaluate results of calls, and let every node that stands for one keep it."""
    wanted = {r: n for n, r in graph.results if r in frontier.references}
    to = [InMemory()] * len(wanted)
    found = _evaluate(list(wanted.values()), to, memory)
    values = dict(zip(wanted, found, strict=True))
    for node, reference in graph.results:
        if reference in values:
            node.keep(values[reference])


def _keep(nodes: Sequence[Node], graph: Structure, values: Sequence[Any]) -> None:
    """Let small results of what is in memory keep their values."""
    if all(leaf.place == "memory" for leaf in graph.key.leaves):
        for node, value in zip(nodes, values, strict=True):
            if isinstance(node, Result) and node.nbytes <= KEEP_BYTES:
                node.keep(value)


def _run(prepared: Prepared, results: Results, settings: Settings) -> None:
    steps = sum(p.p.steps for p in prepared.passes)
    guard = HeapGuard(prepared.plan.projected + RESERVE // 4)

    def advance() -> None:
        progress.advance()
        guard.step()

    code = _Code(prepared, settings.memory_budget)
    with guard, Progress(steps, show=settings.progress) as progress:
        for number, p in enumerate(prepared.passes):
            sinks = results.sinks(p.p)
            if p.p.is_stage:
                run_stage(p.p, results.live, sinks, settings)
                advance()
            else:
                PassRun(p, results.live, sinks, advance).run()
            results.release(number)
            code.bound(p)
            guard.rest()


def explain(nodes: Sequence[Node]) -> str:
    """Return the plan of evaluating these nodes, in words; nothing is read."""
    small = _limits(current()).small
    to = [InMemory() if n.nbytes <= small else ToScratch() for n in nodes]
    prepared = prepare(nodes, to)
    return describe(prepared.plan, prepared.program)


def prepare(nodes: Sequence[Node], destinations: Sequence[Destination]) -> Prepared:
    """Plan and compile what `evaluate` would run; nothing is read."""
    limits = _limits(current())
    with PROCESS.evaluation(), kernel_device(), eagerly():
        return _prepare(nodes, destinations, structure(nodes), limits)


def check(nodes: Sequence[Node]) -> None:
    """Raise MemoryBudgetError if no plan for these values fits the budget.

    The leaves may be unknown yet: nothing is read, and only to find a budget that would
    do is anything compiled. Where all that the graph names is far below the budget,
    nothing is planned either.
    """
    limits = _limits(current())
    if sum(n.nbytes for n in walk(nodes)) <= limits.memory // SMALL_SHARE:
        return
    found, to = structure(nodes), [InMemory()] * len(nodes)
    kinds = [True] * len(nodes)

    def make(memory: int) -> Plan:
        within = replace(limits, memory=memory)
        _refuse_large(nodes, to, within)
        program = _program(nodes, found, memory)
        return _plan(program, found.leaves, kinds, within)

    def compiled(memory: int) -> Prepared:
        within = replace(limits, memory=memory)
        _refuse_large(nodes, to, within)
        return _fit(_program(nodes, found, memory), found.leaves, kinds, within)

    with kernel_device(), eagerly():
        try:
            make(limits.memory)
        except MemoryBudgetError as error:
            raise _advised(error, compiled, limits.memory) from None


def _limits(settings: Settings) -> Limits:
    workers = settings.workers or processors()
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
            "x.persist(), call the function of jask.numpy where one of NumPy wants the "
            "whole array, or allow more."
        )
        raise MemoryBudgetError(msg, 2 * held)


# ---- plans


_plans: OrderedDict[Any, Prepared] = OrderedDict()
_small: OrderedDict[Any, Small | Frontier | None] = OrderedDict()
_plans_lock = threading.Lock()
_traced = 0
"""What was traced and compiled when JAX forgot its traces last."""


def _prepare(
    nodes: Sequence[Node],
    destinations: Sequence[Destination],
    found: Structure,
    limits: Limits,
) -> Prepared:
    kinds = tuple(isinstance(d, InMemory) for d in destinations)
    key = (found.key, kinds, limits)
    with _plans_lock:
        if key in _plans:
            _plans.move_to_end(key)
            return _plans[key]

    def make(memory: int) -> Prepared:
        within = replace(limits, memory=memory)
        _refuse_large(nodes, destinations, within)
        program = _program(nodes, found, memory)
        return _fit(program, found.leaves, kinds, within)

    try:
        with HeapGuard(RESERVE):  # what compiling leaves behind is given back
            prepared = make(limits.memory)
    except MemoryBudgetError as error:
        raise _advised(error, make, limits.memory) from None
    _forget_traces()
    COUNTERS.plans += 1
    COUNTERS.opaque_steps += sum(
        r.kind == "opaque" for p in prepared.plan.passes for r in p.roots
    )
    with _plans_lock:
        _plans[key] = prepared
        _forget_plans(current().memory_budget)
    return prepared


def _forget_plans(budget: int) -> None:
    """Drop the plans used longest ago: a number and about a number of bytes may stay.

    Of the plan used last, the kernels are still to be copied for the workers; it is
    never dropped.
    """
    most, total = KEEP_CODE + _aside(budget), 0
    counted: set[int] = set()
    for number, key in enumerate(list(reversed(_plans))):
        total += _plans[key].nbytes(counted)
        if number and (number >= KEEP_PLANS or total > most):
            del _plans[key]


def _forget_traces() -> None:
    """Let JAX forget its traces, once there are some since the last time."""
    global _traced  # noqa: PLW0603 (a count of the process; if two see it, both do it)
    traced = COUNTERS.traces + COUNTERS.compiles
    if traced - _traced >= MOST_TRACED:
        _traced = traced
        forget_traces()


def _aside(budget: int) -> int:
    """Return the bytes of the budget that are left to the code of kept plans."""
    return max(0, budget // CODE_SHARE - KEEP_CODE)


class _Code:
    """Keeps the kernels of a plan that runs within what others and its budget leave."""

    def __init__(self, prepared: Prepared, budget: int) -> None:
        self.prepared, self.budget = prepared, budget
        self.compiled, self.nbytes = COUNTERS.compiles, prepared.nbytes(set())
        aside = _aside(budget)
        room = max(0, budget - aside - prepared.plan.projected)
        self.most = KEEP_CODE + aside + room

    def bound(self, p: PreparedPass) -> None:
        """Drop those of a pass that has run, where the plan's alone take more.

        They are compiled again when the plan runs again.
        """
        if COUNTERS.compiles > self.compiled:
            with _plans_lock:
                _forget_plans(self.budget)
            _forget_traces()
            self.compiled = COUNTERS.compiles
            self.nbytes = self.prepared.nbytes(set())
        if self.nbytes > self.most:
            p.forget()
            self.nbytes = self.prepared.nbytes(set())


def _program(nodes: Sequence[Node], found: Structure, memory: int) -> Program:
    """Return the program of a graph, rewritten for planning."""
    program = gather_from_sorted(stream_loops(rewrite(build(nodes, found))))
    view_leaves(program)
    pick_rows(program, _leaf_places(program, found.leaves), memory)
    return fence_compared(in_pieces(program))


def _advised(
    error: MemoryBudgetError, make: Callable[[int], object], failed: int
) -> MemoryBudgetError:
    """Return the error with a budget that was tried and found large enough.

    One that the evaluation would get: within another one that is a part of the whole.
    """
    enough = _enough(error.budget, make, failed)
    if enough is None:
        msg = f"{error} No larger budget that was tried would do."
        return MemoryBudgetError(msg)
    budget = LEDGER.whole(enough)
    advice = f"A budget of {budget} bytes would do"
    msg = f"{error} {advice}: jask.set_memory_budget({budget})."
    return MemoryBudgetError(msg, budget)


def _enough(first: int, make: Callable[[int], object], failed: int) -> int | None:
    """Return a budget with which a plan can be made, close to the least one.

    Where the tries take long, one that is larger. None if many tries found none.
    """
    low, budget = failed, max(first, failed + 1)
    late = thread_time() + PATIENCE
    for _ in range(TRIES):
        larger = _refused(budget, make)
        if larger is None:
            break
        more = 4 if thread_time() < late else HASTE
        low, budget = budget, max(larger, more * budget)
    else:
        return None
    for _ in range(NARROWED):
        middle = round_up((low + budget) // 2)
        near = budget <= CLOSE * low or not low < middle < budget
        if near or thread_time() > late:
            break
        if _refused(middle, make) is None:
            budget = middle
        else:
            low = middle
    return budget


def _refused(budget: int, make: Callable[[int], object]) -> int | None:
    """Return the budget that is said to do instead of one; None if this one does."""
    try:
        make(budget)
    except MemoryBudgetError as error:
        return error.budget
    return None


def _fit(
    program: Program, leaves: Sequence[Node], kinds: Sequence[bool], limits: Limits
) -> Prepared:
    """Plan and compile; plan cautiously if XLA's temporaries turn out too large.

    Or if there is a kernel so long that its code alone takes what all may take.
    """
    plan = _plan(program, leaves, kinds, limits)
    room = KEEP_CODE + _aside(limits.memory)
    try:
        return Prepared(program, plan, room, strict=True)
    except MemoryBudgetError:
        plan = _plan(program, leaves, kinds, limits, cautious=True)
        return Prepared(program, plan, room)


def _plan(
    program: Program,
    leaves: Sequence[Node],
    kinds: Sequence[bool],
    limits: Limits,
    *,
    cautious: bool = False,
) -> Plan:
    places = _leaf_places(program, leaves)
    indices = sum(p.nbytes for p in program.picks)
    wanted: dict[Var, Place] = {}
    for atom, in_memory in zip(program.outputs, kinds, strict=True):
        if isinstance(atom, Var) and wanted.get(atom) != "disk":
            wanted[atom] = "memory" if in_memory else "disk"
    limits = replace(limits, memory=limits.memory - _aside(limits.memory))
    within = replace(limits, memory=limits.memory - indices)
    plan = make_plan(program, places, wanted, within, cautious=cautious)
    return replace(plan, kept=plan.kept + indices, limits=limits)


def _leaf_places(program: Program, leaves: Sequence[Node]) -> dict[Var, Place]:
    places: dict[Var, Place] = {
        v: "disk" if _is_on_disk(n) else "memory"
        for v, n in zip(program.leaves, leaves, strict=False)
    }
    places.update((p.leaf, "disk") for p in program.picks)
    places.update((v, "memory") for v in program.constants)
    return places


def _is_on_disk(node: Node) -> bool:
    """Return whether a leaf is in a file; what a handle names may be."""
    return isinstance(node, Handle) or (isinstance(node, Source) and node.store.on_disk)
