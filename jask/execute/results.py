"""Where blocks come from and where they go, for one evaluation.

Sources are the stores of the leaves; sinks are files in the making, scratch files and
arrays in memory. What is neither wanted nor read any more is released after each pass;
on an error everything that was begun is removed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from jask.config import Settings
from jask.execute.prepared import Prepared
from jask.geometry.box import Box
from jask.plan.ir import Pass
from jask.stores.base import read_block
from jask.stores.memory import MemoryStore
from jask.stores.output import OutputStore, create_output
from jask.stores.scratch import ScratchStore, create_scratch
from jask.trace.graph import Dense, Node, Source
from jask.trace.ir import Literal, Var


@dataclass(frozen=True, slots=True)
class InMemory:
    """Return the value as a NumPy array; MemoryBudgetError if it does not fit."""


@dataclass(frozen=True, slots=True)
class ToScratch:
    """Write the value to a scratch file that lives as long as the returned store."""


@dataclass(frozen=True, slots=True)
class ToFile:
    """Write the value to a `.npy` file that appears, whole, under its name."""

    path: Path
    """Its final name."""


type Destination = InMemory | ToScratch | ToFile


class Gathered:
    """A result that is gathered in memory."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.array = np.empty(shape, dtype)

    def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
        """Fill the buffer."""
        buffer[...] = self.array[box.slices]

    def write(self, box: Box, block: np.ndarray[Any, Any]) -> None:
        """Store the block."""
        self.array[box.slices] = block

    def prefetch(self, box: Box) -> None:
        """Do nothing: it is in memory."""

    def close(self) -> None:
        """Do nothing: the memory goes with the last reference."""


type Sink = Gathered | OutputStore | ScratchStore


class Results:
    """The sources and sinks of one evaluation; a context that cleans up on an error."""

    def __init__(
        self,
        prepared: Prepared,
        leaves: Sequence[Node],
        wanted: Sequence[tuple[Node, Destination]],
        settings: Settings,
    ) -> None:
        self._settings = settings
        self._places = prepared.plan.places
        self.live: dict[Var, Any] = dict(_sources(prepared, leaves))
        self._lasting = set(self.live)
        self._read = [n.store for n in leaves if isinstance(n, Source)]
        self._last_use = {
            v: n for n, p in enumerate(prepared.passes) for v in p.p.leaves
        }
        self._spilled: dict[Var, ScratchStore] = {}
        self._results: list[Sink] = []
        self._sinks: dict[Var, list[Sink]] = {}
        try:
            for atom, (node, to) in zip(prepared.program.outputs, wanted, strict=True):
                self._want(atom, node, to)
        except BaseException:
            self._abandon()
            raise

    def _want(self, atom: Var | Literal, node: Node, to: Destination) -> None:
        sink = self._open(node, to)
        self._results.append(sink)
        if isinstance(atom, Literal):
            sink.write(Box.whole(node.shape), atom.value)
        elif atom.size:
            self._sinks.setdefault(atom, []).append(sink)

    def _open(self, node: Node, to: Destination) -> Sink:
        match to:
            case InMemory():
                return Gathered(node.shape, node.dtype)
            case ToFile(path):
                return create_output(path, node.shape, node.dtype)
            case ToScratch():
                return self._scratch(node)

    def _scratch(self, value: Node | Var) -> ScratchStore:
        return create_scratch(
            value.shape,
            value.dtype,
            directory=self._settings.scratch_dir,
            limit=self._settings.scratch_limit,
        )

    def sinks(self, p: Pass) -> Mapping[Var, Sequence[Sink]]:
        """Return where each result of a pass goes; later passes can read it."""
        found: dict[Var, list[Sink]] = {}
        for var in p.made:
            if self._places[var] == "block":
                found[var] = []
                continue
            found[var] = self._sinks.get(var) or [self._between(var)]
            self.live.setdefault(var, found[var][0])
        return found

    def _between(self, var: Var) -> Sink:
        """Return a place for a result that only later passes read."""
        if self._places[var] == "memory":
            return Gathered(var.shape, var.dtype)
        store = self._spilled[var] = self._scratch(var)
        return store

    def release(self, number: int) -> None:
        """Let go of what no pass after this one reads."""
        for var, last in self._last_use.items():
            if last == number and var not in self._lasting:
                self.live.pop(var, None)
                if var in self._spilled:
                    self._spilled.pop(var).close()

    def finish(self) -> list[Any]:
        """Give files their names; return arrays and stores, node by node.

        SourceChangedError if a file was changed while it was read.
        """
        for store in self._read:
            store.check()
        for sink in self._results:
            if isinstance(sink, OutputStore):
                sink.seal(durable=self._settings.durable)
        return [self._settle(s) for s in self._results]

    def _settle(self, sink: Sink) -> Any:
        if isinstance(sink, OutputStore):
            return sink.commit(durable=self._settings.durable)
        return sink.array if isinstance(sink, Gathered) else sink

    def __enter__(self) -> Self:
        """Start."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove scratch files, and on an error whatever was begun."""
        for store in self._spilled.values():
            store.close()
        if error is not None:
            self._abandon()

    def _abandon(self) -> None:
        for sink in self._results:
            sink.close()


def _sources(prepared: Prepared, leaves: Sequence[Node]) -> dict[Var, Any]:
    program = prepared.program
    sources: dict[Var, Any] = {}
    for var, node in zip(program.leaves, leaves, strict=False):  # then come the picks
        if isinstance(node, Source):
            node.store.check()
            same = var.shape == node.shape
            sources[var] = node.store if same else node.store.reshaped(var.shape)
        else:
            assert isinstance(node, Dense)
            array = np.asarray(node.value, node.dtype).reshape(var.shape)
            sources[var] = MemoryStore(array, copy=False)
    for var, array in program.constants.items():
        sources[var] = MemoryStore(array, copy=False)
    for ready in prepared.picks:
        pick = ready.pick
        operands = [read_block(sources[v]) for v in pick.operands]
        sources[pick.leaf] = ready.store(sources[pick.source], operands)
    return sources
