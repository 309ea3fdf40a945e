"""Sort by NumPy: many lines at a time, or one that does not fit memory, by merges.

Lines along the sorted axis (the last one) that fit memory are read, sorted and written
several at a time, by several workers. A longer one, of n elements, is sorted alone:

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

Values that go alone, of NumPy's own types, are sorted in place: in a third of the time
and of the memory that positions and what is chosen by them take.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from jask._client import processors
from jask.algorithms.order import order, rank, sort_values, words
from jask.config import Settings
from jask.execute.stages import Stage, add_stage
from jask.geometry.box import Box
from jask.rules.whole import TOGETHER, merged_runs, run_length, values_alone
from jask.stores._runs import pieces
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

    def __init__(self, stage: Stage, memory: int) -> None:
        eqn = stage.eqn
        self.stage = stage
        self.dtypes = [a.dtype for a in eqn.inputs]
        self.keys = int(eqn.params["num_keys"])
        self.alone = values_alone(eqn)
        self.length = eqn.inputs[0].shape[-1]
        self.most = run_length(eqn, memory)
        self.fan = merged_runs(memory)
        runs = min(self.fan, -(-self.length // self.most))
        self.cell = max(1, self.most // (4 * max(1, runs)))
        self.wanted = [n for n, s in enumerate(stage.sinks) if s or n < self.keys]

    @property
    def fits(self) -> bool:
        """Whether a line fits memory."""
        return self.length <= self.most

    @property
    def together(self) -> int:
        """How many lines that fit are sorted at a time."""
        return max(1, min(self.most, TOGETHER) // self.length)

    def lines(self, sources: "_Lines", sinks: "_Lines") -> None:
        """Sort lines that fit memory."""
        self._sorted(sources, (0, self.length), sinks)

    def line(self, sources: "_Lines", sinks: "_Lines", scratch: "_Scratch") -> None:
        """Sort one line by runs and merges."""
        here = scratch.line(0)
        spans = _spans(0, self.length, self.most)
        runs = [self._run(sources, span, here) for span in spans]
        level = 0
        while len(runs) > self.fan:
            level = 1 - level
            there = scratch.line(level)
            groups = [runs[a:b] for a, b in _spans(0, len(runs), self.fan)]
            runs = [self._merged(group, here, there) for group in groups]
            here = there
        self._merged(runs, here, sinks)

    def _run(self, source: "_Lines", span: Span, sink: "_Lines") -> _Run:
        """Sort a part of a line."""
        keys, by = self._sorted(source, span, sink)
        last = self._ends(span)
        at = last if by is None else by[0, last]
        return _Run(*span, words([key[0, at] for key in keys]))

    def _sorted(
        self, source: "_Lines", span: Span, sink: "_Lines"
    ) -> tuple[list[Array], Array | None]:
        """Sort what fits memory: read each operand, move it, write it.

        Return the keys and the positions that sort them; none if they are sorted.
        """
        self.stage.check()
        keys = [source.read(n, span) for n in range(self.keys)]
        by = self._order(keys)
        for n in filter(sink.takes, self.wanted):
            block = keys[n] if n < self.keys else source.read(n, span)
            sink.write(n, span, _taken(block, by))
            del block
        return keys, by

    def _order(self, keys: Sequence[Array]) -> Array | None:
        """Sort the only key in place, or return the positions that sort."""
        if not self.alone:
            return order(words(keys))
        sort_values(keys[0])
        return None

    def _ends(self, span: Span) -> Array:
        """Return the last place of each cell, counted from the start of a run."""
        length = span[1] - span[0]
        ends = np.arange(self.cell, length + self.cell, self.cell)
        return np.minimum(ends, length) - 1

    def _merged(self, runs: Sequence[_Run], source: "_Lines", sink: "_Lines") -> _Run:
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
            merged = [np.concatenate(p, axis=-1) for p in zip(*parts, strict=True)]
            by = self._order(merged[: self.keys])
            span = (at, at + merged[0].shape[-1])
            inside = ends[due : due + int(np.searchsorted(ends[due:], span[1]))] - at
            last = inside if by is None else by[0, inside]
            samples.append(words([key[0, last] for key in merged[: self.keys]]))
            for n, block in zip(self.wanted, merged, strict=True):
                sink.write(n, span, _taken(block, by))
            at, due = span[1], due + inside.size
        columns = [np.concatenate(s) for s in zip(*samples, strict=True)]
        return _Run(start, stop, columns)

    def _fill(self, tail: "_Tail", cells: int, source: "_Lines") -> None:
        """Read a run up to the end of a cell."""
        span = tail.ask(cells)
        if span[0] < span[1]:
            tail.add([source.read(n, span) for n in self.wanted], span[1])


def _taken(block: Array, by: Array | None) -> Array:
    """Return lines in the order of these positions."""
    if by is None:
        return block
    if len(block) == 1:  # in a third of the time
        line: Array = block[0].take(by[0])
        return line[None]
    return np.take_along_axis(block, by, axis=-1)


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
            blocks = [np.concatenate(pair, axis=-1) for pair in pairs]
        self.held, self.at = blocks, at

    def split(self, bound: "_Bound | None", number: int, keys: int) -> list[Array]:
        """Take the elements up to a bound (None: all), and keep the others."""
        if bound is None or not self.held:
            taken, self.held = self.held, [h[:, :0] for h in self.held]
            return taken
        if number == bound.run:
            count = bound.stop - (self.at - self.held[0].size)
        else:
            after = number < bound.run
            count = rank(
                words([h[0] for h in self.held[:keys]]), bound.key, after=after
            )
        taken = [h[:, :count] for h in self.held]
        self.held = [h[:, count:].copy() for h in self.held]
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


class _Lines:
    """Some lines of arrays, each read from one store or written to several."""

    def __init__(
        self,
        stores: Sequence[Sequence[Any]],
        dtypes: Sequence[np.dtype[Any]],
        place: Sequence[Span],
    ) -> None:
        self._stores, self._dtypes, self._place = stores, dtypes, place

    def read(self, number: int, span: Span) -> Array:
        """Return a part of the lines of one array, as a matrix."""
        box = Box.of([*self._place, span])
        block = np.empty(box.shape, self._dtypes[number])
        self._stores[number][0].read(box, block)
        return block.reshape(-1, box.shape[-1])

    def takes(self, number: int) -> bool:
        """Return whether an array is written anywhere."""
        return bool(self._stores[number])

    def write(self, number: int, span: Span, block: Array) -> None:
        """Write a part of the lines of one array."""
        box = Box.of([*self._place, span])
        for store in self._stores[number]:
            store.write(box, block.reshape(box.shape))


class _Scratch:
    """Room for the runs of a line, twice if there are several levels of merging."""

    def __init__(self, sorter: _Sorter, settings: Settings) -> None:
        self._sorter, self._settings = sorter, settings
        self._made: dict[int, list[list[ScratchStore]]] = {}

    def line(self, level: int) -> _Lines:
        """Return the room for a level, made at its first use."""
        sorter = self._sorter
        if level not in self._made:
            self._made[level] = [[] for _ in sorter.dtypes]
            for n in sorter.wanted:
                self._made[level][n].append(self._store(sorter.dtypes[n]))
        return _Lines(self._made[level], sorter.dtypes, ())

    def _store(self, dtype: np.dtype[Any]) -> ScratchStore:
        to, limit = self._settings.scratch_dir, self._settings.scratch_limit
        return create_scratch((self._sorter.length,), dtype, directory=to, limit=limit)

    def close(self) -> None:
        """Remove the files."""
        for store in (s for made in self._made.values() for n in made for s in n):
            store.close()


def sort_stage(stage: Stage) -> None:
    """Compute a `sort` along the last axis."""
    lanes = _lanes(stage)
    sorter = _Sorter(stage, stage.memory // lanes)
    outer = stage.eqn.inputs[0].shape[:-1]
    sources = [[s] for s in stage.sources]
    parts = list(pieces(outer, sorter.together if sorter.fits else 1))

    def run(lane: int) -> None:
        with closing(_Scratch(sorter, stage.settings)) as scratch:
            for part in parts[lane::lanes]:
                here = _Lines(sources, sorter.dtypes, part.intervals)
                there = _Lines(stage.sinks, sorter.dtypes, part.intervals)
                if sorter.fits:
                    sorter.lines(here, there)
                else:
                    sorter.line(here, there, scratch)

    stage.share(run, lanes)


def _lanes(stage: Stage) -> int:
    """Return among how many workers lines are shared: each must hold one."""
    *outer, length = stage.eqn.inputs[0].shape
    workers = stage.settings.workers or processors()
    most = min(workers, prod(outer))
    fitting = (
        n
        for n in range(most, 1, -1)
        if run_length(stage.eqn, stage.memory // n) >= length
    )
    return next(fitting, 1)


add_stage("sort", sort_stage)
