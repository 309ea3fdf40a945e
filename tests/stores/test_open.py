"""Opening files: what is found out, what is refused, what happens to changed files."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jask.errors import FileFormatError, SourceChangedError
from jask.geometry.box import Box
from jask.stores.open import open_store
from jask.stores.raw import open_raw
from jask.testing.stores import read_all
from tests.stores.children import run_child


def saved(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no\.npy"):
        open_store(tmp_path / "no.npy")


def test_a_directory_is_refused(tmp_path: Path):
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        open_store(tmp_path)


def test_a_file_without_permission_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = saved(tmp_path / "x.npy", np.zeros(3))

    def refuse(path: Any, *_: Any) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("jask.stores._file.FileIO", refuse)  # root may read everything
    with pytest.raises(PermissionError, match=r"x\.npy"):
        open_store(path)


def test_a_file_of_several_arrays_is_refused_with_the_way_to_one_of_them(
    tmp_path: Path,
):
    np.savez(tmp_path / "x.npz", x=np.arange(3))
    with pytest.raises(FileFormatError, match=r"numpy\.load\(path\)\[\"x\"\].*x\.npz"):
        open_store(tmp_path / "x.npz")
    np.save(tmp_path / "x.npy", np.load(tmp_path / "x.npz")["x"])  # as it says
    assert read_all(open_store(tmp_path / "x.npy").store).tolist() == [0, 1, 2]
    (tmp_path / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n and more")
    with pytest.raises(FileFormatError, match=r"HDF5.*numpy\.save"):
        open_store(tmp_path / "x.h5")


def test_an_empty_file_is_refused(tmp_path: Path):
    (tmp_path / "x.npy").touch()
    with pytest.raises(FileFormatError, match=r"must not be empty.*x\.npy"):
        open_store(tmp_path / "x.npy")


def test_a_pipe_is_refused_without_waiting(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileFormatError, match="regular file"):
        open_store(tmp_path / "pipe")


@pytest.mark.parametrize("facts", [{}, {"shape": (3,), "dtype": "u1"}], ids=str)
def test_devices_and_links_to_nowhere_are_refused(
    facts: dict[str, Any], tmp_path: Path
):
    with pytest.raises(FileFormatError, match="regular file"):
        open_store("/dev/zero", **facts)
    (tmp_path / "link.npy").symlink_to("nowhere.npy")
    with pytest.raises(FileNotFoundError, match=r"link\.npy"):
        open_store(tmp_path / "link.npy", **facts)
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    with pytest.raises(OSError, match=r"loop\.npy"):
        open_store(tmp_path / "loop.npy", **facts)


def test_a_link_is_read_as_what_it_names(tmp_path: Path):
    saved(tmp_path / "x.npy", np.arange(3.0))
    (tmp_path / "link.npy").symlink_to("x.npy")
    assert read_all(open_store(tmp_path / "link.npy").store).tolist() == [0, 1, 2]


def test_a_file_of_another_format_is_refused_with_a_remedy(tmp_path: Path):
    (tmp_path / "x.npy").write_bytes(b"something else")
    with pytest.raises(FileFormatError, match=r"begins with b'some.*dtype= and shape="):
        open_store(tmp_path / "x.npy")


def test_a_raw_file_needs_a_dtype(tmp_path: Path):
    (tmp_path / "x.raw").write_bytes(b"\0" * 24)
    with pytest.raises(TypeError, match="dtype must be given"):
        open_store(tmp_path / "x.raw", shape=(3,))


@pytest.mark.parametrize(
    ("shape", "dtype", "offset"),
    [((4,), "f8", 0), ((3,), "f4", 0), ((3,), "f8", 8), ((2,), "f8", 0)],
    ids=str,
)
def test_a_raw_file_of_another_size_is_refused(
    shape: tuple[int, ...], dtype: str, offset: int, tmp_path: Path
):
    (tmp_path / "x.raw").write_bytes(b"\0" * 24)
    with pytest.raises(FileFormatError) as caught:
        open_store(tmp_path / "x.raw", shape=shape, dtype=dtype, offset=offset)
    right = offset + int(np.prod(shape)) * np.dtype(dtype).itemsize
    for word in (str(shape), str(np.dtype(dtype)), f"{right} bytes", "has 24", "x.raw"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"shape": (-3,), "dtype": "f8"}, ValueError, "negative entries.*-3"),
        ({"shape": (2**40, 2**40), "dtype": "f8"}, ValueError, "2\\*\\*63"),
        ({"shape": (1.5,), "dtype": "f8"}, TypeError, "tuple of ints"),
        ({"shape": "3", "dtype": "f8"}, TypeError, "tuple of ints"),
        ({"shape": (3,), "dtype": "f8", "offset": -1}, ValueError, "offset.*-1"),
        ({"shape": (3,), "dtype": "f8", "offset": 1.0}, ValueError, "offset.*1.0"),
        ({"offset": 8}, ValueError, "offset must come with"),
        ({"mode": "w"}, ValueError, "mode must be 'r' or 'r\\+'; got 'w'"),
    ],
    ids=str,
)
def test_an_impossible_argument_is_refused(
    options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
):
    (tmp_path / "x.raw").write_bytes(b"\0" * 24)
    with pytest.raises(error, match=message):
        open_store(tmp_path / "x.raw", **options)


def test_paths_may_be_text_bytes_or_path_like(tmp_path: Path):
    path = saved(tmp_path / "Größe 数据 50%#1.npy", np.arange(3.0))
    for given in (path, str(path), os.fsencode(path)):
        assert open_store(given).store.path == path  # type: ignore[arg-type]


def test_a_relative_path_does_not_follow_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    saved(tmp_path / "x.npy", np.arange(3.0))
    monkeypatch.chdir(tmp_path)
    store = open_store("x.npy").store
    monkeypatch.chdir("/")
    assert read_all(store).tolist() == [0, 1, 2]
    assert store.path == tmp_path / "x.npy"


def test_bools_that_are_not_0_or_1_are_read_as_true(tmp_path: Path):
    (tmp_path / "mask").write_bytes(bytes([0, 1, 2, 255]))
    store = open_raw(tmp_path / "mask", (4,), "?")
    assert read_all(store).view("u1").tolist() == [0, 1, 1, 1]


# ------------------------------------------------------------------ changed files


def test_an_unchanged_file_passes_the_check(tmp_path: Path):
    store = open_store(saved(tmp_path / "x.npy", np.zeros(9))).store
    store.check()


def test_a_file_written_to_in_place_fails_the_check(tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.zeros(9))
    store = open_store(path).store
    with path.open("r+b") as file:
        file.seek(130)
        file.write(b"1")
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceChangedError, match=r"written to.*Open it again.*x\.npy"):
        store.check()


def test_a_file_that_grew_fails_the_check(tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.zeros(9))
    store = open_store(path).store
    with path.open("ab") as file:
        file.write(b"1")
    with pytest.raises(SourceChangedError, match="had 200 bytes and now has 201"):
        store.check()


def test_a_file_opened_for_writing_is_checked_until_it_is_written_to(tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.zeros(9))
    store = open_store(path, mode="r+").store
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceChangedError, match="written to"):
        store.check()
    store = open_store(path, mode="r+").store
    store.write(Box((0,), (1,)), np.ones(1))
    store.check()
    assert np.load(path)[:2].tolist() == [1, 0]


@pytest.mark.parametrize(
    "box", [Box((0, 0), (90, 90)), Box((0, 3), (90, 9)), Box((88, 0), (90, 90))],
    ids=["whole", "columns", "end"],
)  # fmt: skip
def test_a_file_that_was_cut_is_an_error_and_not_a_mixture(box: Box, tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.zeros((90, 90)))
    store = open_store(path).store
    os.truncate(path, 4096)
    with pytest.raises(SourceChangedError, match="ends at byte"):
        store.read(box, np.empty(box.shape))
    with pytest.raises(SourceChangedError, match="now has 4096"):
        store.check()


def test_a_file_replaced_by_a_rename_goes_on_being_read(tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.arange(9.0))
    store = open_store(path).store
    saved(tmp_path / "y.npy", np.arange(9.0) + 100).replace(path)
    store.check()
    assert read_all(store)[0] == 0
    assert read_all(open_store(path).store)[0] == 100


def test_a_file_that_was_deleted_goes_on_being_read(tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.arange(9.0))
    store = open_store(path).store
    path.unlink()
    assert read_all(store)[8] == 8


# --------------------------------------------------------------- file descriptors


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = open_descriptors() + 240  # other tests may hold files
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def most_open() -> int:
    """Descriptors that stores keep open at most: a quarter of what is allowed."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4


