"""The heap is trimmed when it has grown beyond what is allowed, not before."""

import pytest

from jask.execute import heap


@pytest.mark.parametrize(("grown", "trims"), [(999, 0), (1001, 2)])
def test_growth_beyond_what_is_allowed_trims_at_every_look(
    monkeypatch: pytest.MonkeyPatch, grown: int, trims: int
):
    calls: list[int] = []
    sizes = [5000]
    monkeypatch.setattr(heap, "anonymous_bytes", lambda: sizes[-1])
    monkeypatch.setattr(heap, "_trim", lambda: calls.append)
    guard = heap.HeapGuard(1000)
    sizes.append(5000 + grown)
    for _ in range(2 * heap.CHECK_EVERY):
        guard.step()
    assert len(calls) == trims


def test_this_process_has_memory_that_no_file_backs():
    before = heap.anonymous_bytes()
    block = bytearray(b"1") * (64 << 20)
    assert heap.anonymous_bytes() - before > 32 << 20
    assert len(block) == 64 << 20
