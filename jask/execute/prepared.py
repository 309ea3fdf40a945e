"""A plan made ready to run: lowered steps and compiled kernels, kept for the next call.

Evaluating the same program on other files of the same shapes costs no tracing, no
planning and no compiling.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from jask._jax import calls_python, kernel_device
from jask.errors import MemoryBudgetError
from jask.execute.blocks import aligned_copy
from jask.execute.kernel import (
    LARGE_CODE,
    Kernel,
    compile_close,
    compile_step,
    initial,
)
from jask.execute.picked import PreparedPick
from jask.geometry.box import Box
from jask.plan.axes import pass_after
from jask.plan.cost import survey, temporaries
from jask.plan.ir import Pass, Plan, Root
from jask.plan.lower import Head, Load, Lowered, lower
from jask.plan.search import search, tiled
from jask.rules._table import RULES
from jask.trace.ir import Equation, Program

KEEP_STEPS = 1 << 13
"""Lowered steps kept per pass, about 1 kB each; later ones are lowered at each run."""

STEP_BYTES = 1 << 10
"""Bytes of a lowered step, about."""

KERNEL_BYTES = 160 << 10
"""Bytes that a kernel takes beside its machine code, about: what JAX and XLA keep of
its compilation, and what of it the allocator cannot give back."""

REFITS = 4
"""How often a tile is searched again when XLA's temporaries turn out larger."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a step does for one root."""

    head: Head
    root: Root
    key: Any
    """Tells the kept tiles, or the lines of a scan, apart."""
    domain: Box


@dataclass(frozen=True, slots=True)
class Step:
    """One tile: its kernel and what is particular to its position."""

    kernel: Kernel
    jobs: tuple[Job, ...]
    """One for each root that runs here."""
    loads: tuple[Load, ...]
    offsets: np.ndarray[Any, Any]


