"""Each example in docs/examples runs, in a folder and a process of its own."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
MODULES = {"scikit-learn": "sklearn", "SciPy": "scipy"}
"""What a package is imported as, where that is another name."""


def needs(path: Path) -> list[str]:
    """Return the modules that an example says it needs."""
    (listed,) = re.findall(r"^Needs ([^.,]+)", path.read_text(), flags=re.MULTILINE)
    return [MODULES.get(n, n.replace("-", "_")) for n in listed.split(" and ")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, tmp_path: Path):
    missing = [name for name in needs(path) if find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:jask", str(path)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_there_is_an_example_for_each_library():
    assert {p.stem.removeprefix("with_") for p in EXAMPLES} >= {
        "array_api_compat", "array_api_extra", "scikit_learn", "scipy", "xarray"
    }  # fmt: skip
