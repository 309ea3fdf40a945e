"""open, save, persist, lift and explain."""

import errno
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from jask.errors import FileFormatError
from jask.trace.counters import COUNTERS

F32 = np.float32
A = np.arange(6, dtype=F32).reshape(2, 3)


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "a.npy", A)
    return tmp_path / "a.npy"


# ---- open


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "?", "<i2", ">u8", "<c8"])
def test_a_file_opens_whatever_its_order_and_byte_order(tmp_path, order, dtype):
    a = np.asarray(np.arange(24).reshape(2, 3, 4) % 5, dtype, order=order)
    np.save(tmp_path / "a.npy", a)
    x = jask.open(tmp_path / "a.npy")
    assert x.shape == a.shape
    assert x.dtype == a.dtype.newbyteorder("=")
    assert x.filename == str(tmp_path / "a.npy")
    np.testing.assert_array_equal(x, a)


def test_a_raw_file_opens_with_dtype_shape_and_offset(tmp_path):
    (tmp_path / "a.raw").write_bytes(b"head" + A.tobytes())
    x = jask.open(tmp_path / "a.raw", dtype=F32, shape=(2, 3), offset=4)
    np.testing.assert_array_equal(x, A)
    flat = jask.open(tmp_path / "a.raw", dtype=F32, shape=6, offset=4)
    np.testing.assert_array_equal(flat, A.ravel())


def test_what_cannot_be_opened_says_why(tmp_path, file):
    with pytest.raises(FileNotFoundError):
        jask.open(tmp_path / "none.npy")
    with pytest.raises(ValueError, match="mode"):
        jask.open(file, mode="w")  # type: ignore[arg-type]
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(FileFormatError, match=r"a\.npy"):
        jask.open(file)


# ---- save


def test_save_writes_what_numpy_reads(tmp_path, file):
    x = jask.open(file)
    jask.save(tmp_path / "b.npy", x + x)
    jask.save(str(tmp_path / "c.npy"), A)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), 2 * A)
    np.testing.assert_array_equal(np.load(tmp_path / "c.npy"), A)


OTHER = (
    ".npz", ".zarr", ".h5", ".hdf5", ".nc", ".csv", ".tsv", ".txt", ".json",
    ".parquet", ".feather", ".arrow", ".pkl", ".pickle", ".mat", ".tif", ".tiff",
    ".png", ".jpg", ".gz", ".zip", ".pt", ".safetensors", ".xlsx",
)  # fmt: skip
"""Suffixes of files that hold something else than `numpy.save` writes."""


@pytest.mark.parametrize("name", sorted({f"q{s}" for s in OTHER} | {"q.NPZ"}))
def test_the_name_of_another_format_is_refused_with_the_one_to_use(tmp_path, name):
    refused = pytest.raises(ValueError, match=r"numpy\.save.*Save to 'q\.npy'")
    with refused:
        jask.save(tmp_path / name, A)
    with refused:
        jask.save({tmp_path / "a.npy": A, tmp_path / name: A})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["q", "q.dat", "q.npy.grad", "q.zarr.npy"])
def test_any_other_name_is_written_as_it_is(tmp_path, name):
    jask.save(tmp_path / name, A)
    np.testing.assert_array_equal(np.load(tmp_path / name), A)


def test_several_files_are_one_evaluation(tmp_path, file):
    x = jask.open(file)
    before = COUNTERS.evaluations
    jask.save({tmp_path / "b.npy": x.T, tmp_path / "c.npy": dnp.sum(x)})
    assert COUNTERS.evaluations == before + 1
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), A.T)
    assert np.load(tmp_path / "c.npy") == A.sum()


def test_an_array_can_be_saved_over_what_it_reads(file):
    x = jask.open(file)
    jask.save(file, x[::-1] * F32(2))
    np.testing.assert_array_equal(np.load(file), A[::-1] * 2)


def test_two_files_can_change_places(tmp_path):
    b, c = tmp_path / "b.npy", tmp_path / "c.npy"
    np.save(b, A)
    np.save(c, -A)
    jask.save({b: jask.open(c), c: jask.open(b)})
    np.testing.assert_array_equal(np.load(b), -A)
    np.testing.assert_array_equal(np.load(c), A)


def test_where_one_file_cannot_be_made_durable_none_gets_its_name(
    tmp_path, file, monkeypatch
):
    first, second = tmp_path / "first.npy", tmp_path / "second.npy"
    np.save(first, np.zeros(3))
    sync, calls = os.fsync, []

    def failing_once_it_is_the_second(fd):
        calls.append(fd)
        if len(calls) == 2:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(fd)

    monkeypatch.setattr(os, "fsync", failing_once_it_is_the_second)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        jask.save({first: jask.open(file) + 1, second: jask.open(file) + 2})
    np.testing.assert_array_equal(np.load(first), np.zeros(3))
    assert [p.name for p in tmp_path.iterdir() if "first" in p.name] == ["first.npy"]
    assert not [p.name for p in tmp_path.iterdir() if "second" in p.name]