@pytest.mark.usefixtures("few_descriptors")
def test_more_arrays_than_descriptors_can_be_open(tmp_path: Path):
    before = open_descriptors()
    paths = [saved(tmp_path / f"{k}.npy", np.full(3, k)) for k in range(300)]
    stores = [open_store(path).store for path in paths]
    assert open_descriptors() - before <= most_open()
    for k, store in enumerate(stores):
        store.check()
        assert read_all(store).tolist() == [k] * 3
    assert open_descriptors() - before <= most_open()
    del store, stores
    assert open_descriptors() <= before


REPLACED = """
from jask.stores.open import open_store

resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))  # stores keep 64 of them
folder = Path(sys.argv[1])


def saved(name, values):
    np.save(folder / name, values)
    return folder / name


def more_than_are_kept():
    return [open_store(saved(f"{k}.npy", [k])) for k in range(70)]


def read():
    buffer = np.empty(3)
    store.read(Box((0,), (3,)), buffer)
    return buffer.tolist()


store = open_store(saved("x.npy", np.zeros(3))).store
"""


def test_a_file_replaced_while_its_descriptor_was_closed_is_an_error(tmp_path: Path):
    code = """
others = more_than_are_kept()
saved("y.npy", np.ones(3)).replace(folder / "x.npy")
try:
    print(read())
except OSError as error:
    print(type(error).__name__, error)
"""
    printed = run_child(REPLACED + code, tmp_path)
    assert "SourceChangedError" in printed
    assert "another file" in printed


