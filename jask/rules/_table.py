"""The table of rules: one row per lax primitive that jask can stream.

A rule answers, for one equation:

1. `need`: which box of each operand a box of the result is made from;
2. `emit`: how to make that block from blocks of exactly those boxes;
3. `links`: which result axis runs along which operand axis (for merging passes);
4. for a `Reduction` or a `Scan`: how to carry a result across tiles.

A rule does no I/O, knows no budget and never sees absolute positions except as the
run-time integers it asked for in `Need.offsets`: a kernel depends on shapes only.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from jask.geometry.box import Box
from jask.trace.ir import Equation

type Kind = Literal["map", "reduce", "scan", "whole", "indexed"]
"""`map`: any box; `reduce`, `scan`: can also end a pass; `whole`: needs some axes whole
(sort along an axis that fits a tile); `indexed`: is computed like `whole` where that
fits a tile, and can otherwise end a pass where `can_fold` says so."""


@dataclass(frozen=True, slots=True)
class Need:
    """What one box of a result is made from."""

    boxes: tuple[Box | None, ...]
    """One box per operand, inside its shape and never empty; None: not needed.

    A Literal's box is `Box((), ())` where it is needed."""

    key: Hashable = None
    """Static facts that `emit` needs besides the shapes of its blocks."""

    offsets: tuple[int, ...] = ()
    """Run-time integers for `emit`, such as the first index of an iota."""


@dataclass(frozen=True, slots=True)
class Link:
    """Axis `axis` of operand `operand` runs along axis `out` of the results."""

    operand: int
    axis: int
    out: int


class Rule:
    """How one primitive behaves when its operands are seen a block at a time.

    All results of one equation have the same shape; primitives whose results do not
    have no rule.
    """

    kind: ClassVar[Kind] = "map"
    """How the planner treats it."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Return what the box `out` (never empty) of the results is made from."""
        raise NotImplementedError

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Make the block of `shape` from blocks of exactly the needed boxes.

        Runs under `jax.jit` with 64-bit types on. `need` carries the shapes of the
        boxes and `key`; its positions are those of an example tile and must not be
        used. `offsets` are traced int64 scalars. A block that was not needed is None.
        Returns one array, or a sequence when the equation has several results.
        """
        raise NotImplementedError

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Return the axes that run together and have the same length."""
        raise NotImplementedError

    def origins(self, eqn: Equation) -> Sequence[tuple[int, ...] | None]:  # noqa: ARG002 (others look at it)
        """Return where in the results each operand begins, if only a part needs it."""
        return ()

    def made(self, eqn: Equation, out: Box) -> Box:  # noqa: ARG002 (others look at it)
        """Return the box that `emit` computes before it crops it to `out`."""
        return out

    def work(self, eqn: Equation, out: Box) -> int:
        """Return the arithmetic for the box `out`, in additions of an element."""
        return self.made(eqn, out).size


