"""A pass has as many kernels as its tiles have shapes, however many tiles there are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.execute.run import InMemory, prepare
from jask.testing.same import assert_same
from jask.trace.counters import COUNTERS

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "roll": lambda xp, x: xp.roll(x, 7),
    "flip": lambda xp, x: xp.flip(x),
    "flip beside itself": lambda xp, x: x + xp.flip(x),
    "roll beside itself": lambda xp, x: x + xp.roll(x, 5),
    "flip beside roll": lambda xp, x: xp.flip(x) + xp.roll(x, 3),
    "far stencil": lambda xp, x: x[9:] - x[:-9],
    "stencil": lambda xp, x: x[2:] - 2 * x[1:-1] + x[:-2],
    "strided": lambda xp, x: x[::2] + x[1::2],
    "backwards": lambda xp, x: x[::-3],
    "sum of products": lambda xp, x: xp.sum(x * xp.flip(x)),
    "several rolls": lambda xp, x: x + xp.roll(x, 11) + xp.roll(x, 29),
}
MOST = 12
"""Interior tiles, the last one, where something wraps around, and hulls of boxes that
come near each other."""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("block", [16, 64])
def test_tiny_blocks_have_few_kernels(name: str, block: int, tmp_path: Path) -> None:
    values = np.arange(400, dtype="f4") % 17
    np.save(tmp_path / "x.npy", values)
    with jask.config(block_bytes=block):
        result = CASES[name](jnp, jask.open(tmp_path / "x.npy"))
        before = COUNTERS.compiles
        got = np.asarray(result)
        compiled = COUNTERS.compiles - before
        plan = prepare([result.node], [InMemory()]).plan
    assert_same(got, CASES[name](np, values))
    assert sum(p.steps for p in plan.passes) >= 16
    assert compiled <= MOST, compiled
