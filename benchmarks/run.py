"""Time jask beside its peers: `python benchmarks/run.py --only sum,softmax --size 1GB`.

1. Inputs are made once, in `--dir` or in a temporary folder that is removed at the end.
2. Each run is a process of its own; the libraries take turns (A B C A B C ...), and the
   figure is the median over `--repeat` rounds of the second call in the process, with a
   warm page cache. For jask the first call, which traces, plans and compiles, is shown.
3. Peak memory is the growth of RssAnon + RssShmem from the start of the call, sampled
   from outside every few milliseconds; page cache is not in it.
4. Every result is compared with float64 blockwise NumPy (see check.py).

jask runs with `durable=False`: no library here waits for the disk.
"""

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from workloads import ORDER

HERE = Path(__file__).parent
LIBRARIES = ("expert", "jask", "dask", "cubed", "blosc2")
EVERY_ROUND = ("expert", "jask", "dask")
SAMPLE_SECONDS = 0.004
LIMIT_SECONDS = 180
UNITS = {
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
}


def main() -> None:
    options = parse()
    libraries = [name for name in options.libs if installed(name)]
    for name in set(options.libs) - set(libraries):
        print(f"note: {name} is not installed, left out")
    with folder(options) as where:
        rows = [row(workload, libraries, where, options) for workload in options.only]
    print_table(rows, libraries, options)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=names_of, default=list(ORDER))
    parser.add_argument("--libs", type=names_of, default=list(LIBRARIES))
    parser.add_argument("--size", type=size, default="1GB", help="of the inputs")
    parser.add_argument("--budget", type=size, default="256MB")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument(
        "--peer-repeat",
        type=int,
        help="rounds with cubed and blosc2, whose runs take minutes",
    )
    parser.add_argument("--calls", type=int, default=2, help="in each process")
    parser.add_argument("--dir", type=Path, help="keep the inputs in this folder")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--verbose", action="store_true", help="show jask's plans")
    options = parser.parse_args()
    for given, known in ((options.only, ORDER), (options.libs, LIBRARIES)):
        if unknown := set(given) - set(known):
            parser.error(f"{', '.join(unknown)} must be among {', '.join(known)}")
    return options


def names_of(text: str) -> list[str]:
    return text.split(",")


def size(text: str) -> int:
    unit = next(
        (u for u in sorted(UNITS, key=len, reverse=True) if text.endswith(u)), ""
    )
    return int(float(text.removesuffix(unit)) * UNITS.get(unit, 1))


def installed(name: str) -> bool:
    return name == "expert" or importlib.util.find_spec(name) is not None


@contextlib.contextmanager
def folder(options):
    if options.dir is not None:
        options.dir.mkdir(parents=True, exist_ok=True)
        yield options.dir
        return
    with tempfile.TemporaryDirectory(prefix="jask-bench-") as name:
        yield Path(name)


def row(workload: str, libraries: list[str], where: Path, options) -> dict:
    """Return the runs of one workload by library."""
    runs: dict[str, list] = {name: [] for name in libraries}
    say(f"{workload}: inputs and reference")
    made = child(workload, "reference", where, options)
    if "error" in made:
        sys.exit(f"{workload}: {made['error']}")
    known = importlib.import_module(f"workloads.{workload}")
    for number in range(options.repeat):
        for name in (n for n in libraries if hasattr(known, n)):
            if any("error" in run for run in runs[name]):
                continue  # it will not get better
            rounds = options.repeat
            if name not in EVERY_ROUND:
                rounds = options.peer_repeat or rounds
            if number >= rounds:
                continue
            run = child(workload, name, where, options)
            runs[name].append(run)
            say(f"{workload} {name} round {number + 1}: {short(run)}")
    if options.verbose and runs.get("jask"):
        print(runs["jask"][-1].get("plan", ""))
    return {"workload": workload, "runs": runs}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def short(run: dict) -> str:
    if "error" in run:
        return run["error"]
    return " ".join(
        f"{c['seconds']:.3f}s/{c['peak'] / 1e6:.0f}MB" for c in run["calls"]
    )


# ---- one process


def child(workload: str, library: str, where: Path, options) -> dict:
    """Run one process; return its result with the peak memory of each call."""
    command = [sys.executable, str(HERE / "harness.py")]
    for name, value in {
        "workload": workload,
        "library": library,
        "dir": where,
        "size": options.size,
        "budget": options.budget,
        "calls": options.calls,
    }.items():
        command += [f"--{name}", str(value)]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if not options.verbose else None,
        text=True,
        env=environment(workload, library, options),
    )
    try:
        return converse(process)
    finally:
        process.kill()
        process.wait()


