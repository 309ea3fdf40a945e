"""Run a script that measures memory in a process of its own."""

import json
import os
import subprocess
import sys
from typing import Any


def measured(script: str, *arguments: object) -> Any:
    """Return what a script prints in its last line, which is JSON."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