def test_a_replaced_file_keeps_its_descriptor(tmp_path: Path):
    code = """
saved("y.npy", np.ones(3)).replace(folder / "x.npy")
others = more_than_are_kept()
print(read())
"""
    assert run_child(REPLACED + code, tmp_path) == "[0.0, 0.0, 0.0]\n"


def test_too_few_descriptors_is_a_clear_error(tmp_path: Path):
    saved(tmp_path / "x.npy", np.zeros(3))
    printed = run_child(FULL, tmp_path / "x.npy")
    assert "Too few file descriptors" in printed
    assert "ulimit -n" in printed
    assert "x.npy" in printed


FULL = """
from jask.stores.open import open_store
resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
try:
    open_store(sys.argv[1])
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": (-4,)},
        {"shape": (2**40, 2**40)},
        {"shape": (1,) * 65},
        {"shape": 4.0},
        {"dtype": "O"},
        {"dtype": None},
        {"offset": -8},
    ],
    ids=str,
)
def test_wrong_facts_of_a_raw_file_name_it(wrong: dict[str, Any], tmp_path: Path):
    (tmp_path / "x.raw").write_bytes(bytes(32))
    facts: dict[str, Any] = {"dtype": "f8", "shape": (4,), "offset": 0} | wrong
    with pytest.raises((TypeError, ValueError), match=r"x\.raw"):
        open_store(tmp_path / "x.raw", **facts)