def environment(workload: str, library: str, options) -> dict:
    """Experts and peers run two threads themselves: BLAS gets one in each."""
    variables = dict(
        os.environ, BENCH_BUDGET=str(options.budget), PYTHONPATH=str(HERE.parent)
    )
    if library != "jask":
        blas = 2 if workload == "matmul" and library in ("expert", "blosc2") else 1
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            variables[name] = str(blas)
    if not Path("/dev/nvidiactl").exists():
        variables.setdefault("JAX_PLATFORMS", "cpu")
    return variables


def converse(process: subprocess.Popen) -> dict:
    """Answer the lines of a run and watch its memory between `begin` and `end`."""
    lines: queue.Queue[str | None] = queue.Queue()

    def listen() -> None:
        for line in process.stdout:
            lines.put(line.strip())
        lines.put(None)

    threading.Thread(target=listen, daemon=True).start()
    peaks: list[int] = []
    start = top = 0
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        try:
            line = lines.get(timeout=SAMPLE_SECONDS)
        except queue.Empty:
            top = max(top, resident(process.pid))
            continue
        if line is None:
            return {"error": f"the process ended with status {process.wait()}"}
        if line.startswith("result "):
            return with_peaks(json.loads(line.removeprefix("result ")), peaks)
        if line == "begin":
            start = top = resident(process.pid)
        elif line == "end":
            peaks.append(max(top, resident(process.pid)) - start)
        else:
            continue
        process.stdin.write("\n")
        process.stdin.flush()
    return {"error": f"not done after {LIMIT_SECONDS} seconds"}


def with_peaks(result: dict, peaks: list[int]) -> dict:
    for call, peak in zip(result.get("calls", []), peaks, strict=False):
        call["peak"] = peak
    return result


def resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    wanted = ("RssAnon:", "RssShmem:")
    return sum(int(s.split()[1]) * 1024 for s in lines if s.startswith(wanted))


# ---- the table


def print_table(rows: list[dict], libraries: list[str], options) -> None:
    print(
        f"\n{options.size / 1e9:.3g} GB float32, budget {options.budget / 1e6:.0f} MB, "
        f"median of {options.repeat}, seconds of a warm second call; "
        "peak = growth of RssAnon + RssShmem; read, written: times the least possible\n"
    )
    head = ["workload", *libraries]
    if "jask" in libraries:
        head += [
            "first call",
            "jask/expert",
            "jask/best peer",
            "peak MB",
            "read",
            "written",
        ]
    table = [head, *(cells(entry, libraries) for entry in rows)]
    widths = [max(len(r[i]) for r in table) for i in range(len(head))]
    for number, line in enumerate(table):
        print(
            "| "
            + " | ".join(c.ljust(w) for c, w in zip(line, widths, strict=True))
            + " |"
        )
        if number == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
    for entry in rows:
        for name, runs in entry["runs"].items():
            for run in runs:
                if "error" in run:
                    print(f"{entry['workload']}, {name}: {run['error']}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


def cells(entry: dict, libraries: list[str]) -> list[str]:
    seconds = {n: median(entry["runs"][n], -1, "seconds") for n in libraries}
    line = [entry["workload"], *(figure(seconds[n], 3) for n in libraries)]
    if "jask" not in libraries:
        return line
    runs = entry["runs"]["jask"]
    ours = seconds["jask"]
    peers = [s for n, s in seconds.items() if n not in ("jask", "expert") and s]
    peaks = [c["peak"] for r in runs for c in r.get("calls", [])]
    read, written = runs[-1].get("least", (0, 0))
    return [
        *line,
        figure(median(runs, 0, "seconds"), 3),
        figure(ratio(ours, seconds.get("expert")), 2),
        figure(ratio(ours, min(peers, default=None)), 2),
        figure(max(peaks) / 1e6 if peaks else None, 0),
        figure(ratio(median(runs, -1, "bytes_read"), read), 3),
        figure(ratio(median(runs, -1, "bytes_written"), written), 3),
    ]


def median(runs: list[dict], call: int, name: str) -> float | None:
    values = [r["calls"][call][name] for r in runs if "calls" in r]
    return statistics.median(values) if values else None


def ratio(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def figure(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()
