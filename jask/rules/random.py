"""Random bits: a hash of each element's position, so that any block can be made alone.

JAX's default generator numbers the elements of an array in row-major order
(`iota_2x32_shape`: two 32-bit words) and hashes each number with the key
(`threefry2x32`). A block has the bits of that block of the whole array, whatever the
tiles are. The loop over rounds is written out here: XLA:CPU then keeps a whole hash in
registers, four times as fast as JAX's rolled loop, which writes each round to memory.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jask import _jax
from jask.geometry.box import Box
from jask.rules._table import Link, Need, Rule, register
from jask.rules.elementwise import Elementwise
from jask.trace.ir import Equation

# ruff: noqa: ARG002 - the methods of a rule have one signature

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
"""How far each round of Threefry-2x32 rotates, in groups of four."""

PARITY = np.uint32(0x1BD11BDA)
"""The constant of Threefry's key schedule."""


class Positions(Rule):
    """The row-major number of each element, as two words of 32 bits."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for nothing but the number of the block's first element."""
        pairs = zip(out.start, _strides(eqn), strict=True)
        return Need((), offsets=(sum(start * stride for start, stride in pairs),))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Count from the first element; in 32 bits where the numbers fit."""
        small = prod(eqn.params["shape"]) <= 1 << 32
        word = np.uint32 if small else np.uint64
        number = lax.full(shape, offsets[0].astype(word))
        for axis, stride in enumerate(_strides(eqn)):
            number += lax.broadcasted_iota(word, shape, axis) * word(stride)
        if small:
            return jnp.zeros(shape, np.uint32), number
        high = lax.shift_right_logical(number, jnp.full_like(number, 32))
        return high.astype(np.uint32), number.astype(np.uint32)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link nothing: there are no operands."""
        return []


class Threefry(Elementwise):
    """Threefry-2x32 with twenty rounds: two words of key, two of counter."""

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Hash each counter."""
        first, second, x, y = (jnp.broadcast_to(b, shape) for b in blocks)
        schedule = (first, second, first ^ second ^ PARITY)
        x, y = x + first, y + second
        for group in range(5):
            for distance in ROTATIONS[group % 2]:
                x = x + y
                y = _rotate(y, distance) ^ x
            x = x + schedule[(group + 1) % 3]
            y = y + schedule[(group + 2) % 3] + np.uint32(group + 1)
        return x, y


class KeyedGamma(Rule):
    """One draw from a gamma distribution per key, by rejection.

    On a CPU they are drawn one by one, as `jax.random` does there: all at once takes as
    long, 150 bytes of temporaries for each, and four times as long to compile.
    """

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the same box, of keys all of their numbers."""
        keys = eqn.inputs[0]
        whole = [(0, n) for n in keys.shape[len(out.start) :]]
        return Need((Box.of([*out.intervals, *whole]), out))

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Draw for each key."""
        keys, a = blocks
        size = keys.shape[len(shape) :]

        def draw(pair: tuple[Any, Any]) -> Any:
            return _jax.gamma_of_key(*pair, **eqn.params)

        flat = keys.reshape(-1, *size), a.reshape(-1)
        by_vmap = eqn.params["generator"] == "threefry2x32" and not _on_cpu()
        drawn = jax.vmap(lambda *p: draw(p))(*flat) if by_vmap else lax.map(draw, flat)
        return drawn.reshape(shape)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link every axis of the result."""
        return [Link(i, d, d) for i in (0, 1) for d in range(eqn.outputs[0].ndim)]


def _strides(eqn: Equation) -> list[int]:
    """Return how many elements apart two neighbours along each axis are."""
    shape = eqn.params["shape"]
    return [prod(shape[axis + 1 :]) for axis in range(len(shape))]


def _on_cpu() -> bool:
    return jax.default_backend() == "cpu"


def _rotate(word: Any, distance: int) -> Any:
    return (word << np.uint32(distance)) | (word >> np.uint32(32 - distance))


register(["iota_2x32_shape"], Positions())
register(["threefry2x32"], Threefry())
register(["keyed_gamma"], KeyedGamma())
