"""Scratch files live as long as their stores, within a limit, and survive nobody."""

import errno
import gc
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jask.errors import ScratchFullError
from jask.geometry.box import Box
from jask.stores.scratch import create_scratch, scratch_in_use
from jask.testing.stores import read_all
from tests.stores.children import child


def files(directory: Path) -> list[Path]:
    """Return the scratch files under a directory."""
    return [p for p in directory.rglob("*") if p.is_file() and p.name != "lock"]


def test_the_directory_is_private_and_named_after_the_process(tmp_path: Path):
    assert not list(tmp_path.iterdir())
    store = create_scratch((3,), "f8", directory=tmp_path)
    assert store.path is not None
    (made,) = tmp_path.iterdir()
    assert store.path.parent == made
    assert made.name.startswith(f"jask-{os.getpid()}-")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


@pytest.mark.parametrize("end", ["close", "forget"])
def test_a_file_goes_with_its_store(end: str, tmp_path: Path):
    before = scratch_in_use()
    store = create_scratch((1000,), "f8", directory=tmp_path)
    assert len(files(tmp_path)) == 1
    assert scratch_in_use() == before + 8000
    if end == "close":
        store.close()
        store.close()
    else:
        del store
        gc.collect()
    assert files(tmp_path) == []
    assert scratch_in_use() == before


def test_the_limit_is_kept_and_named(tmp_path: Path):
    limit = scratch_in_use() + 10_000
    store = create_scratch((1000,), "f8", directory=tmp_path, limit=limit)
    with pytest.raises(ScratchFullError, match="scratch_limit") as caught:
        create_scratch((1000,), "f8", directory=tmp_path, limit=limit)
    for number in (limit, limit - 2000, 8000):
        assert f"{number} " in str(caught.value)
    assert caught.value.errno == errno.ENOSPC
    assert len(files(tmp_path)) == 1
    store.close()
    create_scratch((1000,), "f8", directory=tmp_path, limit=limit)


def test_what_does_not_fit_the_disk_is_refused_at_once(tmp_path: Path):
    before = scratch_in_use()
    found = os.statvfs(tmp_path)
    nbytes = found.f_blocks * found.f_frsize * 2
    with pytest.raises(ScratchFullError, match=r"scratch_dir=\.\.\.") as caught:
        create_scratch((nbytes,), "u1", directory=tmp_path)
    assert str(nbytes) in str(caught.value)
    assert files(tmp_path) == []
    assert scratch_in_use() == before


def test_a_disk_that_fills_up_while_writing_is_a_full_scratch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = create_scratch((1000,), "f8", directory=tmp_path)

    def refuse(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwritev", refuse)
    with pytest.raises(ScratchFullError, match="8000 bytes of scratch"):
        store.write(Box((0,), (1000,)), np.zeros(1000))


def test_a_missing_directory_is_named(tmp_path: Path):
    before = scratch_in_use()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        create_scratch((3,), "f8", directory=tmp_path / "nowhere")
    assert scratch_in_use() == before


def test_the_directory_may_vanish_between_two_files(tmp_path: Path):
    first = create_scratch((3,), "f8", directory=tmp_path)
    assert first.path is not None
    first.path.unlink()
    (first.path.parent / "lock").unlink()
    first.path.parent.rmdir()
    second = create_scratch((3,), "f8", directory=tmp_path)
    second.write(Box((0,), (3,)), np.arange(3.0))
    assert read_all(second).tolist() == [0, 1, 2]


USER = """
from jask.stores.scratch import create_scratch
store = create_scratch((1000,), "f8", directory=Path(sys.argv[1]))
print("ready", flush=True)
"""


@pytest.mark.parametrize("then", ["sys.exit()", "1 / 0"])
def test_the_end_of_a_process_leaves_nothing(then: str, tmp_path: Path):
    with child(USER + then, tmp_path) as process:
        process.wait(60)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path):
    with child(USER + "time.sleep(60)", tmp_path) as process:
        process.kill()
    (left,) = tmp_path.iterdir()
    assert len(files(tmp_path)) == 1
    create_scratch((3,), "f8", directory=tmp_path)
    assert not left.exists()


def test_what_a_living_process_uses_is_left_alone(tmp_path: Path):
    with child(USER + "time.sleep(60)", tmp_path):
        create_scratch((3,), "f8", directory=tmp_path)
        assert len(list(tmp_path.iterdir())) == 2


def test_a_forked_child_has_its_own_directory(tmp_path: Path):
    then = """
pid = os.fork()
if pid == 0:
    own = create_scratch((3,), "f8", directory=Path(sys.argv[1]))
    assert own.path.parent != store.path.parent
    del store
    sys.exit()
assert os.waitpid(pid, 0)[1] == 0
assert store.path.exists()
"""
    with child(USER + then, tmp_path) as process:
        assert process.wait(60) == 0
    assert list(tmp_path.iterdir()) == []


def test_directories_that_are_not_ours_are_left_alone(tmp_path: Path):
    now = time.time()
    for name in ("jask-notes", "jask-1-2-3-link", "jask-1-2-3-new", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "jask-1-2-3-link").rmdir()
    (tmp_path / "jask-1-2-3-link").symlink_to(tmp_path / "other")
    (tmp_path / "jask-1-2-3-old").mkdir()
    os.utime(tmp_path / "jask-1-2-3-old", (now - 3600, now - 3600))
    store = create_scratch((3,), "f8", directory=tmp_path)
    assert store.path is not None
    left = {p.name for p in tmp_path.iterdir()} - {store.path.parent.name}
    assert left == {"jask-notes", "jask-1-2-3-link", "jask-1-2-3-new", "other"}


def test_a_scratch_folder_that_cannot_be_written_is_named_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(**_: Any) -> str:
        raise PermissionError(errno.EACCES, "Permission denied", "some temporary name")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)  # root may write everywhere
    with pytest.raises(PermissionError, match="choose another `scratch_dir`") as caught:
        create_scratch((4,), "f8", directory=tmp_path)
    assert caught.value.filename == str(tmp_path)
