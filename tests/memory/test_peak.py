"""Measured memory, in a process of its own, against the plan and the budget."""

import os
from pathlib import Path

import pytest

from jask.execute.ledger import RESERVE
from tests.memory import child
from tests.memory.process import measured

BUDGET = 16 << 20
FILE = 8 * (BUDGET + RESERVE)
"""Large enough that holding an eighth of it would break the bound."""


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of zeros that takes no space: only its size matters here."""
    path = tmp_path_factory.mktemp("memory") / "x.bin"
    path.touch()
    os.truncate(path, FILE)
    return path


@pytest.mark.memory
@pytest.mark.parametrize("family", child.FAMILIES)
def test_peak_memory_stays_within_plan_and_budget(family: str, sparse: Path):
    figures = measured(child.__file__, family, sparse, FILE, BUDGET)
    assert figures["projected"] <= BUDGET
    assert figures["measured"] <= figures["projected"] + RESERVE, figures
    for written in sparse.parent.glob("out-*.npy"):
        written.unlink()
