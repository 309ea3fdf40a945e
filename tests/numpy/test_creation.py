"""Creation: lazy, exact at the ends, from anything that holds numbers."""

from array import array as buffer
from typing import Any

import jax
import jax.numpy as real
import numpy as np
import pytest

import jask.numpy as jnp
from tests.numpy.samples import GRID, assert_equal, disk

TERABYTE = (10**6, 10**6)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
@pytest.mark.parametrize("dtype", [None, "int8", "float64", "bool"])
def test_constants_are_jax_numpys_and_lazy(name: str, dtype: Any):
    make = getattr(jnp, name)
    assert_equal(make((2, 3), dtype=dtype), getattr(real, name)((2, 3), dtype=dtype))
    assert make(TERABYTE, dtype=dtype).shape == TERABYTE
    like = getattr(jnp, name + "_like")
    assert_equal(like(disk(GRID)), getattr(real, name + "_like")(GRID))


@pytest.mark.parametrize("fill", [True, 3, 2.5, 1j, np.float32(2), np.arange(3)])
def test_full_is_jax_numpys(fill: Any):
    assert_equal(jnp.full((2, 3), fill), real.full((2, 3), fill))
    assert_equal(jnp.full_like(disk(GRID), 2), np.full_like(GRID, 2))


RANGES = [(5,), (0,), (2, 7), (7, -1, -3), (0, 1, 0.25), (1, 5, 10), (3, 1), (-2.5, 2)]


@pytest.mark.parametrize("args", RANGES, ids=map(str, RANGES))
def test_arange_is_numpys(args: tuple[Any, ...]):
    assert_equal(jnp.arange(*args), np.arange(*args), ulps=2)


def test_arange_of_more_elements_than_int32_counts_is_lazy():
    x = jnp.arange(2**40, dtype=jnp.int64)
    assert x.shape == (2**40,)
    assert np.asarray(x[-2:]).tolist() == [2**40 - 2, 2**40 - 1]


def test_a_range_must_fit_its_dtype():
    with pytest.raises(OverflowError, match="does not fit int8"):
        jnp.arange(200, dtype=jnp.int8)
    with pytest.raises(ValueError, match="step must not be zero"):
        jnp.arange(0, 3, 0)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 7, 1001])
def test_linspace_is_numpys(num: int, endpoint: bool):
    found = jnp.linspace(-9.300001, 5.9, num, endpoint=endpoint)
    assert_equal(found, np.linspace(-9.300001, 5.9, num, endpoint=endpoint), ulps=8)


def test_linspace_ends_exactly_at_its_stop():
    for low, high, n in ((-1.7182819, 3.1415927, 11), (0.1, 0.7, 7)):
        v = np.asarray(jnp.linspace(low, high, n, dtype=jnp.float32))
        assert (v[0], v[-1]) == (np.float32(low), np.float32(high))


def test_linspace_between_arrays_puts_the_axis_where_asked():
    a, b = np.zeros(2), np.asarray([1.0, 4.0])
    found, step = jnp.linspace(a, b, 5, axis=1, retstep=True)
    expected, right = np.linspace(a, b, 5, axis=1, retstep=True)
    assert_equal(found, expected)
    assert_equal(step, right)


@pytest.mark.parametrize("k", [-9, -1, 0, 2, 9])
def test_diagonals_and_triangles_are_numpys(k: int):
    assert_equal(jnp.eye(3, 4, k=k), np.eye(3, 4, k=k))
    assert_equal(jnp.tril(disk(GRID), k=k), np.tril(GRID, k=k))
    assert_equal(jnp.triu(disk(GRID), k=k), np.triu(GRID, k=k))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid_is_numpys(indexing: Any):
    a, b = np.arange(3), np.arange(2.0)
    found = jnp.meshgrid(disk(a), disk(b), indexing=indexing)
    assert isinstance(found, tuple)
    for f, e in zip(found, np.meshgrid(a, b, indexing=indexing), strict=True):
        assert_equal(f, e)


OBJECTS: list[Any] = [
    3,
    2.5,
    True,
    1j,
    [[1, 2], [3, 4]],
    [1, 2.5],
    [],
    [True, False],
    np.arange(3, dtype=np.int8),
    np.float32(1.5),
    np.arange(3, dtype=">i4"),
    buffer("d", [1.0, 2.0]),
    (1, (2)),
]


@pytest.mark.parametrize("obj", OBJECTS, ids=range(len(OBJECTS)))
def test_asarray_takes_anything_that_holds_numbers(obj: Any):
    expected = np.asarray(obj)
    expected = expected.astype(expected.dtype.newbyteorder("="))
    assert_equal(jnp.asarray(obj), expected)
    assert_equal(jnp.asarray(obj, dtype=jnp.complex128), expected.astype("c16"))


