"""The runner of the official suite: shares, lists, losses and figures."""

import importlib
import json
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import array_api_strict
import pytest

FOLDER = Path(__file__).parents[2] / "conformance"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports one of the runner's files, which are scripts."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def importer(name: str) -> ModuleType:
        for own in ("bounded", "run", "status", "suite"):
            monkeypatch.delitem(sys.modules, own, raising=False)
        return importlib.import_module(name)

    return importer


def test_all_forms_of_a_function_go_to_one_worker(load: Any):
    tests = ["t::f[1]", "t::g", "t::f[2]", "t::h[a-[b]]"]
    assert load("run").share(tests, 2) == [
        ["t::f[1]", "t::f[2]", "t::h[a-[b]]"],
        ["t::g"],
    ]


def test_the_lists_need_a_reason_and_a_link(load: Any, tmp_path: Path):
    suite = load("suite")
    path = tmp_path / "xfails.txt"
    path.write_text(
        "# why\n\nt::f[a | b] | the test is wrong | https://example.org/1\n"
    )
    assert suite.exemptions(path) == [
        suite.Exemption("t::f[a | b]", "the test is wrong", "https://example.org/1")
    ]
    path.write_text("t::f | the test is wrong\n")
    with pytest.raises(ValueError, match=r"xfails.txt:1 must be"):
        suite.exemptions(path)


@pytest.mark.parametrize("name", ["xfails", "skips"])
def test_our_own_lists_are_well_formed(load: Any, name: str):
    load("suite").exemptions(FOLDER / f"{name}.txt")


def test_the_suite_is_pinned_with_its_submodule(load: Any):
    assert all(len(commit) == 40 for commit in load("suite").pins().values())
    assert len(load("suite").pins()) == 2


def test_a_missing_suite_is_said_clearly(
    load: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    suite = load("suite")
    monkeypatch.setenv("ARRAY_API_TESTS", str(tmp_path / "none"))
    with pytest.raises(suite.NoSuiteError, match="Clone it there at the commit"):
        suite.find_suite()


@pytest.fixture
def worker(load: Any, tmp_path: Path) -> Any:
    run = load("run")
    options = run.Options(tmp_path, "m", 1, 1.0, 0, None, True, tmp_path)
    return run.Worker(options, 0, ["t::f", "t::g", "t::h"])


def log(worker: Any, *events: dict[str, Any], end: str = "\n") -> None:
    path = worker.options.folder / "log-0.jsonl"
    with path.open("a") as file:
        file.write("\n".join(json.dumps(e) for e in events) + end)


def ended(name: str, outcome: str) -> dict[str, Any]:
    return {"id": name, "outcome": outcome, "seconds": 1.0, "text": ""}


def test_events_are_read_once_and_only_when_whole(worker: Any):
    log(worker, {"start": "t::f"}, ended("t::f", "passed"), {"start": "t::g"}, end="")
    worker._take_in()
    assert worker.tests == ["t::g", "t::h"]
    assert worker._current is None  # the last line may not be whole yet
    log(worker)
    log(worker, ended("t::g", "failed"))
    worker._take_in()
    assert [r["outcome"] for r in worker.results] == ["passed", "failed"]


def test_a_test_that_takes_its_process_along_has_failed(worker: Any):
    log(worker, {"start": "t::f"})
    worker._take_in()
    worker._lose(worker._current, "hung; killed")
    assert worker.tests == ["t::g", "t::h"]
    assert worker.results[0]["text"] == "hung; killed"


def test_an_error_at_the_end_of_a_test_counts(worker: Any):
    log(worker, {"start": "t::f"}, ended("t::f", "passed"), ended("t::f", "failed"))
    worker._take_in()
    assert [r["outcome"] for r in worker.results] == ["failed"]


def test_the_page_adds_up(load: Any):
    status = load("status")
    tests = "array_api_tests/test_"
    outcomes = [
        (f"{tests}fft.py::test_fft", "passed"),
        (f"{tests}fft.py::a", "xfailed"),
        (f"{tests}set.py::b[x]", "failed"),
        (f"{tests}set.py::c", "skipped"),
    ]
    chapters = status.tally(outcomes)
    facts = {"chapters": chapters, "examples": 20, "minutes": 1.5, "version": "1"}
    page = status.page({status.OURS: facts, "peer": facts | {"version": "9"}})
    assert "| fft | 1 | 0 | 1 | 0 |" in page
    assert "| **all** | 1 | 1 | 1 | 1 |" in page
    assert "| chapter | tests | jask.numpy 1 | peer 9 |" in page
    assert "| **all** | 4 | 1 | 1 |" in page


READ_NOTHING = {
    "arange", "asarray", "broadcast_shapes", "can_cast", "empty", "eye", "finfo",
    "from_dlpack", "full", "iinfo", "isdtype", "linspace", "ones", "result_type",
    "zeros", "fft.fftfreq", "fft.rfftfreq",
}  # fmt: skip
SAME = {"linalg.matmul", "linalg.tensordot", "linalg.vecdot"}
"""Functions that the main namespace has too."""


def test_the_table_of_what_streams_has_every_function(load: Any):
    names = {
        prefix + n
        for prefix, module in (
            ("", array_api_strict),
            ("linalg.", array_api_strict.linalg),
            ("fft.", array_api_strict.fft),
        )
        for n in module.__all__
        if isinstance(getattr(module, n), FunctionType) and "strict_flags" not in n
    }
    rows = set(load("bounded").CALLS)
    assert names - READ_NOTHING - SAME - rows == {"__array_namespace_info__"}
    written = (FOLDER / "bounded.md").read_text()
    assert [n for n in sorted(rows) if f"| {n} | " not in written] == []
