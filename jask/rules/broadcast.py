"""Broadcasting: axes are added, or stretched from length 1."""

from collections.abc import Sequence
from typing import Any

from jax import lax

from jask.geometry.box import Box
from jask.rules._table import Link, Need, Rule, register
from jask.trace.ir import Equation


class BroadcastInDim(Rule):
    """Operand axis `i` becomes result axis `broadcast_dimensions[i]`."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the box along the axes that are not stretched."""
        result = eqn.outputs[0].shape
        first = Box.of(
            out.intervals[d] if n == result[d] else (0, 1)
            for n, d in zip(eqn.inputs[0].shape, _axes(eqn), strict=True)
        )
        return Need((first, *(None for _ in eqn.inputs[1:])))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,  # noqa: ARG002 (every rule's signature)
        offsets: Sequence[Any],  # noqa: ARG002 (every rule's signature)
        blocks: Sequence[Any],
    ) -> Any:
        """Broadcast the block to the block's shape."""
        return lax.broadcast_in_dim(blocks[0], shape, _axes(eqn))

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link the axes that are not stretched."""
        result = eqn.outputs[0].shape
        pairs = zip(eqn.inputs[0].shape, _axes(eqn), strict=True)
        return [Link(0, i, d) for i, (n, d) in enumerate(pairs) if n == result[d]]


def _axes(eqn: Equation) -> tuple[int, ...]:
    return tuple(int(d) for d in eqn.params["broadcast_dimensions"])


register(["broadcast_in_dim"], BroadcastInDim())
