"""What a step or a stage reads and writes: stores, and what stands for one."""

from typing import Any, Protocol

import numpy as np

from jask.geometry.box import Box

__all__ = ["Input", "Output"]


class Input(Protocol):
    """Where the blocks of a leaf come from."""

    def read(self, box: Box, buffer: np.ndarray[Any, Any]) -> None:
        """Fill the buffer with the box."""

    def prefetch(self, box: Box) -> None:
        """Hint that the box is read soon."""


class Output(Protocol):
    """Where the blocks of a result go."""

    def write(self, box: Box, block: np.ndarray[Any, Any]) -> None:
        """Store the block at the box."""
