"""Scripts in processes of their own, which may fork, end or be interrupted."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

START = """
import os, signal, sys, threading, time, warnings
warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
import jax, numpy as np
import jask, jask.numpy as jnp

jax.config.update("jax_enable_x64", True)
x = jask.open("x.npy")


def in_a_child(work):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(120)
        try:
            print(work())
        except Exception as error:
            print(type(error).__name__, error)
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def slowly(work):
    with jask.config(block_bytes=128, scratch_dir="scratch"):
        try:
            return work()
        except Exception as error:
            os.write(1, f"{type(error).__name__}\\n".encode())
            raise


def sin_saved(n=None):
    jask.save("out.npy", jnp.sin(x[:n]))


def sin_summed():
    return jax.jit(lambda x: jask.materialize(jnp.sum(jnp.sin(x))))(x)
"""


def run_script(
    folder: Path, code: str, *, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, beside a 32 MB file; it must not hang."""
    np.save(folder / "x.npy", np.ones(1 << 22))
    (folder / "scratch").mkdir()
    return subprocess.run(
        [sys.executable, "-c", before + START + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def left(folder: Path) -> list[str]:
    """Return what is there besides the source."""
    found = (p for p in folder.rglob("*") if p.is_file())
    return sorted(str(p.relative_to(folder)) for p in found if p.name != "x.npy")


def slow(*values: str) -> list[Any]:
    """Return parameters of a test that are tried with --slow only."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
