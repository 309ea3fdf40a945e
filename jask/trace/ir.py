"""The flat program: what the planner plans and the executor runs.

A Program is a jaxpr with every call inlined, equal equations merged and dead code
dropped. It holds no data except constants, and knows neither files nor tiles.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

type Atom = Var | Literal


@dataclass(eq=False, slots=True)
class Var:
    """A value of the program: a leaf, a constant array or the result of an equation."""

    shape: tuple[int, ...]
    """Number of elements along each axis."""

    dtype: np.dtype[Any]
    """Element type."""

    producer: "Equation | None" = None
    """The equation that computes it; None for leaves and constant arrays."""

    index: int = 0
    """Which result of its producer, or which leaf of the program."""

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes of the whole array."""
        return self.size * self.dtype.itemsize

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)


@dataclass(eq=False, slots=True)
class Literal:
    """A scalar known when the program is built."""

    value: np.ndarray[Any, Any]
    """A zero-dimensional array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Always `()`."""
        return ()

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        dtype: np.dtype[Any] = self.value.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """Always 0."""
        return 0


@dataclass(eq=False, slots=True)
class Equation:
    """One primitive applied to atoms."""

    primitive: Any
    """The JAX primitive; None for the program's own folds and loops over rows (see
    `rewrite` and `rules.loops`)."""

    name: str
    """Name of the primitive, the key of the rule table."""

    params: Mapping[str, Any]
    """Static parameters, as in the jaxpr."""

    inputs: tuple[Atom, ...]
    """Operands."""

    outputs: tuple[Var, ...] = ()
    """Results."""

    number: int = -1
    """Position in the program."""

    source: str = ""
    """The user's line, `file:line`, for messages."""

    fenced: bool = False
    """Whether its results have the same bits in every kernel (see `fence`)."""

    def __repr__(self) -> str:
        """Show the name and the shapes."""
        ins = ", ".join(str(a.shape) for a in self.inputs)
        outs = ", ".join(str(o.shape) for o in self.outputs)
        return f"{self.name}({ins}) -> {outs}"


@dataclass(frozen=True, eq=False, slots=True)
class Pick:
    """A leaf whose elements are chosen from another leaf by indices."""

    leaf: Var
    """What was chosen, now a leaf of the program."""

    source: Var
    """The leaf that it chooses from."""

    eqn: Equation
    """Which elements: a `gather` or a `dynamic_slice`; indices follow the operand."""

    steps: tuple[Equation, ...]
    """What computes the indices, in order."""

    operands: tuple[Var, ...]
    """The leaves and constants that they are computed from, in memory or small."""

    @property
    def nbytes(self) -> int:
        """Bytes of the indices and all that leads to them."""
        made = (v for e in self.steps for v in e.outputs)
        return sum(v.nbytes for v in (*made, *self.operands))


@dataclass(eq=False, slots=True)
class Program:
    """A flat program: leaves in, outputs out, equations in order."""

    leaves: list[Var] = field(default_factory=list)
    """The values that come from stores, in the order of the call."""

    constants: dict[Var, np.ndarray[Any, Any]] = field(default_factory=dict)
    """Arrays baked into the traced functions."""

    equations: list[Equation] = field(default_factory=list)
    """In an order in which each operand is computed before its use."""

    outputs: list[Atom] = field(default_factory=list)
    """What was asked for."""

    picks: list[Pick] = field(default_factory=list)
    """Leaves that are chosen from others; they come last among the leaves."""
