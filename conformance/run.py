"""Run the official Array API test suite, and say what passed.

1. Find the suite (`suite.py`) and collect the names of its tests.
2. Share the tests out among processes, all forms of one function to the same.
3. Watch them: a process that hangs or dies costs the test it was at, which fails;
   another process goes on with the rest.
4. Compare with `xfails.txt` and `skips.txt`, print the failures, write `status.md`.

The exit status is 0 when nothing failed that should not have, 2 without the suite.
"""

import argparse
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import status
import suite

HERE = Path(__file__).parent
LIMIT = 120
"""Seconds that a test may take."""

PATIENCE = 600
"""The same with forced blocks: each element that a test looks at is a plan then."""

GRACE = 20
"""Seconds beyond its limit after which a test is taken to hang."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is run, and how."""

    suite: Path
    """A checkout of the suite."""

    module: str
    """The name of the library's namespace."""

    examples: int
    """Examples that Hypothesis tries for each test."""

    limit: float
    """Seconds a test may take."""

    seed: int
    """Where Hypothesis starts."""

    block_bytes: int | None
    """Size of jask's blocks, if forced."""

    x64: bool
    """Whether JAX's 64-bit types are on."""

    folder: Path
    """For lists and logs, deleted in the end."""

    def environment(self) -> dict[str, str]:
        """Return the environment variables of a worker."""
        path = os.pathsep.join(
            filter(None, (str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH")))
        )
        own = {
            "ARRAY_API_TESTS_MODULE": self.module,
            "CONFORMANCE_LIMIT": str(self.limit),
            "HYPOTHESIS_STORAGE_DIRECTORY": str(self.folder / "hypothesis"),
            "JAX_ENABLE_X64": str(int(self.x64)),
            "JAX_PLATFORMS": os.environ.get("JAX_PLATFORMS", "cpu"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": path,
        }
        if self.block_bytes is not None:
            own["CONFORMANCE_BLOCK_BYTES"] = str(self.block_bytes)
        return os.environ | own

    def command(self, *more: str) -> list[str]:
        """Return the command line of a worker."""
        return [
            *(sys.executable, "-m", "pytest", "array_api_tests", "-q", "--tb=short"),
            *("-p", "plugin", "-p", "no:cacheprovider", "--disable-warnings"),
            *("-o", "xfail_strict=True", "--disable-deadline"),
            *("--max-examples", str(self.examples)),
            *("--hypothesis-seed", str(self.seed)),
            *("--xfails-file", str(self._plain("xfails"))),
            *("--skips-file", str(self._plain("skips"))),
            *more,
        ]

    def _plain(self, name: str) -> Path:
        """Return one of our lists in the suite's format; others have none."""
        path = self.folder / f"{name}.txt"
        rows = suite.exemptions(HERE / f"{name}.txt")
        own = rows if self.module == status.OURS else []
        path.write_text("".join(f"{row.test}\n" for row in own))
        return path


@dataclass(slots=True)
class Worker:
    """A process that works through a list of tests, replaced when it is lost."""

    options: Options
    """What is run."""

    number: int
    """Which of the workers it is."""

    tests: list[str]
    """What is left to do."""

    results: list[dict[str, Any]] = field(default_factory=list)
    """One entry for each test that ended."""

    _process: subprocess.Popen[bytes] | None = None
    _read: int = 0
    _current: str | None = None
    _since: float = 0.0

    def step(self) -> bool:
        """Start what must be started, take in what happened; False when all is done."""
        if self._process is None:
            if not self.tests:
                return False
            self._start()
        assert self._process is not None
        ended = self._process.poll() is not None
        self._take_in()
        if ended:
            self._process = None
            if self.tests:
                self._lose(self._current or self.tests[0], "the interpreter crashed")
        elif time.monotonic() - self._since > self.options.limit + GRACE:
            self._process.kill()
            self._process.wait()
            self._process = None
            self._lose(self._current or self.tests[0], "hung; killed")
        return True

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def _log(self) -> Path:
        return self.options.folder / f"log-{self.number}.jsonl"

    def _start(self) -> None:
        names = self.options.folder / f"tests-{self.number}.json"
        names.write_text(json.dumps(self.tests))
        own = {"CONFORMANCE_TESTS": str(names), "CONFORMANCE_LOG": str(self._log)}
        with (self.options.folder / f"output-{self.number}.txt").open("ab") as output:
            self._process = subprocess.Popen(
                self.options.command(),
                cwd=self.options.suite,
                env=self.options.environment() | own,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._current, self._since = None, time.monotonic() + 60

    def _take_in(self) -> None:
        """Read the events that were logged since the last time."""
        if not self._log.exists():
            return
        with self._log.open("rb") as log:
            log.seek(self._read)
            lines = log.read().split(b"\n")[:-1]
        self._read += sum(len(line) + 1 for line in lines)
        for event in map(json.loads, lines):
            if "start" in event:
                self._current, self._since = event["start"], time.monotonic()
            elif "id" in event:
                self._finish(event)

    def _finish(self, event: dict[str, Any]) -> None:
        if event["id"] in self.tests:  # an error after the end is a second event
            self.tests.remove(event["id"])
            self.results.append(event)
        elif event["outcome"] == "failed":
            self.results[-1] = event
        self._current = None

    def _lose(self, test: str, why: str) -> None:
        """Count a test as failed that took its process with it."""
        self._finish({"id": test, "outcome": "failed", "seconds": 0, "text": why})


def collect(options: Options) -> list[str]:
    """Return the names of all tests."""
    log = options.folder / "collected.jsonl"
    done = subprocess.run(
        options.command("--collect-only"),
        cwd=options.suite,
        env=options.environment() | {"CONFORMANCE_LOG": str(log)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not log.exists():
        sys.exit(f"The suite cannot be collected:\n{done.stdout[-4000:]}{done.stderr}")
    names: list[str] = json.loads(log.read_text())["collected"]
    return names


def share(tests: list[str], count: int) -> list[list[str]]:
    """Deal tests out, all forms of one function to the same worker."""
    groups: dict[str, list[str]] = {}
    for test in tests:
        groups.setdefault(test.partition("[")[0], []).append(test)
    shares: list[list[str]] = [[] for _ in range(count)]
    for i, group in enumerate(groups.values()):
        shares[i % count].extend(group)
    return shares


def run(options: Options, tests: list[str], processes: int) -> list[dict[str, Any]]:
    """Run tests on several processes; return how each ended."""
    workers = [
        Worker(options, i, mine) for i, mine in enumerate(share(tests, processes))
    ]
    try:
        while sum(worker.step() for worker in workers):
            time.sleep(0.2)
    finally:
        for worker in workers:
            worker.stop()
    return [result for worker in workers for result in worker.results]


def unused(name: str, tests: list[str]) -> list[str]:
    """Return the lines of one of our lists that name no test."""
    rows = suite.exemptions(HERE / f"{name}.txt")
    known = {*tests, *(test.partition("[")[0] for test in tests)}
    return [row.test for row in rows if row.test not in known]


def report(results: list[dict[str, Any]], slowest: int) -> None:
    """Print the failures, and the tests that took longest."""
    for result in sorted(results, key=lambda r: -r["seconds"])[:slowest]:
        print(f"{result['seconds']:8.1f} s  {result['id']}")
    for result in results:
        if result["outcome"] in {"failed", "xpassed"}:
            print(f"\nFAILED {result['id']}\n{result['text']}")
    sums = {o: sum(r["outcome"] == o for r in results) for o in status.OUTCOMES}
    print("\n" + ", ".join(f"{count} {name}" for name, count in sums.items()))


def version(module: str) -> str:
    """Return the version of a library."""
    top = module.removeprefix("array_api_compat.").partition(".")[0]
    return str(getattr(importlib.import_module(top), "__version__", ""))


def arguments() -> argparse.Namespace:
    """Return the command line's arguments."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--examples", type=int, default=20, help="examples a test (default 20)")
    add("--processes", type=int, default=2, help="processes (default 2)")
    add("--only", default="", metavar="PATTERN", help="tests whose name contains this")
    add("--block-bytes", type=int, metavar="N", help="force blocks of so many bytes")
    limit = f"seconds a test may take ({LIMIT}; {PATIENCE} with forced blocks)"
    add("--limit", type=float, help=limit)
    add("--module", default=status.OURS, help="another library's namespace")
    add("--seed", type=int, help="of Hypothesis; printed by every run")
    add("--x32", action="store_true", help="leave JAX's 64-bit types off")
    add("--slowest", type=int, default=0, metavar="N", help="print the N slowest tests")
    add("--if-present", action="store_true", help="succeed where there is no suite")
    add("--no-status", action="store_true", help="leave status.md as it is")
    return parser.parse_args()


def main() -> int:
    """Run what the command line asks for."""
    args = arguments()
    try:
        found = suite.find_suite(clone=not args.if_present)
    except suite.NoSuiteError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 0 if args.if_present else 2
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        options = Options(
            suite=found,
            module=args.module,
            examples=args.examples,
            limit=args.limit or (PATIENCE if args.block_bytes else LIMIT),
            seed=random.randrange(2**32) if args.seed is None else args.seed,
            block_bytes=args.block_bytes,
            x64=not args.x32,
            folder=Path(folder),
        )
        return judge(options, args)


def judge(options: Options, args: argparse.Namespace) -> int:
    """Run, report and write; return the exit status."""
    every = collect(options)
    tests = [test for test in every if args.only in test]
    print(
        f"{len(tests)} tests of {options.module}, {options.examples} examples each, "
        f"--seed {options.seed}",
        flush=True,
    )
    start = time.monotonic()
    results = run(options, tests, args.processes)
    minutes = round((time.monotonic() - start) / 60, 1)
    report(results, args.slowest)
    stale = [line for name in ("xfails", "skips") for line in unused(name, every)]
    for line in stale:
        print(f"no such test, take it out of the list: {line}")
    if not (args.only or args.no_status or args.x32):
        facts = {
            "chapters": status.tally((r["id"], r["outcome"]) for r in results),
            "examples": options.examples,
            "minutes": minutes,
            "version": version(options.module),
        }
        forced = f", blocks of {args.block_bytes} bytes" if args.block_bytes else ""
        status.keep(options.module + forced, facts)
    print(f"{minutes} minutes")
    return int(bool(stale) or any(r["outcome"] == "failed" for r in results))


if __name__ == "__main__":
    sys.exit(main())
