"""DiskArray: facts without reading, conversions, persistence, files."""

import copy
import gc
import operator
import pickle
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
from jask.errors import FileFormatError, MemoryBudgetError
from jask.trace.counters import COUNTERS
from jask.trace.graph import Source

A = np.arange(6, dtype="float32").reshape(2, 3)


def store(x: jask.DiskArray) -> Any:
    assert isinstance(x.node, Source)
    return x.node.store


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "a.raw"
    A.tofile(path)
    return path


@pytest.fixture
def lazy():
    return jask.from_numpy(A) * np.float32(2)


def test_a_raw_file_is_an_array(raw):
    x = jask.DiskArray(raw, (2, 3), "float32")
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes) == ((2, 3), A.dtype, 2, 6, 24)
    assert x.filename == str(raw)
    np.testing.assert_array_equal(x, A)
    np.testing.assert_array_equal(jask.DiskArray(str(raw), 6, "float32"), A.ravel())


def test_a_raw_file_that_is_too_short_is_refused(raw):
    with pytest.raises(FileFormatError, match=r"a\.raw"):
        jask.DiskArray(raw, (2, 4), "float32")


def test_showing_an_array_reads_nothing(raw, lazy, monkeypatch):
    def read(*_):
        raise AssertionError("read")

    x = jask.DiskArray(raw, (2, 3), "float32")
    monkeypatch.setattr(type(store(x)), "read", read)
    assert repr(x) == f"DiskArray(shape=(2, 3), dtype=float32, file={str(raw)!r})"
    assert repr(x + x) == "DiskArray(shape=(2, 3), dtype=float32, lazy)"
    assert "in memory" in repr(jask.from_numpy(A))


def test_from_numpy_copies():
    a = A.copy()
    x, y = jask.from_numpy(a), jask.DiskArray.from_numpy(a)
    a[:] = -1
    np.testing.assert_array_equal(x, A)
    np.testing.assert_array_equal(y, A)
    assert x.filename is None


@pytest.mark.parametrize("values", [["a"], [None], np.zeros(2, "M8[s]")], ids=repr)
def test_from_numpy_takes_numbers_only(values):
    with pytest.raises(TypeError, match="numeric"):
        jask.from_numpy(values)


def test_numpy_gets_values_with_the_dtype_it_asks_for(lazy):
    got = np.asarray(lazy, "float64")
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, 2 * A)
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(lazy, copy=False)


def test_what_does_not_fit_the_budget_is_not_converted(lazy):
    big = jask.numpy.broadcast_to(lazy, (1000, 2, 3))
    with jask.config(memory_budget="20kB"), pytest.raises(MemoryBudgetError):
        np.asarray(big)


def test_numpy_defers_to_the_operators_of_the_array(lazy):
    got = A + lazy
    assert isinstance(got, jask.DiskArray)
    np.testing.assert_array_equal(got, 3 * A)


@pytest.mark.parametrize(
    ("convert", "value"),
    [(float, 2.5), (int, 7), (bool, True), (complex, 1 + 2j), (operator.index, 3)],
)
def test_one_element_converts_to_a_python_number(convert, value):
    got = convert(jask.from_numpy(value))
    assert got == value
    assert type(got) is type(value)
    assert jask.from_numpy([value]).item() == value


def test_one_element_is_formatted_as_its_value_and_without_a_format_not_read(lazy):
    x = jask.from_numpy(np.float32(2.5)) + 1
    assert f"{x:.2f} {jask.from_numpy(7):d}" == "3.50 7"
    assert f"{x}" == repr(x)
    with pytest.raises(TypeError, match=r"\(2, 3\)"):
        format(lazy, ".2f")


def test_what_leaves_a_function_under_jit_is_shown_as_lazy(raw):
    x = jask.DiskArray(raw, (2, 3), "float32")
    y = jax.jit(lambda x: x + 1)(x)
    assert "lazy" in repr(y)


@pytest.mark.parametrize("convert", [float, int, bool, complex])
def test_more_elements_do_not_convert(convert, lazy):
    with pytest.raises((TypeError, ValueError), match=r"\(2, 3\)"):
        convert(lazy)


def test_only_integers_index():
    with pytest.raises(TypeError, match="integer"):
        operator.index(jask.from_numpy(1.0))
    with pytest.raises(TypeError, match="integer"):
        operator.index(jask.from_numpy([1]))


def test_rows_are_iterated_lazily(lazy):
    rows = list(lazy)
    assert len(lazy) == len(rows) == 2
    assert all("lazy" in repr(r) for r in rows)
    np.testing.assert_array_equal(rows[1], 2 * A[1])


def test_a_scalar_has_no_length_and_no_rows():
    x = jask.from_numpy(1.0)
    with pytest.raises(TypeError, match="0-d"):
        len(x)
    with pytest.raises(TypeError, match="0-d"):
        iter(x)