def test_asarray_takes_arrays_of_jax_and_of_others():
    assert_equal(jnp.asarray(real.arange(3)), np.arange(3))
    assert_equal(jnp.asarray([jnp.ones(2), real.zeros(2)]), [[1.0, 1.0], [0.0, 0.0]])
    assert_equal(jnp.from_dlpack(np.arange(4.0)), np.arange(4.0))
    assert_equal(np.from_dlpack(jnp.arange(3)), np.arange(3))


def test_an_array_does_not_follow_later_changes_of_its_source():
    a = np.arange(5.0)
    x = jnp.asarray(a)
    a[:] = -1
    assert np.asarray(x).tolist() == [0, 1, 2, 3, 4]


def test_defaults_follow_the_flag_and_explicit_dtypes_do_not():
    with jax.enable_x64(False):
        assert jnp.asarray([1, 2]).dtype == np.int32
        assert jnp.zeros(2).dtype == np.float32
        assert jnp.asarray(np.ones(2)).dtype == np.float32
        assert jnp.asarray(np.ones(2), dtype=jnp.float64).dtype == np.float64
        assert_equal(jnp.ones(2, jnp.float64), np.ones(2))
        with pytest.raises(OverflowError, match="does not fit int32"):
            jnp.asarray([2**40])
        with pytest.raises(OverflowError, match="does not fit int32"):
            jnp.asarray(np.asarray([2**40]))


HALVES: Any = 1.5
WRONG: list[tuple[Any, type[Exception]]] = [
    (lambda: jnp.asarray("text"), TypeError),
    (lambda: jnp.asarray([1, "a"]), TypeError),
    (lambda: jnp.asarray([[1], [1, 2]]), ValueError),
    (lambda: jnp.asarray(np.asarray([object()])), TypeError),
    (lambda: jnp.asarray([1], copy=False), ValueError),
    (lambda: jnp.asarray([1], device="gpu"), ValueError),
    (lambda: jnp.zeros(-1), ValueError),
    (lambda: jnp.zeros(HALVES), TypeError),
    (lambda: jnp.zeros(2, dtype="U3"), TypeError),
    (lambda: jnp.tril(jnp.zeros(3)), ValueError),
    (lambda: jnp.meshgrid(jnp.zeros(2), indexing="no"), ValueError),
    (lambda: jnp.linspace(0, 1, -1), ValueError),
]


@pytest.mark.parametrize(("make", "error"), WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_made_is_refused(make: Any, error: type[Exception]):
    with pytest.raises(error):
        make()


BESIDE: list[Any] = [
    [np.int8(1), 2],
    [np.float32(1), 2],
    [np.int8(1), 2.5],
    [[np.float16(1)], [True]],
    [np.uint8(3), np.int8(1)],
    [np.int32(1), np.float32(2)],
    [np.zeros(2, np.int16), [3, 4]],
    [np.int64(5), 1],
    range(4),
    range(0),
    memoryview(np.arange(3)),
]


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("given", BESIDE, ids=range(len(BESIDE)))
def test_numbers_of_python_give_way_in_lists_too(given: Any, x64: bool):
    with jax.enable_x64(x64):
        assert_equal(jnp.asarray(given), jax.numpy.asarray(given))


@pytest.mark.parametrize("given", [300, -1, 2**31, 2**63, 2**64, [1, 300], (2**70,)])
def test_an_integer_of_python_that_does_not_fit_a_given_dtype_is_an_error(given: Any):
    for x64 in (False, True):
        with jax.enable_x64(x64), pytest.raises(OverflowError, match="not fit uint8"):
            jnp.asarray(given, dtype="uint8")


@pytest.mark.parametrize("given", [2**64, [2**70, 1]])
def test_an_integer_beyond_64_bits_may_be_a_float(given: Any):
    assert_equal(jnp.asarray(given, "float32"), np.asarray(given, np.float32))


def test_a_complex_number_of_python_has_no_place_in_real_numbers():
    for call in (
        lambda: jnp.asarray(1j, dtype="int8"),
        lambda: jnp.asarray([1, 2j], dtype="float32"),
        lambda: jnp.full((2,), 1j, dtype="bfloat16"),
        lambda: jnp.full_like(jnp.ones(2), 1j),
    ):
        with pytest.raises(TypeError, match="no place"):
            call()
    assert np.asarray(jnp.full((1,), 1j, dtype=bool)).tolist() == [True]


def test_a_range_of_truth_values_holds_what_is_not_zero():
    for found, expected in (
        (jnp.arange(2, dtype=bool), [False, True]),
        (jnp.arange(0, dtype=bool), []),
        (jnp.arange(1, 3, dtype=bool), [True, True]),
    ):
        assert_equal(found, np.asarray(expected, bool))


@pytest.mark.parametrize("given", [None, "1", b"2", [None], [1, "2"]])
def test_what_holds_no_numbers_is_a_type_error(given: Any):
    for dtype in (None, "int8", "float32"):
        with pytest.raises(TypeError):
            jnp.asarray(given, dtype=dtype)
