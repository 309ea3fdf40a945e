"""Stores whose elements are chosen from another store by indices.

1. The indices are computed from what is in memory, by one kernel.
2. A box is read slice by slice: each index vector names a box of the operand. Of a
   dynamic_slice it is one box, moved.

What lies out of bounds is clamped or filled, as the gather says.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jask.execute.blocks import aligned_empty
from jask.geometry.box import Box
from jask.rules.gather import MODE, GatherAxes
from jask.trace.counters import COUNTERS
from jask.trace.ir import Atom, Literal, Pick

type Array = np.ndarray[Any, Any]

FAR = 256
"""Slices that are asked for ahead, at most."""


class PreparedPick:
    """A pick with the kernel that computes its indices, compiled at its first use."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick
        self._kernel: Any = None

    def indices(self, operands: Sequence[Array]) -> Array:
        """Return the indices, as the gather takes them; or the starts of a slice."""
        with jax.enable_x64(True):  # noqa: FBT003 (JAX's own signature)
            if self._kernel is None:
                COUNTERS.compiles += 1
                run = jax.jit(partial(_indices, self.pick))
                self._kernel = run.lower(*operands).compile()
            return np.asarray(self._kernel(*operands))

    def store(
        self, source: Any, operands: Sequence[Array]
    ) -> "PickedStore | SlicedStore":
        """Return the store of the elements."""
        made = SlicedStore if self.pick.eqn.name == "dynamic_slice" else PickedStore
        return made(self.pick, source, self.indices(operands))


def _indices(pick: Pick, *operands: Any) -> Any:
    env: dict[Any, Any] = dict(zip(pick.operands, operands, strict=True))

    def read(atom: Atom) -> Any:
        return atom.value if isinstance(atom, Literal) else env[atom]

    for eqn in pick.steps:
        made = eqn.primitive.bind(*map(read, eqn.inputs), **eqn.params)
        results = made if eqn.primitive.multiple_results else [made]
        env.update(zip(eqn.outputs, results, strict=True))
    if pick.eqn.name == "gather":
        return read(pick.eqn.inputs[1])
    return jnp.stack([jnp.asarray(read(a), np.int64) for a in pick.eqn.inputs[1:]])


class SlicedStore:
    """A box of another store, read where it is asked for."""

    on_disk = True

    def __init__(self, pick: Pick, source: Any, starts: Array) -> None:
        self._source = source
        self.shape, self.dtype = pick.leaf.shape, pick.leaf.dtype
        rest = np.subtract(source.shape, self.shape)
        self._starts: list[int] = np.clip(starts, 0, rest).tolist()

    def read(self, box: Box, buffer: Array) -> None:
        """Fill the buffer."""
        self._source.read(self._moved(box), buffer)

    def prefetch(self, box: Box) -> None:
        """Hint at a box."""
        self._source.prefetch(self._moved(box))

    def _moved(self, box: Box) -> Box:
        moved = zip(box.intervals, self._starts, strict=True)
        return Box.of((first + k, last + k) for (first, last), k in moved)


class PickedStore:
    """The result of a gather, read where it is asked for."""

    on_disk = True

    def __init__(self, pick: Pick, source: Any, indices: Array) -> None:
        self._source = source
        self._axes = GatherAxes.of(pick.eqn)
        self._gather = pick.eqn
        self.shape, self.dtype = pick.leaf.shape, pick.leaf.dtype
        self._indices = indices.astype(np.int64)
        if pick.eqn.params["mode"] != MODE.FILL_OR_DROP:
            lengths = [source.shape[d] for d in self._axes.indexed]
            last = np.asarray(lengths, np.int64) - 1
            self._indices = np.clip(self._indices, 0, last)

    def read(self, box: Box, buffer: Array) -> None:
        """Fill the buffer, slice by slice."""
        batch = self._axes.batch
        slices = np.moveaxis(buffer, batch, range(len(batch)))
        for place, part in self._parts(box):
            into: Array = slices[place + (...,)]  # noqa: RUF005 - a view, even of one
            if part is None:
                into[...] = self._gather.params["fill_value"]
                continue
            if into.flags.c_contiguous:
                self._source.read(part, into.reshape(part.shape))
                continue
            apart = aligned_empty(into.nbytes).view(self.dtype).reshape(part.shape)
            self._source.read(part, apart)
            into[...] = apart.reshape(into.shape)

    def _parts(self, box: Box) -> Iterator[tuple[tuple[int, ...], Box | None]]:
        """Yield the place of each slice in a box, and where it is in the operand."""
        rows = [box.intervals[d] for d in self._axes.batch]
        chosen = self._indices[tuple(slice(*span) for span in rows)]
        for place in np.ndindex(chosen.shape[:-1]):
            at = [p + a for p, (a, _) in zip(place, rows, strict=True)]
            yield place, self._slice(box, chosen[place].tolist(), at)

    def _slice(self, box: Box, index: Sequence[int], at: Sequence[int]) -> Box | None:
        """Return the box of one slice; None if it is out of bounds."""
        axes, shape = self._axes, self._source.shape
        found = dict(zip(axes.indexed, index, strict=True))
        if any(not 0 <= i < shape[d] for d, i in found.items()):
            return None
        found.update((d, at[i]) for d, i in axes.paired.items())
        return Box.of(
            (found[d], found[d] + 1) if d in found else box.intervals[axes.window[d]]
            for d in range(len(shape))
        )

    def prefetch(self, box: Box) -> None:
        """Hint at the first slices."""
        for number, (_, part) in enumerate(self._parts(box)):
            if number == FAR:
                return
            if part is not None:
                self._source.prefetch(part)
