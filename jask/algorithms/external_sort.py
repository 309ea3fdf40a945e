"""Sort along an axis that does not fit memory: sorted runs, then merges.

Each line along the sorted axis (the last one), of n elements, is sorted on its own:

1. Runs: as many elements as fit are read, sorted and written to scratch, beside a
   sample of them, the last of each cell of `cell` elements.
2. Merge: the samples of all runs, in order, bound each round. The elements up to such a
   bound lie in a known number of cells of each run; those are read, the elements up to
   the bound are sorted together and written. What was read beyond it (less than a cell
   for each run) is kept for the next round.
3. More runs than one merge can take are merged in groups, several times.

Equal elements are ordered by run and place in it, so that the sort is stable and a
round is bounded whatever the elements are: sorted before, equal, or random. Operands
that are not keys go along. Data is read and written twice for one merge, once more for
each further level; a line that fits memory is read and written once.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from jask.algorithms.order import order, rank, words
from jask.config import Settings
from jask.execute.stages import Stage, add_stage
from jask.geometry.box import Box
from jask.rules.whole import merged_runs, run_length
from jask.stores.scratch import ScratchStore, create_scratch

__all__ = ["sort_stage"]

type Array = np.ndarray[Any, Any]
type Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Run:
    """A sorted part of a line, in scratch."""

    start: int
    stop: int
    samples: list[Array]
    """The words of the last element of each cell."""


class _Sorter:
    """Sorts lines of one length; scratch is made when a line needs it."""

    def __init__(self, stage: Stage) -> None:
        eqn = stage.eqn
        self.stage = stage
        self.dtypes = [a.dtype for a in eqn.inputs]
        self.keys = int(eqn.params["num_keys"])
        self.length = eqn.inputs[0].shape[-1]
        self.most = run_length(eqn, stage.memory)
        self.fan = merged_runs(stage.memory)
        runs = min(self.fan, -(-self.length // self.most))
        self.cell = max(1, self.most // (4 * max(1, runs)))
        self.wanted = [n for n, s in enumerate(stage.sinks) if s or n < self.keys]

    def line(self, sources: "_Line", sinks: "_Line", scratch: "_Scratch") -> None:
        """Sort one line."""
        spans = _spans(0, self.length, self.most)
        if len(spans) == 1:
            self._sorted(sources, spans[0], sinks)
            return
        here = scratch.line(0)
        runs = [self._sorted(sources, span, here) for span in spans]
        level = 0
        while len(runs) > self.fan:
            level = 1 - level
            there = scratch.line(level)
            groups = [runs[a:b] for a, b in _spans(0, len(runs), self.fan)]
            runs = [self._merged(group, here, there) for group in groups]
            here = there
        self._merged(runs, here, sinks)

    def _sorted(self, source: "_Line", span: Span, sink: "_Line") -> _Run:
        """Sort what fits memory; read each operand, move it, write it."""
        self.stage.check()
        keys = [source.read(n, span) for n in range(self.keys)]
        found = words(keys)
        by = order(found)
        last = self._ends(span)
        samples = [w[by[last]] for w in found]
        del found
        for n in self.wanted:
            block = keys[n] if n < self.keys else source.read(n, span)
            sink.write(n, span, block[by])
            del block
        return _Run(*span, samples)

    def _ends(self, span: Span) -> Array:
        """Return the last place of each cell, counted from the start of a run."""
        length = span[1] - span[0]
        ends = np.arange(self.cell, length + self.cell, self.cell)
        return np.minimum(ends, length) - 1

    def _merged(self, runs: Sequence[_Run], source: "_Line", sink: "_Line") -> _Run:
        """Merge neighbouring runs."""
        start, stop = runs[0].start, runs[-1].stop
        tails = [_Tail(run, self.cell) for run in runs]
        at, due = start, 0  # due: places until the next sample
        samples: list[list[Array]] = []
        ends = self._ends((start, stop)) + start
        for cells, bound in _rounds(runs, self.cell, self.most // self.cell):
            self.stage.check()
            for tail, count in zip(tails, cells, strict=True):
                self._fill(tail, count, source)
            parts = [t.split(bound, n, self.keys) for n, t in enumerate(tails)]
            merged = self._joined(parts)
            found = words(merged[: self.keys])
            by = order(found)
            span = (at, at + by.size)
            inside = ends[due : due + int(np.searchsorted(ends[due:], span[1]))]
            samples.append([w[by[inside - at]] for w in found])
            del found
            for n, block in zip(self.wanted, merged, strict=True):
                sink.write(n, span, block[by])
            at, due = span[1], due + inside.size
        columns = [np.concatenate(s) for s in zip(*samples, strict=True)]
        return _Run(start, stop, columns)

    def _fill(self, tail: "_Tail", cells: int, source: "_Line") -> None:
        """Read a run up to the end of a cell."""
        span = tail.ask(cells)
        if span[0] < span[1]:
            tail.add([source.read(n, span) for n in self.wanted], span[1])

    def _joined(self, parts: Sequence[Sequence[Array]]) -> list[Array]:
        return [np.concatenate(operand) for operand in zip(*parts, strict=True)]


class _Tail:
    """A run while it is merged: what was read of it and is not written yet."""

    def __init__(self, run: _Run, cell: int) -> None:
        self.run, self.cell, self.at = run, cell, run.start
        self.held: list[Array] = []

    def ask(self, cells: int) -> Span:
        """Return what to read so that this many cells and one more are there."""
        return self.at, min(self.run.start + (cells + 1) * self.cell, self.run.stop)

    def add(self, blocks: list[Array], at: int) -> None:
        """Append what was read."""
        if self.held and self.held[0].size:
            pairs = zip(self.held, blocks, strict=True)
            blocks = [np.concatenate(pair) for pair in pairs]
        self.held, self.at = blocks, at

    def split(self, bound: "_Bound | None", number: int, keys: int) -> list[Array]:
        """Take the elements up to a bound (None: all), and keep the others."""
        if bound is None or not self.held:
            taken, self.held = self.held, [h[:0] for h in self.held]
            return taken
        if number == bound.run:
            count = bound.stop - (self.at - self.held[0].size)
        else:
            after = number < bound.run
            count = rank(words(self.held[:keys]), bound.key, after=after)
        taken = [h[:count] for h in self.held]
        self.held = [h[count:].copy() for h in self.held]
        return taken


@dataclass(frozen=True, slots=True)
class _Bound:
    """The last element of a round: its words, its run, and the place behind it."""

    key: tuple[Any, ...]
    run: int
    stop: int


def _rounds(
    runs: Sequence[_Run], cell: int, most: int
) -> Iterator[tuple[Array, _Bound | None]]:
    """Yield how many cells of each run end up to each bound, and the bound.

    A round has `most` cells less two for each run: one that was kept, and one in which
    the bound lies.
    """
    step = max(1, most - 2 * len(runs))
    sizes = [r.samples[0].size for r in runs]
    owner = np.repeat(np.arange(len(runs)), sizes)
    number = np.concatenate([np.arange(n) for n in sizes])
    columns = [np.concatenate(c) for c in zip(*(r.samples for r in runs), strict=True)]
    by = order(columns)  # equal samples in the order of the runs, and within them
    count = np.zeros(len(runs), np.int64)
    for a, b in _spans(0, by.size, step):
        count += np.bincount(owner[by[a:b]], minlength=len(runs))
        if b == by.size:
            yield count, None
            return
        last = by[b - 1]
        run = runs[owner[last]]
        stop = min(run.start + (int(number[last]) + 1) * cell, run.stop)
        yield count, _Bound(tuple(c[last] for c in columns), int(owner[last]), stop)


def _spans(start: int, stop: int, step: int) -> list[Span]:
    return [(a, min(a + step, stop)) for a in range(start, stop, step)]


class _Line:
    """One line of some arrays, each read from one store or written to several."""

    def __init__(
        self,
        stores: Sequence[Sequence[Any]],
        dtypes: Sequence[np.dtype[Any]],
        place: tuple[int, ...],
    ) -> None:
        self._stores, self._dtypes = stores, dtypes
        self._place = [(i, i + 1) for i in place]

    def read(self, number: int, span: Span) -> Array:
        """Return a part of the line of one array."""
        box = Box.of([*self._place, span])
        block = np.empty(box.shape, self._dtypes[number])
        self._stores[number][0].read(box, block)
        return block.reshape(-1)

    def write(self, number: int, span: Span, block: Array) -> None:
        """Write a part of the line of one array."""
        box = Box.of([*self._place, span])
        for store in self._stores[number]:
            store.write(box, block.reshape(box.shape))


class _Scratch:
    """Room for the runs of a line, twice if there are several levels of merging."""

    def __init__(self, sorter: _Sorter, settings: Settings) -> None:
        self._sorter, self._settings = sorter, settings
        self._made: dict[int, list[list[ScratchStore]]] = {}

    def line(self, level: int) -> _Line:
        """Return the room for a level, made at its first use."""
        sorter = self._sorter
        if level not in self._made:
            self._made[level] = [[] for _ in sorter.dtypes]
            for n in sorter.wanted:
                self._made[level][n].append(self._store(sorter.dtypes[n]))
        return _Line(self._made[level], sorter.dtypes, ())

    def _store(self, dtype: np.dtype[Any]) -> ScratchStore:
        to, limit = self._settings.scratch_dir, self._settings.scratch_limit
        return create_scratch((self._sorter.length,), dtype, directory=to, limit=limit)

    def close(self) -> None:
        """Remove the files."""
        for store in (s for made in self._made.values() for n in made for s in n):
            store.close()


def sort_stage(stage: Stage) -> None:
    """Compute a `sort` along the last axis, line by line."""
    sorter = _Sorter(stage)
    outer = stage.eqn.inputs[0].shape[:-1]
    sources = [[s] for s in stage.sources]
    with closing(_Scratch(sorter, stage.settings)) as scratch:
        for place in np.ndindex(*outer):
            here = _Line(sources, sorter.dtypes, place)
            there = _Line(stage.sinks, sorter.dtypes, place)
            sorter.line(here, there, scratch)


add_stage("sort", sort_stage)
