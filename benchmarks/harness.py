"""One run of one library on one workload, in a process of its own.

Started by run.py, which watches this process's memory from outside. Before each timed
call some memory is touched and freed (a virtual machine gives new memory slowly), the
line `begin` is written and an answer awaited, so that the memory at the start is known.
The last line is the result, as JSON.
"""

import argparse
import contextlib
import gc
import importlib
import json
import mmap
import os
import pickle
import shutil
import sys
import time
import traceback
from pathlib import Path

import numpy as np

TOUCHED_BYTES = int(os.environ.get("BENCH_TOUCHED", str(25 * 10**8)))
SUFFIXES = {"cubed": ".zarr", "blosc2": ".b2nd"}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("workload", "library", "dir", "size", "budget", "calls"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    folder = Path(options.dir)
    out = folder / f"out-{options.library}.npy"
    try:
        result = measure(options, folder, out)
    except Exception as error:  # noqa: BLE001 - reported as the result
        traceback.print_exc()
        result = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
    finally:
        remove(out)
    print("result " + json.dumps(result), flush=True)


def measure(options, folder: Path, out: Path) -> dict:
    import inputs

    workload = importlib.import_module(f"workloads.{options.workload}")
    shapes = workload.shapes(int(options.size))
    paths = {name: inputs.make(folder, name, shape) for name, shape in shapes.items()}
    if options.library == "reference":
        remember(workload, shapes, paths, folder, options)
        return {}
    with prepared(options) as counts:
        function = getattr(workload, options.library)
        convert(workload, options.library, paths, out)
        calls = []
        for _ in range(int(options.calls)):
            remove(out)
            touch_memory(folder)
            gc.collect()
            calls.append(timed(function, paths, out, counts))
        found = calls[-1].pop("found")
        compare(workload, shapes, found, out, folder, options)
    for call in calls:
        call.pop("found", None)
    return {"calls": calls, "least": workload.least(shapes), "plan": plan(options)}


def timed(function, paths, out: Path, counts) -> dict:
    print("begin", flush=True)
    sys.stdin.readline()
    before, start = counts(), time.perf_counter()
    found = function(paths, out)
    seconds = time.perf_counter() - start
    print("end", flush=True)
    sys.stdin.readline()
    after = counts()
    moved = {name: after[name] - before[name] for name in before}
    return {"seconds": seconds, "found": found, **moved}


@contextlib.contextmanager
def prepared(options):
    """Set a library up; yields a function that returns what it counts."""
    if options.library != "jask":
        importlib.import_module(
            {"expert": "numpy"}.get(options.library, options.library)
        )
        yield dict
        return
    import jax

    import jask
    from jask.stores import traffic
    from jask.trace.counters import COUNTERS

    jax.devices()
    names = ("bytes_read", "bytes_written")

    def counts():
        moved = traffic.snapshot()
        return {n: getattr(moved, n) for n in names} | COUNTERS.snapshot()

    with jask.config(memory_budget=int(options.budget), durable=False):
        yield counts


def plan(options) -> str:
    """Return the plan of the last program that jask ran; empty for others."""
    if options.library != "jask":
        return ""
    from jask.execute import run
    from jask.plan.explain import describe

    prepared = next(reversed(run._plans.values()))
    return describe(prepared.plan, prepared.program)


def no_chunks(_path: Path) -> None:
    """Let the peer's helper choose."""


def convert(workload, library: str, paths, out: Path) -> None:
    """Let a peer convert the inputs to its own format, untimed."""
    import peers

    for path in paths.values():
        if library == "blosc2":
            peers.blosc2_array(path)
        elif library == "cubed":
            chunks = getattr(workload, "_chunks", no_chunks)(path)
            if path.name.startswith(("y-", "label-")):
                x = np.load(paths["x"], mmap_mode="r")
                chunks = peers.even_chunks(x.shape)[:1]
            peers.cubed_array(path, out, chunks)


def remember(workload, shapes, paths, folder: Path, options) -> None:
    """Compute the right result once; keep what runs are compared by."""
    import check

    path = reference_path(folder, options)
    if path.exists():
        return
    if hasattr(workload, "summary"):
        right = workload.summary(paths)
    elif hasattr(workload, "output"):
        right = check.summary(workload.output(shapes), workload.reference(paths))
    else:
        right = workload.reference(paths)
    path.write_bytes(pickle.dumps(right))


def reference_path(folder: Path, options) -> Path:
    return folder / f"reference-{options.workload}-{options.size}.pickle"


def compare(workload, shapes, found, out: Path, folder: Path, options) -> None:
    import check

    right = pickle.loads(reference_path(folder, options).read_bytes())
    if hasattr(workload, "output"):
        written = out.with_suffix(SUFFIXES.get(options.library, ".npy"))
        check.compare_file(written, workload.output(shapes), right, workload.RTOL)
    else:
        check.compare_small(found, right, workload.RTOL)


def touch_memory(folder: Path) -> None:
    """Touch and free pages, of private memory and of page cache.

    A machine gives out pages that it has not used for some seconds ten times more
    slowly than those just freed: without this whoever writes looks slow at random.
    """
    if not TOUCHED_BYTES:
        return
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with mmap.mmap(-1, min(TOUCHED_BYTES, available // 2), private) as memory:
        pages = np.frombuffer(memory, np.uint8)[::4096]
        pages[:] = 1
        del pages
    chunk = bytes(2**21)
    paths = [folder / f"touched-{os.getpid()}-{n}" for n in range(2)]
    for path in paths:
        with path.open("wb", buffering=0) as f:
            for _ in range(TOUCHED_BYTES // 2 // len(chunk)):
                f.write(chunk)
    for path in paths:
        path.unlink()


def remove(out: Path) -> None:
    """Remove what a run wrote, whatever its format."""
    for suffix in (".npy", *SUFFIXES.values()):
        path = out.with_suffix(suffix)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    shutil.rmtree(out.parent / "cubed", ignore_errors=True)


if __name__ == "__main__":
    main()
