from pathlib import Path

import numpy as np
import pytest

from jask.demo.data import DemoError, grown_digits, own_data
from jask.errors import JaskError


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory):
    return grown_digits(tmp_path_factory.mktemp("grown"), 9_000_000, seed=3)


def test_grown_digits_have_the_wanted_size_and_a_label_for_each_row(grown):
    assert grown.x.shape == (9_000_000 // 256, 64)
    assert grown.x.dtype == np.float32
    assert grown.labels.shape == grown.x.shape[:1]
    assert set(np.unique(np.asarray(grown.labels))) == set(range(10))


def test_no_training_row_is_made_from_a_held_out_original(grown):
    held = np.asarray(grown.held_x)
    rows = np.asarray(grown.x[:2000])
    apart = ((rows[:, None] - held[None, :50]) ** 2).sum(-1)
    # Noise of deviation 1 moves a row by 64 on average; other digits are further away.
    assert (apart.min(axis=1) > 100).mean() > 0.95


def test_held_out_originals_are_real_digits_without_noise(grown):
    held = np.asarray(grown.held_x)
    assert held.shape == (360, 64)
    np.testing.assert_array_equal(held, held.round())


def test_too_small_a_size_is_refused(tmp_path: Path):
    with pytest.raises(DemoError, match="--size must be at least"):
        grown_digits(tmp_path, 1000, seed=0)


def saved(folder: Path, x: np.ndarray, y: np.ndarray) -> tuple[Path, Path]:
    np.save(folder / "X.npy", x)
    np.save(folder / "y.npy", y)
    return folder / "X.npy", folder / "y.npy"


def test_every_tenth_row_of_own_data_is_held_out(tmp_path: Path):
    x = np.arange(50 * 3.0).reshape(50, 3)
    y = np.arange(50) % 4
    split = own_data(*saved(tmp_path, x, y))
    np.testing.assert_array_equal(np.asarray(split.held_x), x[::10])
    np.testing.assert_array_equal(np.asarray(split.held_labels), y[::10])
    rest = np.delete(np.arange(50), np.s_[::10])
    np.testing.assert_array_equal(np.asarray(split.x).reshape(-1, 3), x[rest])
    np.testing.assert_array_equal(np.asarray(split.labels).ravel(), y[rest])
    assert split.classes == 4


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros(50), np.zeros(50, int), "shape \\(rows, features\\)"),
        (np.zeros((50, 2), bool), np.zeros(50, int), "must be real numbers"),
        (np.zeros((50, 2)), np.zeros(49, int), "shape \\(50,\\)"),
        (np.zeros((50, 2)), np.zeros(50), "labels must be integers"),
        (np.zeros((50, 2)), np.full(50, -1), "got -1"),
        (np.zeros((5, 2)), np.zeros(5, int), "at least 20 rows"),
    ],
    ids=["1-d", "bool", "too few labels", "float labels", "negative label", "few rows"],
)
def test_data_that_cannot_be_used_are_refused_by_name(
    tmp_path: Path, x: np.ndarray, y: np.ndarray, message: str
):
    with pytest.raises(DemoError, match=message):
        own_data(*saved(tmp_path, x, y))


def test_a_missing_file_is_an_error_of_jask(tmp_path: Path):
    with pytest.raises((JaskError, OSError), match=r"nothing\.npy"):
        own_data(tmp_path / "nothing.npy", tmp_path / "nothing.npy")
