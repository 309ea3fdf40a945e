"""The `.npy` format: what is read, what is written, what is refused."""

import io
import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

from jask.errors import FileFormatError
from jask.geometry.box import Box
from jask.stores.npy import npy_header
from jask.stores.open import open_store
from jask.stores.output import create_output
from jask.testing.stores import read_all

type Array = np.ndarray[Any, Any]

SOUND = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }"


def file_of(
    path: Path, header: str = SOUND, *, data: int = 24, version: bytes = b"\x01\x00"
) -> Path:
    """Write a `.npy` file with this header and this many bytes of data."""
    text = header.encode("latin1")
    width = 2 if version[0] == 1 else 4
    length = len(text).to_bytes(width, "little")
    path.write_bytes(b"\x93NUMPY" + version + length + text + b"\0" * data)
    return path


def saved(path: Path, array: Array, **options: Any) -> Path:
    np.save(path, array, **options)
    return path


def refused(path: Path, *words: str, **options: Any) -> None:
    """Check that the file is refused with a message that names it and these words."""
    with pytest.raises(FileFormatError) as caught:
        open_store(path, **options)
    for word in (*words, str(path)):
        assert word in str(caught.value)


SCALARS = (
    hnp.boolean_dtypes()
    | hnp.integer_dtypes(endianness="?")
    | (
        hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64))
        | hnp.complex_number_dtypes(endianness="?", sizes=(64, 128))
    )
)


@given(
    shape=hnp.array_shapes(min_dims=0, min_side=0, max_side=4),
    dtype=SCALARS,
    version=st.sampled_from([(1, 0), (2, 0), (3, 0)]),
    fortran=st.booleans(),
)
def test_what_numpy_writes_is_read(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    version: tuple[int, int],
    fortran: bool,
    tmp_path_factory: pytest.TempPathFactory,
):
    array = np.arange(np.prod(shape), dtype=np.int64).reshape(shape).astype(dtype)
    array = np.asarray(array, order="F" if fortran else "C")
    path = tmp_path_factory.mktemp("npy") / "x.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, version)
    opened = open_store(path)
    got = read_all(opened.store)
    got = got.T if opened.fortran else got
    np.testing.assert_array_equal(got, array, strict=False)
    assert got.dtype == array.dtype.newbyteorder("=")
    assert got.shape == array.shape


@given(
    shape=hnp.array_shapes(min_dims=0, min_side=0, max_side=10**6),
    dtype=hnp.scalar_dtypes().filter(lambda d: d.kind in "biufc" and d.isnative),
)
def test_the_header_is_byte_for_byte_that_of_numpy(
    shape: tuple[int, ...], dtype: np.dtype[Any]
):
    stream = io.BytesIO()
    fields = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    assert npy_header(shape, dtype) == stream.getvalue()


SMALL = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "int4"]


@pytest.mark.parametrize("name", SMALL)
def test_a_small_type_comes_back_as_it_was_written(name: str, tmp_path: Path):
    array = np.array([0.5, -2.0, 3.0]).astype(getattr(ml_dtypes, name))
    output = create_output(tmp_path / "x.npy", (3,), array.dtype)
    output.write(Box((0,), (3,)), array)
    output.commit()
    store = open_store(tmp_path / "x.npy").store
    assert store.dtype == array.dtype
    np.testing.assert_array_equal(read_all(store), array)
    by_numpy = np.load(tmp_path / "x.npy")
    np.testing.assert_array_equal(by_numpy.view(array.dtype), array)


@pytest.mark.parametrize("name", SMALL)
def test_a_small_type_that_numpy_wrote_needs_a_name(name: str, tmp_path: Path):
    array = np.array([0.5, -2.0, 3.0]).astype(getattr(ml_dtypes, name))
    path = saved(tmp_path / "x.npy", array)
    refused(path, "descr", "dtype='bfloat16'")
    for dtype in (name, array.dtype, getattr(ml_dtypes, name)):
        np.testing.assert_array_equal(
            read_all(open_store(path, dtype=dtype).store), array
        )


