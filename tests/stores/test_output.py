"""Output files appear whole or not at all, whatever happens in between."""

import contextlib
import errno
import gc
import os
import resource
import signal
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jask.errors import FileFormatError
from jask.geometry.box import Box
from jask.stores import output as output_module
from jask.stores.open import open_store
from jask.stores.output import OutputStore, create_output
from jask.stores.scratch import create_scratch
from jask.testing.stores import FailingStore, read_all
from tests.stores.children import child, run_child

WHOLE = Box((0,), (4,))


def written(path: Path) -> OutputStore:
    output = create_output(path, (4,), "f8")
    output.write(WHOLE, np.arange(4.0))
    return output


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def create_scratch_beside(path: Path, shape: tuple[int, ...], dtype: Any) -> Any:
    return create_scratch(shape, dtype, directory=path.parent)


def open_saved(path: Path, value: float) -> Any:
    np.save(path, np.full(3, value))
    return open_store(path).store


@contextlib.contextmanager
def all_descriptors_taken() -> Iterator[None]:
    """Leave this process no descriptor but those that stores hold and can close."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = max(int(n) for n in os.listdir("/proc/self/fd")) + 4  # noqa: PTH208 (names are enough)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
    taken = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        yield
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_file_is_what_numpy_would_write(tmp_path: Path):
    array = np.random.default_rng(0).standard_normal((30, 40)).astype("f4")
    output = create_output(tmp_path / "x.npy", array.shape, array.dtype)
    output.write(Box.whole(array.shape), array)
    output.commit()
    np.save(tmp_path / "right.npy", array)
    assert (tmp_path / "x.npy").read_bytes() == (tmp_path / "right.npy").read_bytes()


def test_nothing_has_the_name_before_the_commit(tmp_path: Path):
    output = written(tmp_path / "x.npy")
    assert not (tmp_path / "x.npy").exists()
    output.commit()
    assert names(tmp_path) == ["x.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.arange(4.0))


@pytest.mark.parametrize("durable", [False, True])
def test_the_committed_store_reads_the_file(durable: bool, tmp_path: Path):
    store = written(tmp_path / "x.npy").commit(durable=durable)
    assert store.path == tmp_path / "x.npy"
    store.check()
    np.testing.assert_array_equal(read_all(store), np.arange(4.0))
    with pytest.raises(PermissionError):
        store.write(WHOLE, np.zeros(4))


def test_the_committed_store_sees_later_changes(tmp_path: Path):
    store = written(tmp_path / "x.npy").commit()
    with (tmp_path / "x.npy").open("ab") as file:
        file.write(b"more")
    with pytest.raises(OSError, match="must not change"):
        store.check()


@pytest.mark.parametrize("end", ["abort", "close", "forget"])
def test_without_a_commit_the_old_file_stays(end: str, tmp_path: Path):
    np.save(tmp_path / "x.npy", np.ones(2))
    output = written(tmp_path / "x.npy")
    if end == "forget":
        del output
        gc.collect()
    else:
        getattr(output, end)()
    assert names(tmp_path) == ["x.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.ones(2))


def test_whoever_has_the_old_file_open_goes_on_reading_it(tmp_path: Path):
    np.save(tmp_path / "x.npy", np.ones(4))
    old = open_store(tmp_path / "x.npy").store
    new = written(tmp_path / "x.npy").commit()
    old.check()
    np.testing.assert_array_equal(read_all(old), np.ones(4))
    np.testing.assert_array_equal(read_all(new), np.arange(4.0))


def test_two_outputs_of_one_name_do_not_meet(tmp_path: Path):
    first, second = written(tmp_path / "x.npy"), written(tmp_path / "x.npy")
    second.write(WHOLE, np.ones(4))
    second.commit()
    first.commit()
    assert names(tmp_path) == ["x.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.arange(4.0))


def test_a_symbolic_link_stays_a_link(tmp_path: Path):
    (tmp_path / "real").mkdir()
    np.save(tmp_path / "real" / "x.npy", np.zeros(3))
    link = tmp_path / "x.npy"
    link.symlink_to(Path("real") / "x.npy")
    written(link).commit()
    assert link.is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "real" / "x.npy"), np.arange(4.0))
    assert names(tmp_path / "real") == ["x.npy"]


def test_a_link_to_nothing_makes_the_file_that_it_names(tmp_path: Path):
    (tmp_path / "link.npy").symlink_to("x.npy")
    written(tmp_path / "link.npy").commit()
    assert (tmp_path / "link.npy").is_symlink()
    assert not (tmp_path / "x.npy").is_symlink()
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.arange(4.0))


def test_a_link_to_itself_is_refused(tmp_path: Path):
    (tmp_path / "x.npy").symlink_to("x.npy")
    with pytest.raises(OSError, match=r"x\.npy"):
        create_output(tmp_path / "x.npy", (4,), "f8")
    assert (tmp_path / "x.npy").is_symlink()


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask() -> Iterator[None]:
    old = os.umask(0o027)
    yield
    os.umask(old)


@pytest.mark.usefixtures("umask")
def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path):
    written(tmp_path / "x.npy").commit()
    assert mode_of(tmp_path / "x.npy") == 0o640


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path):
    np.save(tmp_path / "x.npy", np.zeros(3))
    (tmp_path / "x.npy").chmod(0o604)
    written(tmp_path / "x.npy").commit()
    assert mode_of(tmp_path / "x.npy") == 0o604


def test_a_missing_directory_is_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"no such directory.*nowhere"):
        create_output(tmp_path / "nowhere" / "x.npy", (4,), "f8")


def test_a_directory_is_not_replaced(tmp_path: Path):
    (tmp_path / "x.npy").mkdir()
    with pytest.raises(IsADirectoryError, match=r"x\.npy"):
        create_output(tmp_path / "x.npy", (4,), "f8")
    assert names(tmp_path) == ["x.npy"]


def test_a_pipe_is_not_replaced(tmp_path: Path):
    os.mkfifo(tmp_path / "x.npy")
    with pytest.raises(FileFormatError, match=r"regular file.*x\.npy"):
        create_output(tmp_path / "x.npy", (4,), "f8")


@pytest.mark.parametrize("length", [170, 180, 255])
def test_a_name_as_long_as_possible_is_possible(length: int, tmp_path: Path):
    path = tmp_path / ("x" * (length - 4) + ".npy")
    written(path).commit()
    assert names(tmp_path) == [path.name]


def test_a_name_with_other_scripts_and_patterns_is_possible(tmp_path: Path):
    path = tmp_path / ("数" * 60 + "[*]?.npy")
    written(path).commit()
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("dtype", ["O", "U3", "M8[s]", [("a", "f8")]], ids=str)
def test_a_type_that_jax_has_not_is_refused(dtype: Any, tmp_path: Path):
    with pytest.raises(TypeError, match="dtype must be"):
        create_output(tmp_path / "x.npy", (4,), dtype)
    assert names(tmp_path) == []


# ---------------------------------------------------------------------- full disks


def test_a_file_that_does_not_fit_the_disk_is_refused_at_once(tmp_path: Path):
    found = os.statvfs(tmp_path)
    nbytes = found.f_blocks * found.f_frsize * 2
    with pytest.raises(OSError, match=r"needs \d+ bytes; \d+ are free.*x\.npy"):
        create_output(tmp_path / "x.npy", (nbytes,), "u1")
    assert names(tmp_path) == []


def test_a_disk_that_fills_up_leaves_nothing(tmp_path: Path):
    np.save(tmp_path / "x.npy", np.ones(2))
    output = create_output(tmp_path / "x.npy", (4,), "f8")
    failing = FailingStore(output, OSError(errno.ENOSPC, "full"), writes=1)
    failing.write(WHOLE, np.zeros(4))
    with pytest.raises(OSError, match="full"):
        failing.write(WHOLE, np.zeros(4))
    failing.close()
    assert names(tmp_path) == ["x.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.ones(2))


def test_a_failed_rename_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    output = written(tmp_path / "x.npy")

    def refuse(*_: Any) -> None:
        raise OSError(errno.EIO, "no")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="no"):
        output.commit()
    output.abort()
    assert names(tmp_path) == []


def test_without_allocation_the_file_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, "no")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    array = np.arange(3000.0).reshape(30, 100)
    output = create_output(tmp_path / "x.npy", array.shape, "f8")
    for start in (0, 50):
        box = Box((0, start), (30, start + 50))
        output.write(box, array[box.slices])
    output.commit()
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), array)


# ------------------------------------------------------------------ killed processes

WRITER = """
from jask.stores.output import create_output
output = create_output(sys.argv[1], (1000, 1000), "f8")
output.write(Box((0, 0), (500, 1000)), np.ones((500, 1000)))
print("ready", flush=True)
"""


def test_a_killed_writer_leaves_the_old_file_and_the_next_one_cleans_up(
    tmp_path: Path,
):
    path = tmp_path / "x.npy"
    np.save(path, np.ones(2))
    with child(WRITER + "time.sleep(60)", path) as process:
        process.kill()
    np.testing.assert_array_equal(np.load(path), np.ones(2))
    assert len(names(tmp_path)) == 2
    (tmp_path / ".other.npy.1-1-1.jask-tmp").touch()
    written(path).commit()
    assert names(tmp_path) == [".other.npy.1-1-1.jask-tmp", "x.npy"]


def test_a_living_writer_is_left_alone(tmp_path: Path):
    path = tmp_path / "x.npy"
    with child(WRITER + "time.sleep(60)", path):
        written(path).commit()
        assert len(names(tmp_path)) == 2


@pytest.mark.parametrize("then", ["sys.exit()", "1 / 0"])
def test_a_writer_that_ends_early_leaves_nothing(then: str, tmp_path: Path):
    with child(WRITER + then, tmp_path / "x.npy") as process:
        process.wait(60)
    assert names(tmp_path) == []


def test_an_interrupted_writer_leaves_nothing(tmp_path: Path):
    with child(WRITER + "time.sleep(60)", tmp_path / "x.npy") as process:
        process.send_signal(signal.SIGINT)
        process.wait(60)
    assert names(tmp_path) == []


def test_a_forked_child_removes_nothing_of_its_parent(tmp_path: Path):
    then = """
