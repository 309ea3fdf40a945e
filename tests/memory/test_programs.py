"""What many programs leave behind in a process is bounded, however many they are."""

import os
from pathlib import Path

import pytest

from jask.execute.heap import KEPT
from tests.memory import programs
from tests.memory.process import measured

ROWS = 500_000
COUNT = 60
CODE = 32 << 20
"""What the plans may take here: the 60 would take twice as much."""

SLACK = 16 << 20
"""What JAX keeps of tracing: up to 6 MB, measured. All in all 37 MB stay; with every
kernel kept it was 99 MB, and more with each further program."""


@pytest.mark.memory
def test_sixty_programs_leave_no_more_than_the_kept_plans_may_take(tmp_path: Path):
    path = tmp_path / "x.bin"
    path.touch()
    os.truncate(path, ROWS * programs.WIDTH * 4)
    growth = measured(programs.__file__, path, ROWS, COUNT, CODE)
    assert growth <= CODE + KEPT + SLACK, growth
