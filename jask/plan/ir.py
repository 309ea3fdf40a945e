"""The plan: frozen values that say what each pass reads, computes and writes.

A Root is something a pass produces: a block of a value for each tile (`map`), an
accumulator that is finished after the last reduced tile (`reduce`), a carry along an
axis (`scan`), one equation computed whole (`opaque`) or by an algorithm of its own, in
bounded memory (`stage`: it has a pass for itself, without a grid). A Pass walks a grid
of tiles once for all of its roots. A root may have followers: roots that are made of
each of its tiles at once, as soon as the tile is finished.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal, cast

from jask.geometry.box import Box
from jask.rules._table import RULES, Reduction, Rule, Scan
from jask.trace.ir import Equation, Var

type RootKind = Literal["map", "reduce", "scan", "opaque", "stage"]
type Place = Literal["disk", "memory", "block"]
"""Where a value lives; `block`: nowhere as a whole, its tiles go to its followers."""

MiB = 1 << 20
DEFAULT_BLOCK = 4 * MiB
MANY_TILES = 8
"""With more tiles than that, a part of one is little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a plan may use."""

    memory: int
    """Bytes for everything the evaluation holds at one time."""

    block: int = DEFAULT_BLOCK
    """Bytes of one block, at most (blocks of products may be larger by default)."""

    workers: int = 2
    """Threads that run steps."""

    forced: bool = False
    """Whether the user set the block size: then no block is larger than that."""

    @property
    def small(self) -> int:
        """A result of at most this many bytes is kept in memory between passes."""
        return max(self.memory // 64, 4096)


@dataclass(eq=False, slots=True)
class Root:
    """Something a pass produces."""

    kind: RootKind
    """How its result comes about."""

    outputs: tuple[Var, ...]
    """The values it defines."""

    eqn: Equation | None
    """The equation that ends in it; None for a map."""

    equations: tuple[Equation, ...]
    """What is computed for it inside the kernel, in order."""

    leaves: tuple[Var, ...]
    """What is read for it: leaves of the program and results of earlier passes."""

    level: int = 0
    """Passes that must come before."""

    axes: tuple[int, ...] = ()
    """The grid axis of each domain axis; set when it joins a pass."""

    followers: list["Root"] = field(default_factory=list)
    """What is made of its tiles in the same pass; they index a grid of its result."""

    @property
    def made(self) -> tuple[Var, ...]:
        """What it and its followers define."""
        return (*self.outputs, *(o for f in self.followers for o in f.outputs))

    @property
    def rule(self) -> Rule:
        """The rule of its equation."""
        assert self.eqn is not None
        return RULES[self.eqn.name]

    @property
    def reduction(self) -> Reduction:
        """The rule of a `reduce` root."""
        return cast("Reduction", self.rule)

    @property
    def scan(self) -> Scan:
        """The rule of a `scan` root."""
        return cast("Scan", self.rule)

    @property
    def domain(self) -> tuple[int, ...]:
        """The index space that is tiled."""
        if self.kind in {"opaque", "stage"}:
            return ()
        if self.kind == "reduce":
            assert self.eqn is not None
            return self.reduction.domain(self.eqn)
        return self.outputs[0].shape

    @property
    def kept(self) -> tuple[int, ...]:
        """The domain axes that index the result."""
        if self.kind == "reduce":
            assert self.eqn is not None
            return self.reduction.kept(self.eqn)
        return tuple(range(len(self.domain)))

    def result_box(self, domain_box: Box) -> Box:
        """Return the box of the result that a part of the domain contributes to."""
        return Box.of(domain_box.intervals[d] for d in self.kept)

    @property
    def may_overlap(self) -> bool:
        """Whether a part of its domain that is seen in two tiles changes nothing."""
        repeatable = self.kind == "reduce" and self.reduction.idempotent
        return (self.kind == "map" or repeatable) and not self.followers

    @property
    def label(self) -> str:
        """What it computes, for messages."""
        if self.eqn is None:
            return f"a {self.producer_name} result of shape {self.outputs[0].shape}"
        shapes = [str(a.shape) for a in self.eqn.inputs if a.shape] or ["()"]
        more = ["..."] if len(shapes) > 3 else []
        return f"{self.eqn.name} of shape {' and '.join(shapes[:3] + more)}"

    @property
    def producer_name(self) -> str:
        """The primitive that makes a mapped value."""
        producer = self.outputs[0].producer
        return producer.name if producer else "copy"


@dataclass(eq=False, slots=True)
class Pass:
    """One sweep over a grid of tiles."""

    roots: tuple[Root, ...]
    """What it produces."""

    grid: tuple[int, ...]
    """Length of each grid axis."""

    tile: tuple[int, ...] = ()
    """Length of a tile along each grid axis."""

    order: tuple[int, ...] = ()
    """Grid axes from the outermost loop to the innermost."""

    overlaps: bool = False
    """Whether the last tile of an axis is as long as the others, and begins sooner."""

    workers: int = 1
    """Threads that share the steps."""

    seconds: float = 0.0
    """Modelled time."""

    memory: int = 0
    """Projected bytes: blocks, accumulators and XLA's temporaries."""

    temp_per_work: float | None = None
    """XLA's temporary bytes per element of work, once a kernel was compiled."""

    reads: int = 0
    """Modelled bytes read from disk."""

    writes: int = 0
    """Modelled bytes written to disk."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Tiles along each grid axis."""
        return tuple(
            max(1, -(-n // t)) for n, t in zip(self.grid, self.tile, strict=True)
        )

    @property
    def may_overlap(self) -> bool:
        """Whether the last tile, of many, can take a part of the one before it."""
        cut_off = [(n, t) for n, t in zip(self.grid, self.tile, strict=True) if n % t]
        return (
            bool(cut_off)
            and all(n > MANY_TILES * t for n, t in cut_off)
            and all(r.may_overlap for r in self.roots)
        )

    @property
    def is_stage(self) -> bool:
        """Whether an algorithm of its own runs it."""
        return self.roots[0].kind == "stage"

    @property
    def steps(self) -> int:
        """Number of tiles."""
        return prod(self.counts)

    @property
    def leaves(self) -> tuple[Var, ...]:
        """Everything it reads."""
        return tuple(dict.fromkeys(v for r in self.roots for v in _read(r)))

    @property
    def made(self) -> tuple[Var, ...]:
        """Everything it makes."""
        return tuple(dict.fromkeys(v for r in self.roots for v in r.made))

    @property
    def equations(self) -> tuple[Equation, ...]:
        """Everything its kernels compute, in order."""
        found = dict.fromkeys(e for r in self.roots for e in r.equations)
        return tuple(sorted(found, key=lambda e: e.number))

    @property
    def sequential(self) -> frozenset[int]:
        """Grid axes that must be walked in order, innermost."""
        return frozenset(
            r.axes[r.scan.axis(r.eqn)] for r in self.roots if r.kind == "scan" and r.eqn
        )

    @property
    def descending(self) -> frozenset[int]:
        """Grid axes that are walked from their end."""
        return frozenset(
            r.axes[r.scan.axis(r.eqn)]
            for r in self.roots
            if r.kind == "scan" and r.eqn and r.scan.reverse(r.eqn)
        )


def _read(root: Root) -> Iterator[Var]:
    yield from root.leaves
    for follower in root.followers:
        yield from (v for v in follower.leaves if v not in root.outputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Passes in order, and where each result lives meanwhile."""

    passes: tuple[Pass, ...]
    """In the order in which they run."""

    places: Mapping[Var, Place]
    """Where leaves and results live."""

    kept: int
    """Bytes of results that are held in memory."""

    limits: Limits
    """What it was made for."""

    decisions: tuple[str, ...] = field(default=())
    """Where each reduction was decided, in words."""

    @property
    def projected(self) -> int:
        """Bytes that the evaluation holds at its peak, without the reserve."""
        return self.kept + max((p.memory for p in self.passes), default=0)
