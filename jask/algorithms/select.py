"""Elements where a mask holds, their positions, and the way back: count, then write.

How many elements are chosen depends on values, so that a result has no shape before the
mask was read.

1. Count: the mask is read block by block; each block's number of elements is kept.
2. Write: the blocks are read again, the mask beside what it chooses from, and what is
   chosen goes behind that of the blocks before, into scratch if it is large. Where a
   block chooses nothing, only its mask is read.

The way back (`place`) writes all rows, those where the mask holds from other values,
which are read in their order. The mask is read twice, what else there is at most once.
Memory: a few blocks.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import Any, Self

import numpy as np

from jask.config import Settings
from jask.execute.ledger import LEDGER
from jask.execute.results import Gathered
from jask.geometry.box import Box
from jask.plan.ir import DEFAULT_BLOCK
from jask.stores.base import Readable, read_block
from jask.stores.memory import MemoryStore
from jask.stores.scratch import ScratchStore, create_scratch

__all__ = ["place", "positions", "select"]

SHARE = 32
"""A block takes at most this part (1/32) of the memory budget."""

BLOCKS = 6
"""Blocks that are held at one time, at most."""

SMALL = 1 << 20
"""Bytes up to which a result stays in memory, if that is an eighth of the budget."""

INDEX = np.dtype(np.int64)
"""Type of positions."""

type Span = tuple[int, int]
type Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A mask that was counted: where each block's elements go."""

    mask: Readable
    spans: Sequence[Span]
    starts: Sequence[int]

    @property
    def total(self) -> int:
        return self.starts[-1]

    def blocks(self) -> Iterator[tuple[int, Array, Span]]:
        """Yield first row, mask and place in the result of each block with some."""
        for span, a, b in zip(self.spans, self.starts, self.starts[1:], strict=False):
            if a < b:
                yield span[0], _holds(self.mask, span), (a, b)


def select(rows: Readable, mask: Readable, settings: Settings) -> Any:
    """Return the rows of a matrix where a vector is not zero, as a store.

    Examples
    --------
    >>> from jask.config import current
    >>> rows = MemoryStore(np.arange(6).reshape(3, 2))
    >>> select(rows, MemoryStore(np.array([True, False, True])), current()).array
    array([[0, 1],
           [4, 5]])
    """
    block = _block_bytes(settings)
    length, width = rows.shape
    wide = max(1, min(width, block // rows.dtype.itemsize))
    step = max(1, block // (wide * rows.dtype.itemsize + 8))
    with LEDGER.claim(BLOCKS * block, settings.memory_budget):
        chosen = _count(mask, _spans(length, step))
        with _Result((chosen.total, width), rows.dtype, settings) as result:
            for first, holds, place in chosen.blocks():
                low, high = _ends(holds)
                for span in _spans(width, wide):
                    box = Box.of([(first + low, first + high), span])
                    block_of_rows = read_block(rows, box)[holds[low:high]]
                    result.write(Box.of([place, span]), block_of_rows)
        return result.store()


def place(rows: Readable, mask: Readable, values: Readable, settings: Settings) -> Any:
    """Return a matrix with other rows where a vector is not zero, as a store.

    Examples
    --------
    >>> from jask.config import current
    >>> rows, values = MemoryStore(np.zeros((3, 1))), MemoryStore(np.ones((2, 1)))
    >>> mask = MemoryStore(np.array([True, False, True]))
    >>> place(rows, mask, values, current()).array.tolist()
    [[1.0], [0.0], [1.0]]
    """
    block = _block_bytes(settings)
    length, width = rows.shape
    wide = max(1, min(width, block // rows.dtype.itemsize))
    step = max(1, block // (wide * rows.dtype.itemsize + 8))
    with LEDGER.claim(BLOCKS * block, settings.memory_budget):
        chosen = _count(mask, _spans(length, step))
        if chosen.total != values.shape[0]:
            msg = (
                f"A mask that holds {chosen.total} times must be given as many values; "
                f"got {values.shape[0]}."
            )
            raise ValueError(msg)
        with _Result(rows.shape, rows.dtype, settings) as result:
            for i, span in enumerate(chosen.spans):
                given = (chosen.starts[i], chosen.starts[i + 1])
                holds = _holds(mask, span) if given[0] < given[1] else None
                for across in _spans(width, wide):
                    box = Box.of([span, across])
                    new = read_block(rows, box)
                    if holds is not None:
                        new[holds] = read_block(values, Box.of([given, across]))
                    result.write(box, new)
        return result.store()


def positions(mask: Readable, shape: tuple[int, ...], settings: Settings) -> list[Any]:
    """Return the indices of what is not zero, one store for each axis of a shape.

    `mask` holds the array as one vector; the indices are in its order.

    Examples
    --------
    >>> from jask.config import current
    >>> found = positions(MemoryStore(np.array([0, 7, 0, 9])), (2, 2), current())
    >>> [store.array.tolist() for store in found]
    [[0, 1], [1, 1]]
    """
    block = _block_bytes(settings)
    step = max(1, block // (8 * (len(shape) + 1)))
    with LEDGER.claim(BLOCKS * block, settings.memory_budget):
        chosen = _count(mask, _spans(prod(shape), step))
        with ExitStack() as stack:
            results = [
                stack.enter_context(_Result((chosen.total,), INDEX, settings))
                for _ in shape
            ]
            for first, holds, place in chosen.blocks():
                indices = np.unravel_index(np.flatnonzero(holds) + first, shape)
                for result, index in zip(results, indices, strict=True):
                    result.write(Box.of([place]), index)
        return [result.store() for result in results]


class _Result:
    """Where chosen elements are gathered; a context that cleans up on an error."""

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], settings: Settings
    ) -> None:
        small = min(SMALL, settings.memory_budget // 8)
        self._to: Gathered | ScratchStore
        if prod(shape) * dtype.itemsize <= small:
            self._to = Gathered(shape, dtype)
        else:
            self._to = create_scratch(
                shape,
                dtype,
                directory=settings.scratch_dir,
                limit=settings.scratch_limit,
            )
        self.write = self._to.write

    def store(self) -> Any:
        """Return what was gathered, as a store."""
        if isinstance(self._to, Gathered):
            return MemoryStore(self._to.array, copy=False)
        return self._to

    def close(self) -> None:
        """Remove what was gathered."""
        self._to.close()

    def __enter__(self) -> Self:
        """Start."""
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Remove what was gathered if something failed."""
        if error is not None:
            self.close()


def _block_bytes(settings: Settings) -> int:
    wanted = settings.block_bytes or DEFAULT_BLOCK
    return max(1, min(wanted, settings.memory_budget // SHARE))


def _spans(length: int, step: int) -> list[Span]:
    return [(a, min(a + step, length)) for a in range(0, length, step)]


def _count(mask: Readable, spans: Sequence[Span]) -> _Chosen:
    counts = (int(np.count_nonzero(_holds(mask, span))) for span in spans)
    return _Chosen(mask, spans, list(accumulate(counts, initial=0)))


def _holds(mask: Readable, span: Span) -> Array:
    """Return where a part of a mask is not zero."""
    block = read_block(mask, Box.of([span]))
    return block if block.dtype == np.bool_ else np.asarray(block != 0)


def _ends(holds: Array) -> Span:
    """Return the first place where a mask holds, and one past the last."""
    return int(np.argmax(holds)), holds.size - int(np.argmax(holds[::-1]))