class PreparedPass:
    """A pass with its kernels."""

    def __init__(self, p: Pass) -> None:
        self.p = p
        self._lock = threading.Lock()
        self._kernels: dict[Any, tuple[Kernel, tuple[Head, ...]]] = {}
        self._closers: dict[Any, Kernel] = {}
        self._initial: dict[Any, list[Any]] = {}
        self._steps: dict[int, Step] = {}
        self.followers = {
            k: PreparedPass(pass_after(p, r))
            for k, r in enumerate(p.roots)
            if r.followers
        }
        self._ranges = [
            range(n - 1, -1, -1) if a in p.descending else range(n)
            for a, n in ((a, p.counts[a]) for a in p.order)
        ]

    def nbytes(self, counted: set[int]) -> int:
        """Return about the bytes of what is kept, without the kernels counted before.

        Their `id`s are added to `counted`: passes share kernels.
        """
        kernels = {id(k): k for k, _ in list(self._kernels.values())}
        kernels |= {id(k): k for k in list(self._closers.values())}
        total = STEP_BYTES * len(self._steps)
        fresh = [k for i, k in kernels.items() if i not in counted]
        total += sum(KERNEL_BYTES + k.nbytes for k in fresh)
        counted.update(kernels)
        return total + sum(f.nbytes(counted) for f in self.followers.values())

    def forget(self) -> None:
        """Drop steps and kernels; what runs keeps its own."""
        with self._lock:
            self._kernels, self._closers, self._steps = {}, {}, {}
        for follower in self.followers.values():
            follower.forget()

    def index(self, i: int) -> tuple[int, ...]:
        """Return the grid index of step i."""
        found = [0] * len(self.p.grid)
        for a, values in zip(
            reversed(self.p.order), reversed(self._ranges), strict=True
        ):
            i, k = divmod(i, len(values))
            found[a] = values[k]
        return tuple(found)

    def number(self, index: Sequence[int]) -> int:
        """Return the step at a grid index."""
        i = 0
        for a, values in zip(self.p.order, self._ranges, strict=True):
            i = i * len(values) + values.index(index[a])
        return i

    def temporaries(self, most_code: float = inf) -> int:
        """Return XLA's temporary bytes in one step and what follows it.

        MemoryBudgetError if its kernel would take more than `most_code` bytes.
        """
        own = self.step(self.p.steps // 2, most_code).kernel.temp
        return own + sum(f.temporaries() for f in self.followers.values())

    @property
    def is_long(self) -> bool:
        """Whether the kernel of a tile in the middle is large."""
        return self.step(self.p.steps // 2).kernel.size >= LARGE_CODE

    def step(self, i: int, most_code: float = inf) -> Step:
        """Return step i, lowered and compiled at its first use."""
        known = self._steps.get(i)
        if known is None:
            index = self.index(i)
            known = self._make(lower(self.p, index), index, most_code)
            if i < KEEP_STEPS:
                self._steps[i] = known
        return known

    def _make(self, lowered: Lowered, index: Sequence[int], most_code: float) -> Step:
        key = lowered.signature
        with self._lock, kernel_device(workers=self.p.workers):
            if key not in self._kernels:
                kernel = compile_step(self.p, lowered, most_code)
                self._kernels[key] = (kernel, lowered.heads)
            kernel, heads = self._kernels[key]
        jobs = tuple(self._job(h, index, lowered.domains[h.root]) for h in heads)
        offsets = np.asarray(lowered.offsets, np.int64)
        return Step(kernel, jobs, lowered.loads, offsets)

    def _job(self, head: Head, index: Sequence[int], domain: Box | None) -> Job:
        assert domain is not None
        root = self.p.roots[head.root]
        return Job(head, root, (head.root, *(index[a] for a in _apart(root))), domain)

    def close(self, root: int, shape: tuple[int, ...], slots: int) -> Kernel:
        """Return the kernel that finishes a reduction over a kept part."""
        key = (root, shape, slots)
        with self._lock, kernel_device(workers=self.p.workers):
            if key not in self._closers:
                self._closers[key] = compile_close(
                    self.p.roots[root], shape, slots, self.p.workers
                )
            return self._closers[key]

    def initial(self, root: int, shape: tuple[int, ...]) -> list[Any]:
        """Return the accumulators or the carry before anything was seen."""
        key = (root, shape)
        with self._lock:
            if key not in self._initial:
                self._initial[key] = initial(self.p.roots[root], shape)
        return [aligned_copy(a) for a in self._initial[key]]  # XLA is slow at it

    def group_size(self, root: Root) -> int:
        """Return how many steps contribute to one kept tile of a reduction."""
        kept = {root.axes[d] for d in root.kept}
        n = 1
        for a in root.axes:
            if a not in kept:
                n *= self.p.counts[a]
        return n


def _apart(root: Root) -> list[int]:
    """Grid axes that tell the kept tiles, or the lines of a scan, apart."""
    if root.kind == "scan":
        assert root.eqn is not None
        axis = root.scan.axis(root.eqn)
        return [a for d, a in enumerate(root.axes) if d != axis]
    return [root.axes[d] for d in root.kept]


class Prepared:
    """A program with its plan and its kernels.

    Code should take no more than `room` bytes: a kernel of which each worker's copy
    would not fit is run by one. MemoryBudgetError if XLA's temporaries do not fit, or,
    where that is `strict`, a kernel.
    """

    def __init__(
        self, program: Program, plan: Plan, room: float = inf, *, strict: bool = False
    ) -> None:
        self.program = program
        self.passes = [
            PreparedPass(p) if p.is_stage else _fitted(p, plan, room, strict=strict)
            for p in plan.passes
        ]
        self.plan = replace(plan, passes=tuple(p.p for p in self.passes))
        self.picks = [PreparedPick(pick) for pick in program.picks]
        self.calls_back = any(map(_may_call_back, program.equations))

    def nbytes(self, counted: set[int]) -> int:
        """Return about the bytes of what is kept, without what was counted before."""
        return sum(p.nbytes(counted) for p in self.passes)


def _may_call_back(eqn: Equation) -> bool:
    """Return whether an equation, or a loop's or branch's body, calls Python."""
    opaque = eqn.primitive is not None and eqn.name not in RULES
    return opaque and calls_python(eqn.primitive, eqn.params)


def _fitted(p: Pass, plan: Plan, room: float, *, strict: bool) -> PreparedPass:
    """Compile a tile; search again if XLA's real temporaries do not fit.

    What the search takes for temporaries only grows, and nothing is tried twice.
    """
    tried: set[tuple[Any, ...]] = set()
    total, limits = 0, plan.limits
    memory = limits.memory - plan.kept
    for _ in range(REFITS):
        prepared = _compiled(p, room, strict=strict)
        if prepared.p.workers < p.workers:
            limits, p = replace(limits, workers=1), prepared.p
        tried.add((p.tile, p.workers))
        temp = prepared.temporaries()
        looked = survey(p, p.tile, plan.places)
        work = looked.work
        total = max(0, p.memory + (temp - temporaries(looked, p)) * p.workers)
        if total <= memory:
            overlaps = p.may_overlap and prepared.is_long
            prepared.p = replace(
                p,
                memory=total,
                temp_per_work=temp / max(1, work),
                overlaps=overlaps,
            )
            return prepared
        del prepared  # its kernel, before the next one is compiled
        found = max(p.temp_per_work or 0.0, (temp + 1) / max(1, work))
        p = replace(p, temp_per_work=found)
        p = tiled(p, search(p, plan.places, limits, memory))
        if (p.tile, p.workers) in tried:
            break
    msg = (
        f"computing {', '.join(r.label for r in p.roots)} needs {total} bytes with "
        f"XLA's temporaries, over the {memory} bytes that the memory budget leaves."
    )
    raise MemoryBudgetError(msg, total + plan.kept)


def _compiled(p: Pass, room: float, *, strict: bool) -> PreparedPass:
    """Compile a tile in the middle: for one worker, if copies for all have no room."""
    prepared = PreparedPass(p)
    try:
        prepared.temporaries(room / p.workers if strict or p.workers > 1 else inf)
    except MemoryBudgetError:
        if p.workers == 1:
            raise
        return _compiled(replace(p, workers=1), room, strict=strict)
    return prepared


__all__ = ["Prepared", "PreparedPass", "Step"]
