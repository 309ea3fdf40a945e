"""Reductions over axes: sum, prod, max, min, and, or, xor, argmax, argmin.

Across tiles a sum is kept in a wider type than the blocks; narrow floats are widened
before they are summed at all. max and min let NaN through. argmax and argmin carry
(value, index), take the lowest index of equal values, and the first NaN wins.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.rules._blocks import (
    DType,
    at_least_single,
    boxed,
    extreme,
    highest,
    lowest,
    wide,
)
from jask.rules._table import Link, Need, Reduction, bind, register
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature

INDEX = np.dtype(np.int64)
"""Type of positions across tiles."""


class AxisReduction(Reduction):
    """What reductions over the axes of one operand share."""

    def axes(self, eqn: Equation) -> tuple[int, ...]:
        """Return the reduced axes, ascending."""
        return tuple(sorted(int(d) for d in eqn.params["axes"]))

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the reduced axes whole."""
        spans = iter(out.intervals)
        box = Box.of(
            (0, n) if d in self.axes(eqn) else next(spans)
            for d, n in enumerate(eqn.inputs[0].shape)
        )
        return Need(boxed(eqn, (box,)))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Apply the primitive to the block; nothing needed gives the identity."""
        if blocks[0] is None:
            return self.finish(eqn, self.init(eqn, shape))
        return bind(eqn, *blocks)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the kept axes."""
        return [Link(0, d, i) for i, d in enumerate(self.kept(eqn))]

    def domain(self, eqn: Equation) -> tuple[int, ...]:
        """Return the operand's shape."""
        return eqn.inputs[0].shape

    def kept(self, eqn: Equation) -> tuple[int, ...]:
        """Return the axes that are not reduced."""
        axes = self.axes(eqn)
        return tuple(d for d in range(eqn.inputs[0].ndim) if d not in axes)

    def sources(self, eqn: Equation) -> tuple[tuple[int, int], ...]:
        """Return the operand's axes."""
        return tuple((0, d) for d in range(eqn.inputs[0].ndim))

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Ask for the part itself."""
        return Need((part,))


@dataclass(frozen=True)
class Joined(Reduction):
    """What reductions by one associative operation carry across tiles."""

    join: Callable[[Any, Any], Any]
    """The operation."""

    identity: Callable[[DType], Any]
    """Its neutral element in a type."""

    widened: bool = False
    """Whether rounding makes it worth keeping in a wider type."""

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the wide type of sums and products, else the result's."""
        dtype = eqn.outputs[0].dtype
        return (wide(dtype) if self.widened else dtype,)

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return the identity everywhere."""
        (dtype,) = self.accumulators(eqn)
        return (jnp.full(shape, self.identity(dtype), dtype),)

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Join element by element."""
        return (self.join(first[0], second[0]),)

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Round to the result's type."""
        return (accumulators[0].astype(eqn.outputs[0].dtype),)


@dataclass(frozen=True)
class Monoid(Joined, AxisReduction):
    """A reduction over axes by one associative operation."""

    def partial(
        self, eqn: Equation, offsets: Sequence[Any], blocks: Sequence[Any]
    ) -> Sequence[Any]:
        """Reduce the block in its own type, single precision at least."""
        (block,) = blocks
        if self.widened:
            block = block.astype(at_least_single(block.dtype))
        return (bind(eqn, block).astype(self.accumulators(eqn)[0]),)


