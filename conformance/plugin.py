"""How does a worker run its share of the suite? A pytest plugin.

1. The tests named in the file $CONFORMANCE_TESTS are kept, in that order.
2. A test that takes longer than $CONFORMANCE_LIMIT seconds fails.
3. One JSON line per event goes to $CONFORMANCE_LOG: a start, an outcome.
4. $CONFORMANCE_BLOCK_BYTES, if set, forces jask's blocks to so many bytes. Drawing an
   array evaluates it then in many steps, so Hypothesis must not judge its time.

What hangs where no Python runs is the parent's business: it sees a start and no end.
"""

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings


class TimeLimitExceeded(BaseException):
    """A test took too long; not an Exception, or Hypothesis would try it again."""


_LIMIT = float(os.environ.get("CONFORMANCE_LIMIT", "0"))
_LOG = os.environ.get("CONFORMANCE_LOG", os.devnull)
_SHOWN = 2500
"""Characters of a failure that are kept: its end says most."""

_kept_open = contextlib.ExitStack()


def _log(**event: Any) -> None:
    with Path(_LOG).open("a") as log:
        log.write(json.dumps(event) + "\n")


@pytest.hookimpl(trylast=True)  # after the suite has loaded its profile
def pytest_configure() -> None:
    """Force the size of blocks, for as long as the process lives."""
    size = os.environ.get("CONFORMANCE_BLOCK_BYTES")
    if size:
        import jask  # noqa: PLC0415 - other libraries are run too

        _kept_open.enter_context(jask.config(block_bytes=int(size)))
        slow = [HealthCheck.too_slow]
        settings.register_profile("patient", settings(), suppress_health_check=slow)
        settings.load_profile("patient")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Keep the tests of this worker; without any named, say which there are."""
    wanted = os.environ.get("CONFORMANCE_TESTS")
    if wanted is None:
        _log(collected=[item.nodeid for item in items])
        return
    order = {name: i for i, name in enumerate(json.loads(Path(wanted).read_text()))}
    dropped = [item for item in items if item.nodeid not in order]
    items[:] = sorted(
        (item for item in items if item.nodeid in order),
        key=lambda item: order[item.nodeid],
    )
    config.hook.pytest_deselected(items=dropped)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Say that a test starts."""
    _log(start=item.nodeid)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Raise in a test that takes too long."""

    def stop(*_: Any) -> None:
        msg = f"took longer than {_LIMIT:g} s"
        raise TimeLimitExceeded(msg)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _LIMIT)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


_started: dict[str, float] = {}


def pytest_runtest_logstart(nodeid: str) -> None:
    """Remember when a test started."""
    _started[nodeid] = time.perf_counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Say how a test ended: its call, or what kept it from being called."""
    if report.when != "call" and report.passed:
        return
    outcome = str(report.outcome)
    if hasattr(report, "wasxfail"):
        outcome = {"skipped": "xfailed", "passed": "xpassed"}[outcome]
    _log(
        id=report.nodeid,
        outcome=outcome,
        seconds=round(time.perf_counter() - _started[report.nodeid], 3),
        text=_text(report, outcome),
    )


def _text(report: pytest.TestReport, outcome: str) -> str:
    """Return why a test was skipped or failed."""
    if outcome == "skipped" and isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    return report.longreprtext[-_SHOWN:] if outcome == "failed" else ""
