"""Running results along an axis: cumsum and friends, and linear recurrences.

A block is walked row by row with a carry in a wider type than the block, which on
XLA:CPU is ten to thirty times faster than the primitives and needs no temporaries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.rules._blocks import DType, crop_axis, highest, lowest, wide
from jask.rules._table import Link, Need, Scan, register
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature

NARROW = 16
"""Rows of fewer elements are walked several at a time."""


@dataclass(frozen=True)
class Cumulative(Scan):
    """A running result: an operation on what is carried and the next element.

    All operands have the shape of the result.
    """

    join: Callable[..., Any]
    """The operation; it takes what is carried and an element of each operand."""

    identity: Callable[[DType], Any]
    """What is carried at first, in a type."""

    widened: bool = False
    """Whether rounding makes it worth carrying in a wider type."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the axis whole, and for where the box starts on it."""
        axis = self.axis(eqn)
        n = eqn.inputs[0].shape[axis]
        spans = out.intervals
        box = Box.of((*spans[:axis], (0, n), *spans[axis + 1 :]))
        return Need((box,) * len(eqn.inputs), offsets=(out.start[axis],))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Walk the whole axis and crop to the box."""
        block = blocks[-1]
        axis = self.axis(eqn)
        one = (*block.shape[:axis], 1, *block.shape[axis + 1 :])
        if block.shape[axis] == 1 and len(blocks) == 1:
            return block
        # XLA takes the sum of a constant zero and -0.0 for -0.0
        start = lax.optimization_barrier(tuple(self.init_carry(eqn, one)))
        result, _ = self.step(eqn, start, blocks)
        return crop_axis(result, offsets[0], shape[axis], axis)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link every axis."""
        axes = range(eqn.outputs[0].ndim)
        return [Link(i, d, d) for i in range(len(eqn.inputs)) for d in axes]

    def axis(self, eqn: Equation) -> int:
        """Return the axis of the equation."""
        return int(eqn.params["axis"])

    def reverse(self, eqn: Equation) -> bool:
        """Return whether the equation runs from the end."""
        return bool(eqn.params["reverse"])

    def carries(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the dtype of the running result."""
        dtype = eqn.outputs[0].dtype
        return (wide(dtype) if self.widened else dtype,)

    def init_carry(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return the identity everywhere."""
        (carry,) = self.carries(eqn)
        return (jnp.full(shape, self.identity(carry), carry),)

    def step(
        self, eqn: Equation, carry: Sequence[Any], blocks: Sequence[Any]
    ) -> tuple[Any, Sequence[Any]]:
        """Walk the blocks' rows along the axis."""
        axis = self.axis(eqn)
        dtype = blocks[-1].dtype

        def walk(acc: Any, row: Sequence[Any]) -> tuple[Any, Any]:
            acc = self.join(acc, *(r.astype(acc.dtype) for r in row))
            return acc, acc.astype(dtype)

        rows = tuple(jnp.moveaxis(block, axis, 0) for block in blocks)
        narrow = prod(rows[0].shape[1:]) < NARROW
        last, result = lax.scan(
            walk,
            lax.squeeze(carry[0], (axis,)),
            rows,
            reverse=self.reverse(eqn),
            unroll=8 if narrow else 1,
        )
        return jnp.moveaxis(result, 0, axis), (lax.expand_dims(last, (axis,)),)


def _zero(dtype: DType) -> Any:
    return np.zeros((), dtype)[()]


def _one(dtype: DType) -> Any:
    return np.ones((), dtype)[()]


def _nothing(dtype: DType) -> Any:
    """Return the zero that leaves a zero of either sign as it is, when added."""
    return np.asarray(-0.0, dtype)[()]


def _linear(carried: Any, factor: Any, added: Any) -> Any:
    return carried * factor + added


register(["cumsum"], Cumulative(lax.add, _zero, widened=True))
register(["cumprod"], Cumulative(lax.mul, _one, widened=True))
register(["cummax"], Cumulative(lax.max, lowest))
register(["cummin"], Cumulative(lax.min, highest))
register(["cumlogsumexp"], Cumulative(jnp.logaddexp, lowest, widened=True))
register(["linear_recurrence"], Cumulative(_linear, _nothing, widened=True))