@dataclass(frozen=True)
class Sum(Monoid):
    """A sum. XLA returns the only element of a length-1 sum as it is, even -0.0."""

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return zeros, negative ones where nothing will be added to the element."""
        (dtype,) = self.accumulators(eqn)
        operand = eqn.inputs[0].shape
        alone = all(operand[d] == 1 for d in self.axes(eqn))
        signed = jnp.issubdtype(dtype, jnp.floating)
        return (jnp.full(shape, -0.0 if alone and signed else 0, dtype),)


@dataclass(frozen=True)
class Extreme(Monoid):
    """A maximum or minimum: NaN wins."""

    idempotent: ClassVar[bool] = True

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Reduce the block; nothing needed gives the identity."""
        if blocks[0] is None:
            return self.finish(eqn, self.init(eqn, shape))
        return self.partial(eqn, offsets, blocks)[0]

    def partial(
        self, eqn: Equation, offsets: Sequence[Any], blocks: Sequence[Any]
    ) -> Sequence[Any]:
        """Reduce the block in its own type."""
        largest = eqn.name == "reduce_max"
        return (extreme(blocks[0], self.axes(eqn), largest=largest),)


class ArgReduction(AxisReduction):
    """argmax and argmin along one axis."""

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Find the first place of the extreme value."""
        return self._places(eqn, blocks[0])[1].astype(eqn.outputs[0].dtype)

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Ask for the part, and for where it starts along the axis."""
        return Need((part,), offsets=(part.start[self.axes(eqn)[0]],))

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the types of (value, index)."""
        return (eqn.inputs[0].dtype, INDEX)

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return index -1: nothing seen yet."""
        value, index = self.accumulators(eqn)
        return (jnp.zeros(shape, value), jnp.full(shape, -1, index))

    def partial(
        self, eqn: Equation, offsets: Sequence[Any], blocks: Sequence[Any]
    ) -> Sequence[Any]:
        """Return the extreme values of the block and their first places."""
        value, index = self._places(eqn, blocks[0])
        return (value, index.astype(INDEX) + offsets[0])

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Keep the better value; of equal ones the lower index."""
        (v, i), (w, j) = first, second
        better = w > v if eqn.name == "argmax" else w < v
        nan_v, nan_w = v != v, w != w  # noqa: PLR0124 - true for NaN only
        better = (better | (nan_w & ~nan_v)) & ~(nan_v & ~nan_w)
        tie = (v == w) | (nan_v & nan_w)
        take = (i < 0) | ((j >= 0) & (better | (tie & (j < i))))
        return (jnp.where(take, w, v), jnp.where(take, j, i))

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Return the index in the type asked for."""
        return (accumulators[1].astype(eqn.outputs[0].dtype),)

    def _places(self, eqn: Equation, block: Any) -> tuple[Any, Any]:
        """Return the extreme values along the axis and their first places.

        XLA:CPU's own argmax is ten times slower than max, compare and min.
        """
        (axis,) = self.axes(eqn)
        value = extreme(block, (axis,), largest=eqn.name == "argmax")
        wanted = lax.expand_dims(value, (axis,))
        hit = block == wanted
        if jnp.issubdtype(block.dtype, jnp.inexact):
            hit |= (wanted != wanted) & (block != block)  # noqa: PLR0124 (is it NaN?)
        number = lax.broadcasted_iota(np.int32, block.shape, axis)
        limit = np.int32(block.shape[axis])
        return value, lax.reduce_min(jnp.where(hit, number, limit), (axis,))


def _zero(dtype: DType) -> Any:
    return np.zeros((), dtype)[()]


def _one(dtype: DType) -> Any:
    return np.ones((), dtype)[()]


def _all_bits(dtype: DType) -> Any:
    return np.True_ if dtype == np.bool_ else ~_zero(dtype)


register(["reduce_sum"], Sum(lax.add, _zero, widened=True))
register(["reduce_prod"], Monoid(lax.mul, _one, widened=True))
register(["reduce_max"], Extreme(lax.max, lowest))
register(["reduce_min"], Extreme(lax.min, highest))
register(["reduce_and"], Monoid(lax.bitwise_and, _all_bits))
register(["reduce_or"], Monoid(lax.bitwise_or, _zero))
register(["reduce_xor"], Monoid(lax.bitwise_xor, _zero))
register(["argmax", "argmin"], ArgReduction())