def test_a_named_type_of_another_size_is_refused(tmp_path: Path):
    array = np.zeros(3, ml_dtypes.bfloat16)
    path = saved(tmp_path / "x.npy", array)
    refused(path, "descr", "1 bytes", "float8_e5m2", "V2", dtype="float8_e5m2")
    refused(path, "descr", "float16", "V2", dtype="f2")


@pytest.mark.parametrize("dtype", [">f8", "<f8", "f8", float, np.float64], ids=str)
def test_the_right_dtype_may_be_given(dtype: Any, tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.arange(3, dtype=">f8"))
    assert open_store(path, dtype=dtype).store.dtype == np.dtype("f8")


def test_a_wrong_dtype_is_refused(tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.arange(3.0))
    refused(path, "descr", "float32", "float64", "leave out dtype=", dtype="f4")


@pytest.mark.parametrize(
    "dtype",
    ["x9", "O", "U3", "M8[s]", pytest.param(object(), id="an object"), "f16"],
)
def test_a_dtype_that_jax_has_not_is_refused(dtype: Any, tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.arange(3.0))
    with pytest.raises(TypeError, match="dtype must"):
        open_store(path, dtype=dtype)


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return Path.mkdir, (self.mark,)


def test_objects_are_refused_and_never_unpickled(tmp_path: Path):
    mark = tmp_path / "ran"
    array = np.array([Trap(mark), 1], object)
    path = saved(tmp_path / "x.npy", array, allow_pickle=True)
    refused(path, "descr", "Python objects", "convert")
    assert not mark.exists()
    pickle.loads(pickle.dumps(Trap(mark)))
    assert mark.exists()


@pytest.mark.parametrize(
    ("array", "what"),
    [
        (np.zeros(3, [("a", "f8"), ("b", "i4")]), "save the fields"),
        (np.array(["a", "bc"]), "strings"),
        (np.array([b"a", b"bc"]), "bytes"),
        (np.array(["2020-01-01"], "M8[D]"), "dates"),
        (np.array([3], "m8[s]"), "time spans"),
        (np.zeros(3, "V5"), "dtype='bfloat16'"),
        (np.zeros(3, "g"), "float128"),
    ],
    ids=["structured", "str", "bytes", "date", "span", "void", "longdouble"],
)
def test_what_jax_does_not_compute_with_is_refused(
    array: Array, what: str, tmp_path: Path
):
    refused(saved(tmp_path / "x.npy", array), "descr", what)


HEADERS = {
    "not a dict": ("[1, 2]", "header"),
    "an expression": ("__import__('os').getpid()", "header"),
    "a call in a field": (SOUND.replace("(3,)", "tuple([3])"), "header"),
    "unbalanced": ("{'descr': ", "header"),
    "nested too deeply": ("(" * 5000, "header"),
    "a missing field": ("{'descr': '<f8', 'shape': (3,), }", "header"),
    "another field": (SOUND.replace("}", "'x': 1}"), "header"),
    "unhashable": ("{[]: 1}", "header"),
    "a bad escape": (SOUND.replace("<f8", r"\\d"), "descr"),
    "a negative shape": (SOUND.replace("(3,)", "(-3,)"), "shape"),
    "an overflowing shape": (SOUND.replace("(3,)", "(2**62, 4)"), "header"),
    "an overflowing product": (
        SOUND.replace("(3,)", f"({2**40}, {2**40})"), "shape"
    ),
    "a product that overflows beside 0": (
        SOUND.replace("(3,)", f"(0, {2**61}, {2**61})"), "shape"
    ),
    "a shape that is no tuple": (SOUND.replace("(3,)", "[3]"), "shape"),
    "negative entries, a right product": (
        SOUND.replace("(3,)", "(-3, -1)"), "shape"
    ),
    "an entry of too many digits": (SOUND.replace("3,", "9" * 5000 + ","), "header"),
    "an entry to be computed": (SOUND.replace("3,", "1 + 2,"), "header"),
    "a complex entry": (SOUND.replace("(3,)", "(3 + 0j,)"), "shape"),
    "a null byte": (SOUND.replace("<f8", "<f8\0"), "header"),
    "a bool in the shape": (SOUND.replace("(3,)", "(True,)"), "shape"),
    "a float in the shape": (SOUND.replace("(3,)", "(3.0,)"), "shape"),
    "an order that is no bool": (SOUND.replace("False", "0"), "fortran_order"),
    "no such type": (SOUND.replace("<f8", "<q9"), "descr"),
    "a type that is no text": (SOUND.replace("'<f8'", "8"), "descr"),
    "a long type": (SOUND.replace("<f8", "f8," * 1000), "descr"),
    "a type of no bytes": (SOUND.replace("<f8", "V0"), "descr"),
    "too many bytes": (SOUND.replace("<f8", "V9999"), "descr"),
}  # fmt: skip


