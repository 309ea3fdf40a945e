"""Processes that use stores and end in some way, quickly: they do not import JAX."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jask

_ONLY_STORES = f"""
import os, resource, sys, time, types
from pathlib import Path
sys.modules["jask"] = types.ModuleType("jask")
sys.modules["jask"].__path__ = {list(jask.__path__)!r}
import numpy as np
from jask.geometry.box import Box
"""


def run_child(code: str, *arguments: Path) -> str:
    """Run a process to its end and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", _ONLY_STORES + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


@contextmanager
def child(code: str, *arguments: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a process and wait until it prints `ready`; kill it after the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", _ONLY_STORES + code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