def test_saving_under_a_trace_is_refused(tmp_path, file):
    with pytest.raises(jax.errors.ConcretizationTypeError, match="Writing"):
        jax.jit(lambda x: jask.save(tmp_path / "b.npy", x))(jask.open(file))
    assert not (tmp_path / "b.npy").exists()


# ---- persist


def test_persist_evaluates_several_at_once(file):
    x = jask.open(file)
    y, z = x + x, dnp.sum(x)
    before = COUNTERS.evaluations
    got = jask.persist(y, z)
    assert got[0] is y
    assert got[1] is z
    assert COUNTERS.evaluations == before + 1
    np.testing.assert_array_equal(y, 2 * A)
    assert jask.persist(y) is y


# ---- lift


def test_a_lifted_function_takes_trees_of_disk_and_memory():
    @jask.lift
    def f(params, x, *, scale, kind, extra=None):
        assert kind == "linear"
        assert extra is None
        return {"y": (x @ params["w"] + params["b"]) * scale}

    params = {"w": jnp.ones(3, F32), "b": F32(1)}
    got = f(params, jask.from_numpy(A), scale=2.0, kind="linear")
    assert isinstance(got["y"], jask.DiskArray)
    np.testing.assert_allclose(got["y"], (A.sum(1) + 1) * 2)


def test_a_lifted_function_has_derivatives():
    softplus = jask.lift(jax.nn.softplus)
    x = jask.from_numpy(A)
    g = jax.grad(lambda x: jask.materialize(softplus(x).sum()))(x)
    # float32 gradients, summed in another order
    np.testing.assert_allclose(g, jax.nn.sigmoid(A), rtol=1e-5)


def test_a_lifted_function_is_one_operation_for_equal_static_arguments():
    traces = []

    @jask.lift
    def f(x, how):
        traces.append(how)
        return x

    x = jask.from_numpy(A)
    for how in ("a", "a", "b"):
        f(x, how)
    assert traces == ["a", "b"]


def test_a_plan_can_be_read_without_evaluating(file):
    before = COUNTERS.evaluations
    assert "pass" in str(jask.explain(dnp.sum(jask.open(file))))
    assert COUNTERS.evaluations == before


def test_saving_or_mapping_a_fortran_file_leaves_it_alone(tmp_path):
    path = tmp_path / "f.npy"
    np.save(path, np.asfortranarray(A))
    before = path.read_bytes()
    x = jask.open(path)
    np.testing.assert_array_equal(x.to_memmap(), A)
    assert x.to_memmap().flags.f_contiguous
    np.testing.assert_array_equal(x.persist(), A)
    assert path.read_bytes() == before
    assert "file=" in repr(x)


@pytest.mark.parametrize("second", ["a.npy", "../{}/a.npy"])
def test_two_arrays_cannot_have_one_file(tmp_path, second):
    first = tmp_path / "a.npy"
    other = f"{tmp_path}/{second.format(tmp_path.name)}"
    with pytest.raises(ValueError, match="file of its own"):
        jask.save({first: A, other: A + 1})
    assert not first.exists()


def test_save_says_what_it_takes(tmp_path):
    with pytest.raises(TypeError, match="path first"):
        jask.save(jask.from_numpy(A), tmp_path / "a.npy")
    with pytest.raises(TypeError, match="mapping"):
        jask.save({tmp_path / "a.npy": A}, A)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="got dtype datetime64"):
        jask.save(tmp_path / "a.npy", np.array(["2020"], "M8[Y]"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_an_array_in_memory_is_saved_as_it_is(tmp_path, dtype):
    values = np.asarray([2**40, 1], dtype)
    with jax.enable_x64(False):
        jask.save(tmp_path / "a.npy", values)
        kept = jask.persist(values)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), values, strict=True)
    np.testing.assert_array_equal(kept, values, strict=True)


def test_a_lifted_function_draws_with_a_key_that_is_known_when_it_runs():
    draw = jask.lift(lambda key, x: jax.random.normal(key, x.shape, x.dtype) + x)
    for seed in (0, 1):
        key = jax.random.key(seed)
        got = jask.materialize(draw(key, jask.from_numpy(A)))
        want = jax.random.normal(key, A.shape, A.dtype) + A
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


def test_keys_that_a_lifted_function_returns_are_keys_in_memory():
    def draw(key, x):
        key, now = jax.random.split(key)
        return key, x + jax.random.uniform(now, x.shape, x.dtype)

    key = jax.random.key(3)
    x = jask.from_numpy(A)
    want_key, want = draw(key, A)
    for run in (jask.lift(draw), jax.jit(jask.lift(draw))):
        got_key, got = run(key, x)
        assert got_key.dtype == key.dtype
        assert jax.random.key_data(got_key).tolist() == (
            jax.random.key_data(want_key).tolist()
        )
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


def test_keys_are_neither_saved_nor_persisted(tmp_path):
    key = jax.random.key(3)
    kept, x = jask.persist({"key": key}, jask.from_numpy(A) + 1)
    assert kept["key"] is key
    np.testing.assert_array_equal(np.asarray(x), A + 1)
    with pytest.raises(TypeError, match="must not be a random key"):
        jask.save(tmp_path / "key.npy", key)
