"""dot_general: products summed over contracted axes, with batch axes.

Its domain is the result's axes (batch, left free, right free) and the contracted ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.rules._blocks import DType, at_least_single, boxed, wide
from jask.rules._table import Link, Need, Reduction, bind, register
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature

SMALL = 1 << 20
"""Results of at most this many bytes are summed in a wider type."""


THIN = 16
"""Widest operand for which a sum of products beats XLA:CPU's own product."""


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes of the operands by role."""

    left_batch: tuple[int, ...]
    right_batch: tuple[int, ...]
    left_free: tuple[int, ...]
    right_free: tuple[int, ...]
    left_contract: tuple[int, ...]
    right_contract: tuple[int, ...]

    @classmethod
    def of(cls, eqn: Equation) -> "Axes":
        """Read the roles from `dimension_numbers`."""
        (lc, rc), (lb, rb) = eqn.params["dimension_numbers"]
        left, right = eqn.inputs
        lf = (d for d in range(left.ndim) if d not in lc and d not in lb)
        rf = (d for d in range(right.ndim) if d not in rc and d not in rb)
        return cls(*(tuple(map(int, part)) for part in (lb, rb, lf, rf, lc, rc)))

    @property
    def left(self) -> tuple[tuple[int, int], ...]:
        """(axis of the left operand, axis of the domain), for each of its axes."""
        first = self.left_batch + self.left_free
        n = len(first) + len(self.right_free)
        return (*((d, i) for i, d in enumerate(first)), *_count(self.left_contract, n))

    @property
    def right(self) -> tuple[tuple[int, int], ...]:
        """(axis of the right operand, axis of the domain), for each of its axes."""
        b = len(self.right_batch)
        free = b + len(self.left_free)
        n = free + len(self.right_free)
        return (
            *_count(self.right_batch, 0),
            *_count(self.right_free, free),
            *_count(self.right_contract, n),
        )


class SumOfProducts(Reduction):
    """What a product and a convolution carry across tiles."""

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return a wide type for small results, else at least single precision."""
        result = eqn.outputs[0]
        small = result.nbytes <= SMALL
        return (wide(result.dtype) if small else at_least_single(result.dtype),)

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return zeros."""
        return (jnp.zeros(shape, self.accumulators(eqn)[0]),)

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Add; truth values by or."""
        return (first[0] + second[0],)

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Round to the result's type."""
        return (accumulators[0].astype(eqn.outputs[0].dtype),)


class DotGeneral(SumOfProducts):
    """`dot_general`; its domain is the result's axes and the contracted ones."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the contracted axes whole."""
        contracted = self.domain(eqn)[len(out.start) :]
        start = out.start + (0,) * len(contracted)
        boxes = _boxes(eqn, start, out.stop + contracted)
        return Need(boxed(eqn, boxes))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Multiply the blocks; an empty contraction gives zeros."""
        if None in need.boxes:
            return jnp.zeros(shape, eqn.outputs[0].dtype)
        return _product(eqn, blocks, eqn.outputs[0].dtype)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the batch and free axes."""
        axes, n = Axes.of(eqn), eqn.outputs[0].ndim
        left = [Link(0, d, i) for d, i in axes.left if i < n]
        return left + [Link(1, d, i) for d, i in axes.right if i < n]

    def domain(self, eqn: Equation) -> tuple[int, ...]:
        """Return the result's shape and the contracted lengths."""
        left = eqn.inputs[0].shape
        contracted = tuple(left[d] for d in Axes.of(eqn).left_contract)
        return (*eqn.outputs[0].shape, *contracted)

    def sources(self, eqn: Equation) -> tuple[tuple[int, int], ...]:
        """Return the left operand's axis where it has one, else the right's."""
        axes = Axes.of(eqn)
        where = {i: (1, d) for d, i in axes.right} | {i: (0, d) for d, i in axes.left}
        return tuple(where[i] for i in range(len(where)))

    def together(self, eqn: Equation) -> Sequence[tuple[int, int]]:
        """Return the contracted axes."""
        axes = Axes.of(eqn)
        return tuple(zip(axes.left_contract, axes.right_contract, strict=True))

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Ask for what the part's axes select of each operand."""
        return Need(_boxes(eqn, part.start, part.stop))

    def partial(
        self, eqn: Equation, offsets: Sequence[Any], blocks: Sequence[Any]
    ) -> Sequence[Any]:
        """Multiply the blocks, in single precision at least."""
        product = _product(eqn, blocks, at_least_single(eqn.outputs[0].dtype))
        return (product.astype(self.accumulators(eqn)[0]),)


def _count(axes: tuple[int, ...], first: int) -> list[tuple[int, int]]:
    return [(d, first + i) for i, d in enumerate(axes)]


def _boxes(eqn: Equation, start: Sequence[int], stop: Sequence[int]) -> tuple[Box, Box]:
    axes = Axes.of(eqn)
    left = [(start[i], stop[i]) for _, i in sorted(axes.left)]
    right = [(start[i], stop[i]) for _, i in sorted(axes.right)]
    return Box.of(left), Box.of(right)


def _product(eqn: Equation, blocks: Sequence[Any], dtype: DType) -> Any:
    if _thin(eqn, blocks, dtype):
        left, right = (lax.reshape(b, (b.shape[0], prod(b.shape[1:]))) for b in blocks)
        summed = jnp.sum(left[:, :, None] * right[:, None, :], axis=0)
        return lax.reshape(summed, blocks[0].shape[1:] + blocks[1].shape[1:])
    return bind(eqn, *blocks, preferred_element_type=np.dtype(dtype))


def _keeps_sums(dtype: DType) -> bool:
    """Return whether products and partial sums may be rounded to this type.

    XLA keeps those of float16 in single precision: 300 * 300 is not infinite there.
    """
    return dtype.kind == "f" and dtype.itemsize >= 4


def _thin(eqn: Equation, blocks: Sequence[Any], dtype: DType) -> bool:
    """Return whether the product is X.T @ Y of tall arrays, one of them thin.

    XLA:CPU sums such products twice as fast as it multiplies, as exactly or better.
    """
    axes = Axes.of(eqn)
    if axes.left_contract != (0,) or axes.right_contract != (0,) or axes.left_batch:
        return False
    widths = [prod(b.shape[1:]) for b in blocks]
    tall = blocks[0].shape[0] >= 4 * max(widths)
    types = {np.dtype(b.dtype) for b in blocks} | {np.dtype(dtype)}
    same = len(types) == 1 and _keeps_sums(np.dtype(dtype))
    flat = all(b.ndim <= 2 for b in blocks)
    return flat and tall and same and min(widths) <= THIN


register(["dot_general"], DotGeneral())
