"""Elementwise primitives: an element of the result is made from one of each operand.

lax broadcasts axes of length 1 and operands without axes by itself, so need is
clipped there. The table at the end is the whole specification.
"""

from collections.abc import Sequence
from typing import Any

from jask.geometry.box import Box
from jask.rules._blocks import boxed, crop_axis
from jask.rules._table import Link, Need, Rule, bind, register
from jask.trace.ir import Equation


class Elementwise(Rule):
    """Operands have the shape of the result, or length 1, or no axes."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the same box, clipped where an operand is broadcast."""
        return Need(boxed(eqn, [_clip(atom.shape, out) for atom in eqn.inputs]))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],  # noqa: ARG002 (every rule's signature)
        need: Need,  # noqa: ARG002 (every rule's signature)
        offsets: Sequence[Any],  # noqa: ARG002 (every rule's signature)
        blocks: Sequence[Any],
    ) -> Any:
        """Apply the primitive to the blocks."""
        return bind(eqn, *blocks)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link each axis with the same axis, except broadcast ones."""
        out = eqn.outputs[0].shape
        return [
            Link(i, d, d)
            for i, atom in enumerate(eqn.inputs)
            for d, n in enumerate(atom.shape)
            if n == out[d]
        ]


class Same(Elementwise):
    """Primitives that return their operand: placement and layout mean nothing here."""

    def emit(
        self,
        eqn: Equation,  # noqa: ARG002 (every rule's signature)
        shape: tuple[int, ...],  # noqa: ARG002 (every rule's signature)
        need: Need,  # noqa: ARG002 (every rule's signature)
        offsets: Sequence[Any],  # noqa: ARG002 (every rule's signature)
        blocks: Sequence[Any],
    ) -> Any:
        """Return the block."""
        return blocks[0]


class Bitcast(Rule):
    """Reinterpretation of bytes; a trailing axis appears, stays or disappears."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the elements that hold these bytes."""
        (operand,) = eqn.inputs
        start, stop = out.start[: operand.ndim], out.stop[: operand.ndim]
        if operand.ndim > len(out.start):
            start, stop = (*start, 0), (*stop, operand.shape[-1])
        last = out.start[-1] if operand.ndim < len(out.start) else 0
        return Need((Box(start, stop),), offsets=(last,))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,  # noqa: ARG002 (every rule's signature)
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Reinterpret whole elements and keep the parts asked for."""
        result = bind(eqn, *blocks)
        if result.ndim == 0:
            return result
        return crop_axis(result, offsets[0], shape[-1], result.ndim - 1)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes that both have."""
        n = min(eqn.inputs[0].ndim, eqn.outputs[0].ndim)
        return [Link(0, d, d) for d in range(n)]


def _clip(shape: tuple[int, ...], out: Box) -> Box:
    return Box.of(
        (0, 1) if n == 1 else span
        for n, span in zip(shape, out.intervals[: len(shape)], strict=True)
    )


def _rows(names: str, rule: Rule) -> None:
    register(names.split(), rule)


_elementwise = Elementwise()

# arithmetic
_rows(
    "abs add add_any div integer_pow max min mul neg nextafter pow reduce_precision "
    "rem sign square sub cbrt sqrt rsqrt clamp mulhi polynomial",
    _elementwise,
)
# exponentials, trigonometry
_rows(
    "exp exp2 expm1 log log1p log2 logistic one_minus_square sin cos tan asin acos "
    "atan atan2 sinh cosh tanh asinh acosh atanh",
    _elementwise,
)
# special functions
_rows(
    "bessel_i0e bessel_i1e digamma erf erf_inv erfc igamma igamma_grad_a igammac "
    "lgamma polygamma regularized_incomplete_beta zeta",
    _elementwise,
)
# rounding, comparison, selection
_rows(
    "ceil floor round is_finite eq ne lt le gt ge eq_to lt_to le_to select_n",
    _elementwise,
)
# bits and logic
_rows(
    "and or xor not clz population_count shift_left shift_right_arithmetic "
    "shift_right_logical",
    _elementwise,
)
# types and parts of complex numbers
_rows("convert_element_type complex conj real imag", _elementwise)
# random bits by counter, several words each (JAX's default generator: `random`)
_rows("philox2x32 philox4x32 threefry4x32", _elementwise)
# placement and names
_rows(
    "copy copy_p device_put name stop_gradient optimization_barrier "
    "sharding_constraint reshard pvary",
    Same(),
)
_rows("bitcast_convert_type", Bitcast())
