"""Nothing hangs: many calls, threads, callbacks in callbacks, exit during work."""

import subprocess
import sys

import pytest

from tests.transformations.children import PROGRAMS

QUICK = ("several_threads", "a_callback_inside_a_callback")
LIMIT = 300
"""Seconds: many times what the longest takes on an idle machine."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in PROGRAMS],
)
def test_a_program_comes_to_an_end(name: str) -> None:
    command = [sys.executable, "-m", "tests.transformations.children", name]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.endswith("done\n")
    assert "Traceback" not in ended.stderr
