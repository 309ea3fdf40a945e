"""Traffic is counted exactly, and boxes move in few calls."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from jask.geometry.box import Box
from jask.stores.memory import MemoryStore
from jask.stores.raw import RawStore, open_raw
from jask.stores.scratch import create_scratch
from jask.stores.traffic import Traffic, snapshot
from jask.testing.stores import read_all

KIB = 1024


def raw(directory: Path, rows: int, row_bytes: int) -> RawStore:
    path = directory / "x"
    path.write_bytes(bytes(rows * row_bytes))
    return open_raw(path, (rows, row_bytes), "u1")


def reading(store: RawStore, box: Box) -> Traffic:
    before = snapshot()
    store.read(box, np.empty(box.shape, store.dtype))
    return snapshot() - before


def test_a_contiguous_box_is_one_call(tmp_path: Path):
    store = raw(tmp_path, 64, 64 * KIB)
    assert reading(store, Box((1, 0), (33, 64 * KIB))) == Traffic(2048 * KIB, 1)


def test_runs_that_lie_far_apart_are_read_without_the_gaps(tmp_path: Path):
    store = raw(tmp_path, 64, 64 * KIB)
    assert reading(store, Box((1, 0), (33, 4 * KIB))) == Traffic(128 * KIB, 32)


def test_runs_that_lie_close_are_read_with_the_gaps(tmp_path: Path):
    store = raw(tmp_path, 64, KIB)
    assert reading(store, Box((1, 100), (33, 200))) == Traffic(31 * KIB + 100, 1)


def test_an_empty_box_and_memory_cost_nothing(tmp_path: Path):
    store = raw(tmp_path, 4, KIB)
    assert reading(store, Box((1, 5), (1, 9))) == Traffic()
    before = snapshot()
    read_all(MemoryStore(np.zeros(3)))
    assert snapshot() == before


def test_writing_counts_the_bytes_of_the_box():
    store = create_scratch((64, 64 * KIB), "u1")
    before = snapshot()
    store.write(Box((0, 0), (8, 64 * KIB)), np.zeros((8, 64 * KIB), "u1"))
    assert snapshot() - before == Traffic(0, 0, 512 * KIB, 1)
    before = snapshot()
    store.write(Box((0, 0), (8, 40 * KIB)), np.zeros((8, 40 * KIB), "u1"))
    assert snapshot() - before == Traffic(0, 0, 320 * KIB, 8)
    before = snapshot()
    store.write(Box((0, 0), (8, 4 * KIB)), np.zeros((8, 4 * KIB), "u1"))
    assert snapshot() - before == Traffic(0, 0, 32 * KIB, 1)


def test_threads_lose_no_count(tmp_path: Path):
    store = raw(tmp_path, 64, KIB)
    before = snapshot()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: read_all(store), range(200)))
    assert snapshot() - before == Traffic(200 * 64 * KIB, 200)


@pytest.mark.parametrize("box", [Box((0, 0), (64, 9)), Box((3, 3), (3, 3))], ids=repr)
def test_a_hint_moves_nothing(box: Box, tmp_path: Path):
    store = raw(tmp_path, 64, KIB)
    before = snapshot()
    store.prefetch(box)
    assert snapshot() == before


def test_a_hint_is_given_for_bytes_that_lie_together_and_were_read_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store = raw(tmp_path, 1024, KIB)
    whole = Box((0, 0), (1024, KIB))
    hints = []
    monkeypatch.setattr(os, "posix_fadvise", lambda *hint: hints.append(hint[1:3]))
    store.prefetch(Box((1, 0), (3, KIB)))
    store.prefetch(Box((0, 0), (1024, KIB // 4)))
    assert hints == [(KIB, 2 * KIB)]
    clock = iter([0, 10**9, 0, 10**4])
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(clock))
    read_all(store)  # a second
    store.prefetch(whole)
    assert len(hints) == 2
    read_all(store)  # ten microseconds
    store.prefetch(whole)
    assert len(hints) == 2