class Reduction(Rule):
    """A rule that can also end a pass: partial results are combined across tiles.

    The domain is the index space that is walked: the kept axes, which index the
    result, and the reduced ones.
    """

    kind: ClassVar[Kind] = "reduce"
    copies: ClassVar[int] = 0
    """How many copies of its operand's block `partial` makes on the way."""
    idempotent: ClassVar[bool] = False
    """Whether parts of the domain may overlap."""

    def can_fold(self, eqn: Equation) -> bool:  # noqa: ARG002 (others look at it)
        """Return whether this equation can end a pass."""
        return True

    def domain(self, eqn: Equation) -> tuple[int, ...]:
        """Return the shape of the index space."""
        raise NotImplementedError

    def kept(self, eqn: Equation) -> tuple[int, ...]:
        """Return the domain axis of each result axis, in order: the first ones."""
        return tuple(range(eqn.outputs[0].ndim))

    def sources(self, eqn: Equation) -> tuple[tuple[int, int], ...]:
        """Return an (operand, axis) that each domain axis runs along."""
        raise NotImplementedError

    def together(self, eqn: Equation) -> Sequence[tuple[int, int]]:  # noqa: ARG002 (others look at it)
        """Return the reduced axes that the first two operands have in common."""
        return ()

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Return the operand boxes for a part of the domain (never empty)."""
        raise NotImplementedError

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the dtype of each accumulator; all have the shape of the kept part."""
        raise NotImplementedError

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return accumulators of a kept part before anything was seen.

        Each has one value everywhere.
        """
        raise NotImplementedError

    def partial(
        self, eqn: Equation, offsets: Sequence[Any], blocks: Sequence[Any]
    ) -> Sequence[Any]:
        """Reduce one part: as many arrays as accumulators, of the kept part's shape."""
        raise NotImplementedError

    def contribution(
        self,
        eqn: Equation,
        shape: tuple[int, ...],  # noqa: ARG002 (for rules that override it)
        key: Any,  # noqa: ARG002 (for rules that override it)
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Sequence[Any]:
        """Reduce a part of the domain of `shape`, of which `need_part` gave the key.

        Only a rule that must know shape or key overrides this.
        """
        return self.partial(eqn, offsets, blocks)

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Join accumulators with accumulators or partials of a later part."""
        raise NotImplementedError

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Return the block of each result."""
        raise NotImplementedError


class Staged(Rule):
    """A rule for which there is an algorithm that works between the passes.

    It takes what its axis needs from stores and writes its results to others, in the
    memory that it is given: for an axis that does not fit memory.
    """

    def can_stage(self, eqn: Equation) -> bool:
        """Return whether the algorithm computes this equation."""
        raise NotImplementedError

    def stage_axis(self, eqn: Equation) -> int:
        """Return the axis that must come last before the algorithm can work."""
        raise NotImplementedError

    def stage_memory(self, eqn: Equation, memory: int) -> int:
        """Return the bytes that the algorithm takes where so many are left."""
        raise NotImplementedError

    def stage_traffic(self, eqn: Equation, memory: int) -> int:
        """Return how often each operand is read, and written, with these bytes."""
        raise NotImplementedError

    def stage_work(self, eqn: Equation, memory: int) -> int:
        """Return the arithmetic with these bytes, in additions of an element."""
        raise NotImplementedError


class Scan(Rule):
    """A rule that can also run along one axis with a carry (cumsum and friends)."""

    kind: ClassVar[Kind] = "scan"

    def axis(self, eqn: Equation) -> int:
        """Return the axis that must be walked in order."""
        raise NotImplementedError

    def reverse(self, eqn: Equation) -> bool:
        """Return whether the axis is walked from its end."""
        raise NotImplementedError

    def carries(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the dtype of each array of the carry."""
        raise NotImplementedError

    def init_carry(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return the carry before the first block; `shape` has length 1 on the axis.

        It has one value everywhere.
        """
        raise NotImplementedError

    def step(
        self, eqn: Equation, carry: Sequence[Any], blocks: Sequence[Any]
    ) -> tuple[Any, Sequence[Any]]:
        """Return the result block and the carry for the next blocks of the operands."""
        raise NotImplementedError


_rules: dict[str, Rule] = {}
_refusals: dict[str, str] = {}

RULES = MappingProxyType(_rules)
"""Rules by name of the primitive; read-only."""

REFUSALS = MappingProxyType(_refusals)
"""Why a primitive has no rule, by its name; read-only."""


def _claim(name: str) -> None:
    if name in _rules or name in _refusals:
        msg = f"{name} already has a row in the rule table"
        raise ValueError(msg)


def register(names: Iterable[str], rule: Rule) -> None:
    """Give each of these primitives this rule; a primitive has one row only."""
    for name in names:
        _claim(name)
        _rules[name] = rule


def refuse(names: Iterable[str], *, reason: str) -> None:
    """Say why these primitives cannot be streamed (they run in memory if they fit)."""
    for name in names:
        _claim(name)
        _refusals[name] = reason


def bind(eqn: Equation, *operands: Any, **changed: Any) -> Any:
    """Apply the equation's primitive, with some parameters changed."""
    return eqn.primitive.bind(*operands, **{**eqn.params, **changed})


__all__ = [
    "REFUSALS",
    "RULES",
    "Kind",
    "Link",
    "Need",
    "Reduction",
    "Rule",
    "Scan",
    "Staged",
    "bind",
    "refuse",
    "register",
]