pid = os.fork()
if pid == 0:
    del output
    sys.exit()
os.waitpid(pid, 0)
output.write(Box((500, 0), (1000, 1000)), np.ones((500, 1000)))
output.commit()
"""
    with child(WRITER + then, tmp_path / "x.npy") as process:
        process.wait(60)
    assert names(tmp_path) == ["x.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), np.ones((1000, 1000)))


def test_the_module_says_how_its_temporary_files_are_called(tmp_path: Path):
    output = written(tmp_path / "x.npy")
    (name,) = names(tmp_path)
    assert name.startswith(f".x.npy.{os.getpid()}-")
    assert name.endswith(output_module._SUFFIX)
    output.abort()


@pytest.mark.parametrize("make", [create_output, create_scratch_beside])
def test_a_file_is_made_though_all_descriptors_are_taken(
    make: Callable[..., Any], tmp_path: Path
):
    read = [open_saved(tmp_path / f"{k}.npy", k) for k in range(8)]
    with all_descriptors_taken():
        store = make(tmp_path / "x.npy", (4,), "f8")
        store.write(WHOLE, np.arange(4.0))
        np.testing.assert_array_equal(read_all(store), np.arange(4.0))
        del store
    assert [read_all(store)[0] for store in read] == list(range(8))


@pytest.mark.parametrize("make", [create_output, create_scratch_beside])
def test_too_few_descriptors_names_file_and_remedy(
    make: Callable[..., Any], tmp_path: Path
):
    with all_descriptors_taken(), pytest.raises(OSError, match="ulimit -n") as caught:
        make(tmp_path / "x.npy", (4,), "f8")
    assert str(tmp_path) in str(caught.value)
    assert not [n for n in names(tmp_path) if n.endswith((".npy", ".jask-tmp"))]


LARGE = """
from jask.stores.output import create_output
from jask.stores.scratch import create_scratch

resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
folder = Path(sys.argv[1])
for make in (
    lambda: create_output(folder / "x.npy", (2000,), "f8"),
    lambda: create_scratch((2000,), "f8", directory=folder),
):
    try:
        make()
    except OSError as error:
        print(error)
print([p.name for p in folder.rglob("*") if p.is_file()])
"""


def test_a_limit_on_the_size_of_files_is_named(tmp_path: Path):
    output, scratch, left = run_child(LARGE, tmp_path).splitlines()
    assert "16128 bytes must be allowed" in output
    assert "16000 bytes must be allowed" in scratch
    assert "ulimit -f" in output
    assert "ulimit -f" in scratch
    assert left == "['lock']"


SAVER = """
from jask.stores.output import create_output

print("ready", flush=True)
value = float(sys.argv[2])
while not os.path.exists(sys.argv[3]):
    output = create_output(sys.argv[1], (1000,), "f8")
    for k in range(10):
        part = Box((100 * k,), (100 * k + 100,))
        output.write(part, np.full(100, value))
    output.commit()
"""


def test_processes_that_save_to_one_name_never_mix(tmp_path: Path):
    path, stop = tmp_path / "x.npy", tmp_path / "stop"
    seen: set[float] = set()
    with (
        child(SAVER, path, Path("1"), stop) as one,
        child(SAVER, path, Path("2"), stop) as two,
    ):
        for _ in range(300):
            if path.exists():
                (value,) = np.unique(np.load(path))
                seen.add(float(value))
        while len(seen) < 2:
            seen.update(np.load(path)[:1].tolist())
        stop.touch()
        assert (one.wait(60), two.wait(60)) == (0, 0)
    stop.unlink()
    assert names(tmp_path) == ["x.npy"]


def test_a_folder_that_cannot_be_written_is_named_with_the_destination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(path: Any, *_: Any) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr("jask.stores.output.FileIO", refuse)  # root may write anywhere
    with pytest.raises(PermissionError, match=r"made beside it.*x\.npy'$") as caught:
        create_output(tmp_path / "x.npy", (4,), "f8")
    assert caught.value.filename == str(tmp_path / "x.npy")
