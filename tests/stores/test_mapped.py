"""A read-only mapping of a file is an operand that is not copied."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.errors import MemoryBudgetError
from jask.stores import traffic
from jask.stores.mapped import is_lent, require_small

X = np.random.default_rng(0).standard_normal((5000, 16))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.npy"
    np.save(path, X)
    return path


USES: dict[str, Any] = {
    "from_numpy": jask.from_numpy,
    "asarray": jnp.asarray,
    "an operator": lambda m: jask.from_numpy(np.float64(1)) * m,
    "a function": jnp.exp,
    "a lifted function": jnp.nan_to_num,
    "a join": lambda m: jnp.concat([m, m]),
    "a part": lambda m: jnp.abs(m[100:4000]),
}


@pytest.mark.parametrize("name", USES)
def test_nothing_is_read_before_it_is_asked_for(path: Path, name: str):
    mapped = np.load(path, mmap_mode="r")
    with jask.config(memory_budget=300_000):  # less than half of the file
        before = traffic.snapshot().bytes_read
        lazy = USES[name](mapped)
        assert traffic.snapshot().bytes_read == before
        total = float(jnp.sum(lazy))
    expected = np.sum(np.asarray(jask.materialize(USES[name](jask.from_numpy(X)))))
    assert total == pytest.approx(expected, rel=1e-12)
    assert traffic.snapshot().bytes_read > before


def test_a_whole_file_has_its_name_and_a_part_has_none(path: Path):
    mapped = np.load(path, mmap_mode="r")
    assert jnp.asarray(mapped).filename == str(path)
    assert jnp.asarray(mapped[1:]).filename is None
    assert repr(jnp.asarray(mapped[1:])) == (
        "DiskArray(shape=(4999, 16), dtype=float64, mapped)"
    )
    assert np.array_equal(jnp.asarray(mapped[1:]).to_memmap(), X[1:])


def test_the_other_byte_order_is_turned(tmp_path: Path):
    np.save(tmp_path / "x.npy", X.astype(">f8"))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert jnp.asarray(mapped).dtype == np.float64
    assert np.array_equal(jask.materialize(jnp.asarray(mapped)), X)


@pytest.mark.parametrize("mode", ["r+", "c"])
def test_what_may_change_is_copied_if_it_is_small(path: Path, mode: Any):
    mapped = np.load(path, mmap_mode=mode)
    array = jnp.asarray(mapped)
    mapped[0, 0] = 7
    assert float(array[0, 0]) == X[0, 0]


@pytest.mark.parametrize("use", [jask.from_numpy, jnp.asarray, jnp.exp])
def test_what_must_be_copied_and_is_large_is_refused(path: Path, use: Any):
    with jask.config(memory_budget=300_000):
        for array in (np.load(path, mmap_mode="r+"), np.load(path, mmap_mode="r").T):
            assert not is_lent(array)
            with pytest.raises(MemoryBudgetError, match=r"640000 bytes.*jask\.open"):
                use(array)


def test_what_is_in_memory_already_is_taken():
    require_small(X, 8)
    with jask.config(memory_budget=300_000):
        assert jask.from_numpy(X).shape == X.shape
