"""Pages on decisions have one layout."""

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "decisions").glob("*.md"))
SECTIONS = (
    "Question",
    "What was found out",
    "Decision",
    "Why",
    "Rejected",
    "Measured",
    "What it costs",
    "Reconsider",
)


def test_pages_are_numbered_without_gaps():
    assert [int(p.name[:4]) for p in PAGES] == list(range(1, len(PAGES) + 1))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_page_says_what_was_decided_and_what_was_rejected(page: Path):
    text = page.read_text()
    assert text.startswith(f"# {int(page.name[:4])}. ")
    found = re.findall(r"^## (.*)$", text, re.MULTILINE)
    names = [re.sub(r" \(.*\)$", "", name) for name in found]
    assert set(names) <= set(SECTIONS)
    assert len(names) == len(set(names))
    assert {"Decision", "Rejected"} <= set(names)
    ordered = [
        n for n in names if n not in {"Why"}
    ]  # before or after what was rejected
    assert ordered == [s for s in SECTIONS if s in ordered]
