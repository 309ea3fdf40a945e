"""How are the figures of a run kept, and shown beside those of other libraries?

`figures.json` has the last run of each library; `status.md` is made from it.
"""

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FIGURES = HERE / "figures.json"
STATUS = HERE / "status.md"
OURS = "jask.numpy"
OUTCOMES = ("passed", "failed", "xfailed", "skipped")

_HEAD = """# Conformance to the Python Array API standard 2025.12

Made by `conformance/run.py`; do not edit. The official test suite
[array-api-tests](https://github.com/data-apis/array-api-tests) at the commit in `PIN`,
{examples} examples a test, 64-bit types on. The suite itself always skips 5 of its
tests. `xfails.txt` and `skips.txt` say what is expected to fail or left out, and why.

"""
_PEERS = """
## Beside other libraries

Tests passed, each chapter; measured by the same runner on the same machine, which was
in use by others. A crash or a test over the time limit counts as failed. *Blocks* of a
few bytes make nearly every array span several, and turn off what is done at once for
small arrays. *Examples* are for each test; *minutes* are for the whole run, each at
another load: no more than an order of magnitude. Of the same suite, measured once and
not by this runner: dask passed 1,280, cubed 1,198, and blosc2 crashed the
interpreter.

"""


def chapter(test: str) -> str:
    """Return the chapter a test belongs to.

    >>> chapter("array_api_tests/test_linalg.py::test_outer")
    'linalg'
    """
    return test.partition("::")[0].rpartition("/test_")[2].removesuffix(".py")


def tally(outcomes: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Return how many tests of each chapter had each outcome."""
    counts: dict[str, Counter[str]] = {}
    for test, outcome in outcomes:
        counts.setdefault(chapter(test), Counter())[outcome] += 1
    return {name: dict(count) for name, count in sorted(counts.items())}


def keep(module: str, facts: dict[str, Any]) -> None:
    """Write the figures of a library's run, and the page, anew."""
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    figures[module] = facts
    text = json.dumps(figures, indent=1, sort_keys=True) + "\n"
    FIGURES.write_text(text)
    if OURS in figures:
        STATUS.write_text(page(figures))


def page(figures: dict[str, Any]) -> str:
    """Return the text of status.md."""
    ours = figures[OURS]
    return (
        _HEAD.format(examples=ours["examples"])
        + _table(("chapter", *OUTCOMES), _own_rows(ours["chapters"]))
        + _PEERS
        + _table(*_peer_table(figures))
    )


def _own_rows(chapters: dict[str, dict[str, int]]) -> list[tuple[object, ...]]:
    """Return one row a chapter and one of sums."""
    rows = [
        (name, *(count.get(outcome, 0) for outcome in OUTCOMES))
        for name, count in chapters.items()
    ]
    sums = (sum(count.get(o, 0) for count in chapters.values()) for o in OUTCOMES)
    return [*rows, ("**all**", *sums)]


def _peer_table(
    figures: dict[str, Any],
) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Return heads and rows: tests passed by each library."""
    names = [OURS, *sorted(set(figures) - {OURS}, key=lambda n: -_passed(figures[n]))]
    chapters = figures[OURS]["chapters"]
    heads = (
        "chapter",
        "tests",
        *(f"{n} {figures[n]['version']}".strip() for n in names),
    )
    rows: list[tuple[object, ...]] = [
        (
            name,
            sum(count.values()),
            *(figures[n]["chapters"].get(name, {}).get("passed", 0) for n in names),
        )
        for name, count in chapters.items()
    ]
    total = sum(sum(count.values()) for count in chapters.values())
    rows.append(("**all**", total, *(_passed(figures[n]) for n in names)))
    rows.extend(
        (f"*{row}*", "", *(figures[n][row] for n in names))
        for row in ("examples", "minutes")
    )
    return heads, rows


def _passed(facts: dict[str, Any]) -> int:
    """Return how many tests a library passed."""
    return sum(count.get("passed", 0) for count in facts["chapters"].values())


def _table(heads: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)
