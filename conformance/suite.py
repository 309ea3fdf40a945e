"""Where is the official test suite, and which of its tests are left out, and why?"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CACHE = Path("~/.cache/jask/array-api-tests").expanduser()


class NoSuiteError(Exception):
    """The suite is not at hand and could not be fetched."""


def pins() -> dict[str, str]:
    """Return the pinned commit of each repository."""
    lines = (HERE / "PIN").read_text().splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return dict(rows)


def find_suite(*, clone: bool = True) -> Path:
    """Return a checkout of the suite at the pinned commits.

    It is looked for in $ARRAY_API_TESTS and in the user's cache, where it is cloned
    if it is in neither.
    """
    named = os.environ.get("ARRAY_API_TESTS")
    folder = Path(named) if named else CACHE
    if not (folder / "array_api_tests").is_dir():
        if named or not clone:
            msg = (
                f"No checkout of array-api-tests in {folder}. Clone it there at the "
                "commit in conformance/PIN, with its submodule."
            )
            raise NoSuiteError(msg)
        _clone(folder)
    _check_commits(folder)
    return folder


def _clone(folder: Path) -> None:
    """Clone the suite and its submodule at the pinned commit."""
    url, commit = next(iter(pins().items()))
    folder.mkdir(parents=True, exist_ok=True)
    steps = (
        ("init", "--quiet"),
        ("fetch", "--quiet", "--depth=1", url, commit),
        ("checkout", "--quiet", commit),
        ("submodule", "update", "--quiet", "--init", "--depth=1"),
    )
    for step in steps:
        try:
            subprocess.run(("git", *step), cwd=folder, check=True, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            msg = (
                f"The suite is not in {folder} and could not be cloned from {url}: "
                f"{error}. Set $ARRAY_API_TESTS to a checkout of {commit}."
            )
            raise NoSuiteError(msg) from error


def _check_commits(folder: Path) -> None:
    """Raise unless suite and submodule are what PIN says."""
    places = (folder, folder / "array-api")
    for place, (url, commit) in zip(places, pins().items(), strict=True):
        found = subprocess.run(
            ("git", "rev-parse", "HEAD"),
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        if found != commit:
            msg = f"{place} must be {url} at {commit}; it is at {found or 'nothing'}."
            raise NoSuiteError(msg)


@dataclass(frozen=True, slots=True)
class Exemption:
    """A test that is left out, or that is expected to fail."""

    test: str
    """Its id, with or without parameters."""

    reason: str
    """Why, in a sentence."""

    link: str
    """Where it is proved or discussed."""


def exemptions(path: Path) -> list[Exemption]:
    """Return the lines `test | reason | link` of a file."""
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.rsplit(" | ", 2)]
        if len(parts) != 3 or not all(parts) or not parts[2].startswith("https://"):
            msg = (
                f"{path}:{number} must be 'test | reason | https://link'; got {line!r}."
            )
            raise ValueError(msg)
        rows.append(Exemption(*parts))
    return rows