def test_an_array_cannot_be_hashed(lazy):
    with pytest.raises(TypeError, match="unhashable"):
        hash(lazy)


def test_jax_array_is_refused(lazy):
    with pytest.raises(TypeError, match=r"jask\.materialize"):
        jnp.asarray(lazy)


# ---- persist and to_memmap


def test_a_small_array_persists_in_memory(lazy):
    assert lazy.persist() is lazy
    assert "in memory" in repr(lazy)
    np.testing.assert_array_equal(lazy, 2 * A)


def test_a_large_array_persists_in_scratch_that_goes_with_it(tmp_path):
    with jask.config(scratch_dir=tmp_path):
        x = jask.numpy.zeros((600, 500), dtype="float32") + np.float32(1)
        x.persist()
    path = Path(store(x).path)
    assert path.exists()
    assert tmp_path in path.parents
    assert float(x[17, 3]) == 1
    del x
    gc.collect()
    assert not path.exists()


def test_what_is_large_for_the_budget_persists_in_scratch():
    x = np.random.default_rng(0).standard_normal((64, 96)).astype("float32")
    lazy = jask.from_numpy(x) * np.float32(2)
    with jask.config(memory_budget=x.nbytes - 500):
        assert store(lazy.persist()).on_disk
    np.testing.assert_array_equal(np.asarray(lazy), x * np.float32(2))


def test_a_persisted_array_is_not_computed_again(lazy):
    node = lazy.persist().node
    assert lazy.persist().node is node


def test_the_memory_map_of_a_file_is_the_file(raw, tmp_path):
    x = jask.DiskArray(raw, (2, 3), "float32")
    view = x.to_memmap()
    assert view.filename == raw
    assert not view.flags.writeable
    np.testing.assert_array_equal(view, A)
    np.save(tmp_path / "b.npy", A)
    np.testing.assert_array_equal(jask.open(tmp_path / "b.npy").to_memmap(), A)


@pytest.mark.parametrize(
    "values",
    [A, A.astype(">f4"), A[:0], A[0, 0]],
    ids=["native", "foreign", "empty", "scalar"],
)
def test_every_array_has_a_memory_map(values, tmp_path):
    np.save(tmp_path / "b.npy", values)
    for x in (jask.from_numpy(values), jask.open(tmp_path / "b.npy")):
        view = x.to_memmap()
        assert view.shape == values.shape
        np.testing.assert_array_equal(view, values)
    np.testing.assert_array_equal((x + x).to_memmap(), values + values)


def test_a_memory_map_is_of_the_file_that_was_opened(raw, tmp_path):
    x = jask.DiskArray(raw, (2, 3), "float32")
    (A + 1).tofile(tmp_path / "b.raw")
    (tmp_path / "b.raw").replace(raw)
    np.testing.assert_array_equal(x.to_memmap(), A)


def test_a_size_from_numpy_is_a_shape(raw):
    size: Any = np.int64(6)
    assert jask.DiskArray(raw, size, "float32").shape == (6,)


def test_a_copy_keeps_its_value_when_the_original_is_assigned_to(raw):
    x = jask.DiskArray(raw, (2, 3), "float32")
    shallow, deep = copy.copy(x), copy.deepcopy([x])[0]
    x[0] = np.float32(9)
    np.testing.assert_array_equal(shallow, A)
    np.testing.assert_array_equal(deep, A)
    assert shallow.filename == deep.filename == str(raw)


def test_pickling_names_the_remedy(lazy):
    with pytest.raises(TypeError, match=r"jask\.save"):
        pickle.dumps(lazy)


@pytest.mark.parametrize("dtype", ["longdouble", "V2"])
def test_from_numpy_takes_what_jax_has_only(dtype):
    with pytest.raises(TypeError, match="numeric or boolean"):
        jask.from_numpy(np.zeros(3, dtype))


# ---- what users of other libraries try


def test_waiting_for_an_array_returns_it_and_computes_nothing(lazy):
    before = COUNTERS.evaluations
    assert lazy.block_until_ready() is lazy
    assert jax.block_until_ready(lazy) is lazy
    assert COUNTERS.evaluations == before
    assert "lazy" in repr(lazy)
    returned = jax.jit(lambda x: x + x)(lazy)
    np.testing.assert_array_equal(returned.block_until_ready(), 4 * A)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("compute", r"jask\.materialize"),
        ("numpy", r"numpy\.asarray"),
        ("chunks", r"jask\.explain"),
        ("rechunk", r"jask\.explain"),
    ],
)
def test_what_other_arrays_have_says_what_to_do_here(lazy, name, instead):
    with pytest.raises(AttributeError, match=instead):
        getattr(lazy, name)
    assert not hasattr(lazy, name)


def test_any_other_attribute_is_missing_as_usual(lazy):
    with pytest.raises(AttributeError, match="'DiskArray' object has no attribute 'x'"):
        _ = lazy.x
