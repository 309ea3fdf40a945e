import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from jask.__main__ import main


def test_the_demo_learns_and_cleans_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    size = ["--size", "16MB", "--budget", "4MB", "--steps", "12"]
    assert main(["demo", *size]) == 0
    out = capsys.readouterr().out
    accuracy = float(out.split("test accuracy ")[1].split("%")[0])
    assert accuracy > 90
    assert out.count("loss") == 12
    assert "the plan of one training step" in out
    assert "measured peak" in out
    assert not list(tmp_path.iterdir())


def test_kept_files_hold_the_predictions(tmp_path: Path):
    x = np.random.default_rng(0).standard_normal((4000, 3)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    np.save(tmp_path / "X.npy", x)
    np.save(tmp_path / "y.npy", y)
    keep = tmp_path / "kept"
    own = ["--data", str(tmp_path / "X.npy"), "--labels", str(tmp_path / "y.npy")]
    assert main(["demo", *own, "--keep", str(keep), "--steps", "15"]) == 0
    held = np.load(keep / "held_predictions.npy")
    assert (held == y[::10]).mean() > 0.95
    assert np.load(keep / "predictions.npy").shape == (400, 9)


@pytest.mark.parametrize(
    "options",
    [
        ["--data", "X.npy"],
        ["--steps", "0"],
        ["--size", "1GBB"],
        ["--budget", "-1"],
        ["--budget", "40"],
        ["--data", "missing.npy", "--labels", "missing.npy"],
    ],
    ids=" ".join,
)
def test_bad_options_are_one_line_and_status_2(
    options: list[str], capsys: pytest.CaptureFixture[str]
):
    assert main(["demo", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith("jask demo: ")
    assert error.count("\n") == 1


def test_features_that_are_not_finite_end_the_training_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    x = np.random.default_rng(0).standard_normal((200, 3)).astype(np.float32)
    x[3, 1] = np.nan
    np.save(tmp_path / "X.npy", x)
    np.save(tmp_path / "y.npy", np.arange(200) % 2)
    own = ["--data", str(tmp_path / "X.npy"), "--labels", str(tmp_path / "y.npy")]
    assert main(["demo", *own, "--steps", "15"]) == 2
    assert "The loss of step 1 is nan" in capsys.readouterr().err


def test_info_names_versions_and_budget(capsys: pytest.CaptureFixture[str]):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert f"numpy {np.__version__}" in out
    assert "memory budget" in out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_stopped_demo_leaves_nothing_behind(tmp_path: Path, name: str):
    command = [sys.executable, "-m", "jask", "demo", "--size", "20MB"]
    command += ["--steps", "9999"]  # none of which is the last before the signal
    process = subprocess.Popen(
        command,
        env={"TMPDIR": str(tmp_path), "PATH": "", "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while "loss" not in process.stdout.readline():
        assert process.poll() is None, process.communicate()[1]
    process.send_signal(getattr(signal, name))
    _, error = process.communicate(timeout=240)
    assert process.returncode == 130, error
    assert "stopped" in error
    assert not list(tmp_path.iterdir())


def test_a_stop_of_which_jax_makes_another_error_is_a_stop(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def stopped(_: object) -> None:
        """As where JAX compares the keys of a cache."""
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt as error:
            msg = "Cache keys should be comparable using __eq__."
            raise ValueError(msg) from error

    monkeypatch.setattr("jask.__main__.run_demo", stopped)
    assert main(["demo"]) == 130
    assert "stopped" in capsys.readouterr().err


def test_an_error_without_a_stop_is_raised(monkeypatch: pytest.MonkeyPatch):
    def broken(_: object) -> None:
        msg = "a fault"
        raise ValueError(msg)

    monkeypatch.setattr("jask.__main__.run_demo", broken)
    with pytest.raises(ValueError, match="a fault"):
        main(["demo"])


def test_without_the_extra_the_demo_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert main(["demo", "--size", "1MB"]) == 2
    assert 'pip install "jask[demo]"' in capsys.readouterr().err


def test_help_needs_no_extra():
    blocked = "import sys; sys.modules['tqdm'] = sys.modules['sklearn'] = None;"
    code = f"{blocked} from jask.__main__ import main; main(['--help'])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout
