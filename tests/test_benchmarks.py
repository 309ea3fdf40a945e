"""The benchmarks still run, and jask and the experts still agree with float64 NumPy."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parent.parent / "benchmarks" / "run.py"


@pytest.mark.slow
def test_every_workload_is_right_and_reads_no_more_than_it_must(tmp_path: Path):
    figures = tmp_path / "figures.json"
    sizes = ["--size", "8MB", "--budget", "4MB", "--repeat", "1"]
    files = ["--dir", str(tmp_path / "inputs"), "--json", str(figures)]
    command = [sys.executable, str(RUN), *sizes, *files, "--libs", "expert,jask"]
    quick = dict(os.environ, BENCH_TOUCHED="0")
    subprocess.run(command, check=True, capture_output=True, text=True, env=quick)
    rows = json.loads(figures.read_text())
    assert len(rows) == 12
    for row in rows:
        for runs in row["runs"].values():
            assert not [run["error"] for run in runs if "error" in run], row["workload"]
        # The bound of a product depends on the tiles; rows as short as these are read
        # with the gaps between them, so that a transposition reads more.
        if row["workload"] not in {"matmul", "transpose"}:
            (run,) = row["runs"]["jask"]
            read, written = run["least"]
            assert run["calls"][-1]["bytes_read"] <= 1.05 * read, row["workload"]
            assert run["calls"][-1]["bytes_written"] <= 1.05 * written, row["workload"]
