"""The heap is trimmed when it has grown beyond what is allowed, not before."""

from math import inf

import pytest

from jask.execute import heap


@pytest.mark.parametrize(("grown", "trims"), [(999, 0), (1001, 1)])
def test_growth_beyond_what_is_allowed_is_trimmed_for_once(
    monkeypatch: pytest.MonkeyPatch, grown: int, trims: int
):
    calls: list[int] = []
    sizes = [5000]
    monkeypatch.setattr(heap, "anonymous_bytes", lambda: sizes[-1])
    monkeypatch.setattr(heap, "_trim", lambda: calls.append)
    monkeypatch.setattr(heap.HeapGuard, "floor", inf)
    guard = heap.HeapGuard(1000)
    sizes.append(5000 + grown)
    for _ in range(2 * heap.CHECK_EVERY):
        guard.step()
    assert len(calls) == trims


def test_what_grows_beyond_what_a_trim_left_is_trimmed_for_again(
    monkeypatch: pytest.MonkeyPatch,
):
    calls: list[int] = []
    size = [5000 + 1001]
    monkeypatch.setattr(heap, "anonymous_bytes", lambda: size[0])
    monkeypatch.setattr(heap, "_trim", lambda: lambda _: calls.append(size[0]))
    monkeypatch.setattr(heap.HeapGuard, "floor", inf)
    guard = heap.HeapGuard(1000)
    guard._limit = 6000
    for grown in (0, heap.SLACK, 1, heap.SLACK):
        size[0] += grown
        for _ in range(heap.CHECK_EVERY):
            guard.step()
    assert calls == [6001, 6001 + heap.SLACK + 1]


def test_between_passes_the_heap_is_trimmed_when_memory_has_grown(
    monkeypatch: pytest.MonkeyPatch,
):
    calls: list[int] = []
    size = [0]
    monkeypatch.setattr(heap, "anonymous_bytes", lambda: size[0])
    monkeypatch.setattr(heap, "_trim", lambda: lambda _: calls.append(size[0]))
    monkeypatch.setattr(heap.HeapGuard, "floor", inf)
    with heap.HeapGuard(1 << 40) as guard:
        for size[0] in (heap.KEPT, heap.KEPT + 1, heap.KEPT + 2, 3 * heap.KEPT):
            guard.rest()
    assert calls == [heap.KEPT + 1, 3 * heap.KEPT]


def test_this_process_has_memory_that_no_file_backs():
    before = heap.anonymous_bytes()
    block = bytearray(b"1") * (64 << 20)
    assert heap.anonymous_bytes() - before > 32 << 20
    assert len(block) == 64 << 20


def test_what_piles_up_over_evaluations_is_trimmed(monkeypatch: pytest.MonkeyPatch):
    size, trims = [0], []

    def trim(_: int) -> None:
        trims.append(size[0])
        size[0] -= heap.KEPT

    monkeypatch.setattr(heap, "anonymous_bytes", lambda: size[0])
    monkeypatch.setattr(heap, "_trim", lambda: trim)
    monkeypatch.setattr(heap.HeapGuard, "floor", inf)
    part = heap.KEPT // 4
    for _ in range(10):  # each leaves too little to be trimmed for
        with heap.HeapGuard(1 << 40):
            size[0] += part
    assert trims == [5 * part, 6 * part]


def test_memory_that_stays_in_use_is_trimmed_for_once(monkeypatch: pytest.MonkeyPatch):
    size: list[int] = [0]
    trims: list[int] = []
    monkeypatch.setattr(heap, "anonymous_bytes", lambda: size[0])
    monkeypatch.setattr(heap, "_trim", lambda: trims.append)
    monkeypatch.setattr(heap.HeapGuard, "floor", inf)
    for grown in (2 * heap.KEPT, 0, 0, 0):
        with heap.HeapGuard(1 << 40):
            size[0] += grown
    assert trims == [0]
