"""The bar appears for long work, on a terminal or when it is wanted."""

import sys

import pytest

from jask.execute import progress
from jask.execute.progress import Progress


def shown(capsys: pytest.CaptureFixture[str], *, show: bool | None) -> str:
    with Progress(4, show=show) as bar:
        for _ in range(4):
            bar.advance()
    return capsys.readouterr().err


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SHOW_AFTER", -1.0)


def test_a_bar_that_is_wanted_is_shown_at_once(capsys: pytest.CaptureFixture[str]):
    assert "jask" in shown(capsys, show=True)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("show", [False, None], ids=["unwanted", "no terminal"])
def test_nothing_is_shown(capsys: pytest.CaptureFixture[str], show: bool | None):
    assert shown(capsys, show=show) == ""


def test_short_work_on_a_terminal_shows_no_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert shown(capsys, show=None) == ""


def test_work_goes_on_without_tqdm(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    said = shown(capsys, show=True)
    assert said.count("\n") == 1
    assert "jask[progress]" in said
    assert shown(capsys, show=None) == ""
