"""The command `python -m jask`: `demo` runs the main job, `info` tells the set-up."""

import argparse
import importlib.metadata
import platform
import signal
import sys
import tempfile
from collections.abc import Sequence
from typing import NoReturn

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
    signal.signal(signal.SIGTERM, _stop)
    try:
        run_demo(options)
    except (DemoError, JaskError) as error:
        print(f"jask demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("jask demo: stopped; its scratch files are removed", file=sys.stderr)
        return 130
    return 0


def _stop(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