@pytest.mark.parametrize(("header", "field"), HEADERS.values(), ids=HEADERS.keys())
def test_an_unsound_header_is_refused_by_field(header: str, field: str, tmp_path: Path):
    path = file_of(tmp_path / "x.npy", header)
    refused(path, f"The {field} of a .npy file must be")


@given(noise=st.binary(max_size=200), start=st.integers(0, 200))
def test_a_damaged_file_is_read_or_refused(
    noise: bytes, start: int, tmp_path_factory: pytest.TempPathFactory
):
    path = file_of(tmp_path_factory.mktemp("npy") / "x.npy")
    whole = bytearray(path.read_bytes())
    whole[start : start + len(noise)] = noise
    path.write_bytes(whole)
    try:
        store = open_store(path).store
    except FileFormatError as error:
        assert str(path) in str(error)  # noqa: PT017 (the other outcome is checked too)
    else:
        assert read_all(store).nbytes <= len(whole)


def test_a_header_of_python_2_is_read(tmp_path: Path):
    path = file_of(tmp_path / "x.npy", SOUND.replace("(3,)", "(3L,)"))
    assert open_store(path).store.shape == (3,)


@pytest.mark.parametrize("version", [b"\x00\x01", b"\x04\x00", b"\x01\x01"], ids=repr)
def test_an_unknown_version_is_refused(version: bytes, tmp_path: Path):
    path = file_of(tmp_path / "x.npy", version=version)
    refused(path, "version", f"{version[0]}.{version[1]}")


def test_a_header_of_many_gigabytes_is_refused_unread(tmp_path: Path):
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\x02\x00\xf0\xff\xff\xff" + b" " * 100)
    refused(path, "header length", str(0xFFFFFFF0))


@pytest.mark.parametrize("size", [6, 7, 8, 9, 10, 40, 127])
def test_a_file_that_ends_within_its_header_is_refused(size: int, tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.arange(3.0))
    path.write_bytes(path.read_bytes()[:size])
    refused(path, "within the header", "truncated", f"{size} bytes")


@pytest.mark.parametrize("cut", [1, 8, 8000, 15999, 16000])
def test_a_file_that_lacks_data_is_refused(cut: int, tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.arange(2000.0))
    path.write_bytes(path.read_bytes()[:-cut])
    refused(path, "(2000,)", "float64", "16128", f"{16128 - cut}", "truncated")


def test_a_file_with_more_than_its_header_says_is_refused(tmp_path: Path):
    path = saved(tmp_path / "x.npy", np.arange(3.0))
    path.write_bytes(path.read_bytes() + b"\0" * 8)
    refused(path, "must have 152 bytes; it has 160", "raw file")


def test_a_huge_shape_allocates_nothing(tmp_path: Path):
    path = file_of(tmp_path / "x.npy", SOUND.replace("(3,)", f"({2**59},)"))
    refused(path, f"({2**59},)", "truncated")


@pytest.mark.parametrize("version", [b"\x01\x00", b"\x02\x00", b"\x03\x00"], ids=repr)
@pytest.mark.parametrize("padding", [9_000, 60_000])
def test_a_padded_header_is_read_up_to_a_limit(
    version: bytes, padding: int, tmp_path: Path
):
    path = file_of(tmp_path / "x.npy", SOUND + " " * padding, version=version)
    if padding < 10_000:
        assert open_store(path).store.shape == (3,)
    else:
        refused(path, "header length", f"{len(SOUND) + padding}")


def test_a_header_longer_than_its_file_is_refused(tmp_path: Path):
    path = tmp_path / "x.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00\xff\x1f" + SOUND.encode())
    refused(path, "within the header", "truncated")
