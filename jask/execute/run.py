"""Evaluate nodes of the lazy graph: the one entrance to the engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jask.trace.graph import Node


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


def evaluate(nodes: Sequence[Node], destinations: Sequence[Destination]) -> list[Any]:
    """Evaluate several nodes as one program, sharing passes over their sources.

    Returns, per node, a NumPy array (`InMemory`) or a readable Store (the others).
    Handles must have been resolved before.
    """
    raise NotImplementedError  # replaced by the engine
