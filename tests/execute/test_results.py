"""Sources and sinks of an evaluation: what is released, what an error removes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import jask
from jask.config import current
from jask.errors import SourceChangedError
from jask.execute.results import Gathered, InMemory, Results, ToFile, ToScratch
from jask.execute.run import prepare
from jask.geometry.box import Box
from jask.stores.open import open_store
from jask.stores.scratch import scratch_in_use
from jask.trace.build import structure
from jask.trace.graph import Source
from tests.plan.programs import call

X = np.random.default_rng(0).standard_normal((300, 40)).astype("f4")


@pytest.fixture(autouse=True)
def settings(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "scratch").mkdir()
    with jask.config(scratch_dir=tmp_path / "scratch", memory_budget=100_000):
        yield


def disk(folder: Path) -> Source:
    np.save(folder / "x.npy", X)
    store = open_store(folder / "x.npy").store
    return Source(store.shape, store.dtype, store)


def opened(fn: Any, node: Source, *destinations: Any) -> tuple[Any, Results]:
    nodes = call(fn, node)
    ready = prepare(nodes, destinations)
    wanted = list(zip(nodes, destinations, strict=True))
    return ready, Results(ready, structure(nodes).leaves, wanted, current())


def files(folder: Path) -> list[str]:
    found = (p.name for p in folder.rglob("*") if p.is_file())
    return sorted(n for n in found if n != "lock")


def test_a_result_in_memory_is_written_and_read_by_boxes():
    gathered = Gathered((4, 6), np.dtype("f4"))
    for k in range(4):
        gathered.write(Box((k, 0), (k + 1, 6)), X[k : k + 1, :6])
    buffer = np.empty((2, 3), "f4")
    gathered.read(Box((1, 2), (3, 5)), buffer)
    np.testing.assert_array_equal(buffer, X[1:3, 2:5])


def test_each_destination_gets_its_kind_of_sink(tmp_path: Path):
    to = (InMemory(), ToFile(tmp_path / "out.npy"), ToScratch())
    ready, results = opened(lambda x: (x[0], x + 1, x * 2), disk(tmp_path), *to)
    with results:
        for p in ready.passes:
            for var, sinks in results.sinks(p.p).items():
                for sink in sinks:
                    sink.write(Box.whole(var.shape), np.ones(var.shape, var.dtype))
        assert not (tmp_path / "out.npy").exists()
        array, saved, scratch = results.finish()
    np.testing.assert_array_equal(array, np.ones(40))
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), np.ones((300, 40)))
    assert saved.path == tmp_path / "out.npy"
    assert scratch.path.is_relative_to(tmp_path / "scratch")


def test_an_error_removes_what_was_begun(tmp_path: Path):
    before = scratch_in_use()
    to = (ToFile(tmp_path / "out.npy"), ToScratch())
    _, results = opened(lambda x: (x + 1, x * 2), disk(tmp_path), *to)
    assert len(files(tmp_path)) == 3
    with pytest.raises(KeyError), results:
        raise KeyError
    assert files(tmp_path) == ["x.npy"]
    assert scratch_in_use() == before


def test_a_destination_that_cannot_be_made_removes_those_before_it(tmp_path: Path):
    to = (ToFile(tmp_path / "out.npy"), ToFile(tmp_path / "nowhere" / "out.npy"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        opened(lambda x: (x + 1, x * 2), disk(tmp_path), *to)
    assert files(tmp_path) == ["x.npy"]


def test_what_only_later_passes_read_goes_with_the_last_of_them(tmp_path: Path):
    """The sums are too large to stay in memory between the two passes."""
    before = scratch_in_use()
    ready, results = opened(
        lambda x: jnp.cumsum(x @ x.T, 0) @ x, disk(tmp_path), InMemory()
    )
    assert len(ready.passes) == 2
    with results:
        results.sinks(ready.passes[0].p)
        assert scratch_in_use() - before == 300 * 300 * 4
        results.release(0)
        assert scratch_in_use() > before
        results.sinks(ready.passes[1].p)
        results.release(1)
        assert scratch_in_use() == before


def test_a_result_that_is_known_is_written_at_once(tmp_path: Path):
    def sevens(x: Any) -> Any:
        return jnp.full((3,), 7.0, x.dtype)

    ready, results = opened(sevens, disk(tmp_path), InMemory())
    with results:
        for p in ready.passes:
            for var, sinks in results.sinks(p.p).items():
                for sink in sinks:
                    sink.write(Box.whole(var.shape), np.full(var.shape, 7, var.dtype))
        (array,) = results.finish()
    np.testing.assert_array_equal(array, [7, 7, 7])


def test_a_source_that_changes_gives_no_result(tmp_path: Path):
    node = disk(tmp_path)
    _, results = opened(lambda x: x + 1, node, ToFile(tmp_path / "out.npy"))
    with (tmp_path / "x.npy").open("ab") as file:
        file.write(b"more")
    with pytest.raises(SourceChangedError), results:
        results.finish()
    assert files(tmp_path) == ["x.npy"]
    with pytest.raises(SourceChangedError):
        opened(lambda x: x + 1, node, ToFile(tmp_path / "out.npy"))
    assert files(tmp_path) == ["x.npy"]
