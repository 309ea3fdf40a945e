"""Arrays made from nothing: iota, empty."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import Link, Need, Rule, register
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature


class Iota(Rule):
    """Numbers counted along one axis; where the count starts is a run-time integer."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for nothing but the start."""
        start = out.start[eqn.params["dimension"]]
        return Need((None,) * len(eqn.inputs), offsets=(start,))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Count from the start in 64 bits, then take the result's type."""
        count = lax.broadcasted_iota(np.int64, shape, eqn.params["dimension"])
        return (count + offsets[0]).astype(eqn.outputs[0].dtype)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link nothing: there are no operands."""
        return []


class Empty(Rule):
    """Uninitialised arrays: zeros, so that results can be repeated."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for nothing."""
        return Need((None,) * len(eqn.inputs))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Make zeros."""
        return jnp.zeros(shape, eqn.outputs[0].dtype)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link nothing: there are no operands."""
        return []


register(["iota"], Iota())
register(["empty", "empty2"], Empty())
