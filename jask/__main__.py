"""The command `python -m jask`: `demo` runs the main job, `info` tells the set-up."""

import argparse
import importlib.metadata
import io
import platform
import signal
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NoReturn

import jask
from jask.config import current
from jask.demo.command import add_options, run_demo
from jask.demo.data import DemoError
from jask.errors import JaskError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; return the exit status.

    Examples
    --------
    >>> main(["info"])
    jask ...
    0
    """
    options = _parser().parse_args(arguments)
    if options.command == "info":
        _print_info()
        return 0
    return _guarded(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("jask", description=jask.__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="train and evaluate a classifier on a file larger than its budget"
    )
    add_options(demo)
    commands.add_parser("info", help="print versions and settings")
    return parser


def _print_info() -> None:
    settings = current()
    print(f"jask {importlib.metadata.version('jask')}")
    print(f"Python {platform.python_version()}")
    for package in ("jax", "jaxlib", "numpy"):
        print(f"{package} {importlib.metadata.version(package)}")
    print(f"memory budget {settings.memory_budget / 1e6:,.0f} MB")
    print(f"scratch files in {settings.scratch_dir or tempfile.gettempdir()}")


def _guarded(options: argparse.Namespace) -> int:
    """Run the demo; turn what a user can mend into one line, and clean up on a stop."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # seen at once through a pipe too
    stop = _Stop()
    try:
        with stop:
            run_demo(options)
    except (DemoError, JaskError, OSError) as error:
        print(f"jask demo: {error}", file=sys.stderr)
        return 2
    except BaseException:
        if not stop.asked:
            raise
        print("jask demo: stopped; its scratch files are removed", file=sys.stderr)
        return 130
    return 0


class _Stop:
    """Turns Ctrl-C and SIGTERM into KeyboardInterrupt, and remembers it.

    Its caller may get another error: where JAX calls Python it makes one of its own of
    it, a JaxRuntimeError in a jitted call, a ValueError where it compares cache keys.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.asked = False
        self._before: list[Any] = []

    def _handle(self, _number: int, _frame: object) -> NoReturn:
        self.asked = True
        raise KeyboardInterrupt

    def __enter__(self) -> None:
        self._before = [signal.signal(s, self._handle) for s in self.SIGNALS]

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(self.SIGNALS, self._before, strict=True):
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
