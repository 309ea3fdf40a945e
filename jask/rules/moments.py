"""The program's own folds, made by rewrites: one sweep where JAX's own takes two.

`moments`: (sum of x, sum of (x - mean)^2) over axes.
`logsumexp_parts`: (max of x, sum of exp(x - max)) over axes, 0 standing in for a max
that is not finite.

Both have primitive None, the parameter `axes` and real floating operands; the second
has the parameter `guarded`: without it the sum is NaN where the max is not finite.
"""

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.rules._blocks import at_least_single, extreme, lowest, wide
from jask.rules._table import Need, register
from jask.rules.reduce import AxisReduction
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature

DOUBLE = np.dtype(np.float64)


class OwnFold(AxisReduction):
    """A fold without a primitive: its local form is one partial, finished."""

    copies: ClassVar[int] = 1

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Reduce the block at once; nothing needed gives the identity."""
        if blocks[0] is None:
            return self.finish(eqn, self.init(eqn, shape))
        return self.finish(eqn, self.partial(eqn, offsets, blocks))

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Round the last two accumulators to the results' types."""
        pairs = zip(accumulators[-2:], eqn.outputs, strict=True)
        return tuple(a.astype(out.dtype) for a, out in pairs)


class Moments(OwnFold):
    """Sum and sum of squared deviations, sound for any offset.

    Accumulators are (count, sum, squared deviations). Within a block deviations are
    taken from the block's rounded mean and corrected for what it was off; blocks are
    joined by Chan's update.
    """

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return double precision three times."""
        return (DOUBLE, DOUBLE, DOUBLE)

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return zeros: nothing counted."""
        return tuple(jnp.zeros(shape, t) for t in self.accumulators(eqn))

    def partial(
        self, eqn: Equation, offsets: Sequence[Any], blocks: Sequence[Any]
    ) -> Sequence[Any]:
        """Count, sum, and sum squared deviations of the block."""
        axes = self.axes(eqn)
        x = blocks[0].astype(at_least_single(blocks[0].dtype))
        n = float(prod(x.shape[d] for d in axes))
        rough = lax.reduce_sum(x, axes)
        mean = (rough.astype(DOUBLE) / n).astype(x.dtype)
        apart = x - lax.expand_dims(mean, axes)
        off = lax.reduce_sum(apart, axes).astype(DOUBLE)
        square = lax.reduce_sum(apart * apart, axes).astype(DOUBLE)
        exact = mean.astype(DOUBLE) * n + off
        total = jnp.where(jnp.isfinite(exact), exact, rough.astype(DOUBLE))
        return (jnp.full(total.shape, n, DOUBLE), total, square - off * off / n)

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Join by Chan's update."""
        (n, s, q), (m, t, r) = first, second
        one = jnp.ones((), DOUBLE)
        apart = t / jnp.maximum(m, one) - s / jnp.maximum(n, one)
        between = apart * apart * (n * m / jnp.maximum(n + m, one))
        both = (n > 0) & (m > 0)
        return (n + m, s + t, q + r + jnp.where(both, between, jnp.zeros_like(q)))


class LogSumExpParts(OwnFold):
    """Maximum, and sum of exponentials of what lies below it, in one sweep.

    Accumulators are (max, sum of exp(x - max)); joining rescales the sums to the common
    maximum. NaN passes through both.
    """

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the operand's type and the wide type of the sum."""
        return (eqn.inputs[0].dtype, wide(eqn.outputs[1].dtype))

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return the lowest maximum and an empty sum."""
        top, total = self.accumulators(eqn)
        return (jnp.full(shape, lowest(top), top), jnp.zeros(shape, total))

    def partial(
        self, eqn: Equation, offsets: Sequence[Any], blocks: Sequence[Any]
    ) -> Sequence[Any]:
        """Return the block's maximum and sum."""
        axes = self.axes(eqn)
        (x,) = blocks
        top = extreme(x, axes, largest=True)
        below = x - lax.expand_dims(_finite(top), axes)
        terms = jnp.exp(below.astype(at_least_single(x.dtype)))
        return (top, lax.reduce_sum(terms, axes).astype(self.accumulators(eqn)[1]))

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Rescale both sums to the common maximum and add."""
        top = lax.max(first[0], second[0])
        return (top, _rescaled(first, top) + _rescaled(second, top))

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Round both; the difference of two infinities is NaN."""
        top, total = super().finish(eqn, accumulators)
        if eqn.params["guarded"]:
            return (top, total)
        return (top, jnp.where(jnp.isfinite(top), total, jnp.nan * total))


def _finite(top: Any) -> Any:
    """Return what is subtracted: the maximum, or 0 where it is not finite."""
    return jnp.where(jnp.isfinite(top), top, jnp.zeros_like(top))


def _rescaled(part: Sequence[Any], top: Any) -> Any:
    """Return a sum as one of exponentials of what lies below `top`."""
    own, total = part
    factor = jnp.exp(
        _finite(own).astype(total.dtype) - _finite(top).astype(total.dtype)
    )
    return jnp.where(own == -jnp.inf, jnp.zeros_like(total), total * factor)


register(["moments"], Moments())
register(["logsumexp_parts"], LogSumExpParts())
