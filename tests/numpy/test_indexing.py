"""Keys of every kind against NumPy: reading, setting, `.at`."""

from typing import Any

import jax
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from tests.numpy.samples import GRID, assert_equal, disk

I, J = np.asarray([0, 2, -2]), np.asarray([[1], [0]])  # noqa: E741 (indices)

BASIC: list[Any] = [
    1,
    -1,
    (0, -1),
    (Ellipsis, 2),
    (slice(None), slice(None, None, -1)),
    (slice(1, None), slice(2, 0, -2), slice(-3, -1)),
    (None, 0, Ellipsis, None),
    (slice(5, 1), 0),
    (),
    Ellipsis,
    np.int8(1),
    (slice(None), slice(None), slice(None, None, 3)),
    (slice(None), slice(None), slice(0, None, -1)),
]

ADVANCED: list[Any] = [
    (slice(None), I),
    (slice(None), slice(None), I),
    (0, I),
    (J, slice(None), I),
    (slice(None, None, -1), I, slice(1, 3)),
    (None, 1, I, None, slice(0, 2)),
    GRID > 11,
    GRID[:, :, 0] > 11,
    (slice(None), np.asarray([True, False, True])),
    (0, np.asarray([True, False, True]), np.asarray([1, 3])),
    np.asarray([False, True]),
]
SINGLE: list[Any] = [True, False, (slice(None), False)]
ARRAYS = BASIC + ADVANCED
KEYS = ARRAYS + SINGLE


def names(keys: list[Any]) -> list[str]:
    return [f"{i}-{k!r}".replace("\n", "")[:60] for i, k in enumerate(keys)]


@pytest.mark.parametrize("key", KEYS, ids=names(KEYS))
def test_reading_is_numpys(key: Any):
    with jask.config(block_bytes=40):
        assert_equal(disk(GRID)[key], GRID[key])


@pytest.mark.parametrize("key", ARRAYS, ids=names(ARRAYS))
def test_setting_is_numpys(key: Any):
    for value in (-1, -1 - np.arange(GRID[key].size).reshape(GRID[key].shape)):
        expected = GRID.copy()
        expected[key] = value
        x = disk(GRID)
        assert_equal(x.at[key].set(value), expected)
        assert_equal(x, GRID)
        x[key] = value
        assert_equal(x, expected)


METHODS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "power": np.power,
}


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize(
    "key",
    [(slice(None), slice(0, None, 2)), (0, I), GRID > 11],
    ids=["slices", "array", "mask"],
)
def test_updates_combine(key: Any, method: str):
    expected = GRID.copy()
    expected[key] = METHODS[method](GRID[key], 3)
    found = getattr(disk(GRID).at[key], method)(3)
    assert_equal(found, expected)


def test_divide_keeps_the_dtype():
    x = np.asarray([1.0, 2.0, 4.0], np.float32)
    found = disk(x).at[1:].divide(4)
    assert_equal(found, np.asarray([1.0, 0.5, 1.0], np.float32))


def test_a_function_is_applied_in_place():
    found = disk(np.asarray([1.0, 4.0, 9.0])).at[1:].apply(jax.numpy.sqrt)
    assert np.asarray(found).tolist() == [1.0, 2.0, 3.0]
    assert np.asarray(disk(GRID).at[1, 1].get()).tolist() == [*GRID[1, 1]]


def test_setting_a_name_leaves_its_other_names_alone():
    x = disk(GRID)
    whole, copy = x[...], jnp.asarray(x, copy=True)
    x[0] = -1
    assert_equal(whole, GRID)
    assert_equal(copy, GRID)


def test_setting_is_refused_under_a_trace():
    def f(x: Any) -> Any:
        x[0] = 1
        return x

    with pytest.raises(TypeError, match=r"x\.at\[key\]\.set"):
        jax.jit(f)(disk(GRID))


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (2, IndexError),
        ((0, -4), IndexError),
        ((0, 0, 0, 0), IndexError),
        ((Ellipsis, Ellipsis), IndexError),
        (np.asarray([0, 9]), IndexError),
        (np.asarray([0, -3]), IndexError),
        (np.asarray([True, False, True]), IndexError),
        (np.asarray([1.0]), IndexError),
        ("a", TypeError),
        (1.5, TypeError),
        ([0, 1], TypeError),
        (slice(1.5, None), TypeError),
        (slice(None, None, 0), ValueError),
    ],
)
def test_a_wrong_key_is_refused_at_the_call(key: Any, error: type[Exception]):
    with pytest.raises(error):
        disk(GRID)[key]


def test_a_disk_array_in_memory_is_checked_too():
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        disk(GRID)[jnp.asarray([5])]
    with pytest.raises(IndexError, match="out of bounds"):
        jnp.take(disk(GRID), jnp.asarray([3]), axis=1)


def test_a_mask_under_a_trace_is_a_concretization_error():
    with pytest.raises(jax.errors.ConcretizationTypeError, match="depends on values"):
        jax.jit(lambda x: x[x > 5])(disk(GRID))


def test_a_run_time_index_selects_one_row():
    x = disk(GRID)
    found = jax.jit(lambda a, i: jask.materialize(a[i]))(x, 1)
    assert_equal(found, GRID[1])
    assert_equal(x[jnp.argmax(jnp.asarray([0.0, 3.0]))], GRID[1])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_take_is_numpys(axis: int | None):
    k: Any = np.asarray([1, -1, 0, 1])
    found = jnp.take(disk(GRID), disk(k), axis=axis)
    assert_equal(found, np.take(GRID, k, axis=axis))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_along_axis_is_numpys(axis: int):
    order = np.argsort(GRID, axis=axis)
    x = disk(GRID)
    found = jnp.take_along_axis(x, disk(order), axis=axis)
    assert_equal(found, np.take_along_axis(GRID, order, axis=axis))
    with pytest.raises(TypeError, match="must be integers"):
        jnp.take_along_axis(x, jnp.zeros((2, 3, 4)), axis=axis)


@pytest.mark.parametrize("chosen", [True, False])
def test_a_single_bool_selects_all_or_nothing_to_be_set(chosen: bool):
    for shape in ((), (3,)):
        want = np.zeros(shape, np.float32)
        got = jask.from_numpy(want.copy())
        values = np.full((int(chosen), *shape), 5, np.float32)
        want[np.asarray(chosen)] = values
        got[jask.from_numpy(np.asarray(chosen))] = jask.from_numpy(values)
        np.testing.assert_array_equal(np.asarray(got), want, strict=True)


@pytest.mark.parametrize("big", [2**40, -(2**62)])
def test_one_element_keeps_its_64_bits_whatever_the_flag_says(big: int):
    with jax.enable_x64(False):
        x = jnp.asarray([big, 1], dtype=jnp.int64)
        assert x[0].dtype == np.int64
        assert int(x[0]) == big
        assert int(jnp.asarray([x[1], x[0]])[1]) == big


@pytest.mark.parametrize(
    ("shape", "mask"), [((1,), (0,)), ((2, 3), (2, 0)), ((2, 3), (0,)), ((4,), (0,))]
)
def test_a_mask_of_length_zero_chooses_nothing(shape: Any, mask: Any):
    x, none = np.ones(shape, np.float32), np.zeros(mask, bool)
    for given in (none, disk(none)):
        assert_equal(disk(x)[given], x[none])
        assert_equal(disk(x).at[given].set(7.0), x)
    changed = disk(x)
    changed[none] = 5.0
    assert_equal(changed, x)


@pytest.mark.parametrize(
    "key",
    [
        (np.asarray([[0, -1]]), slice(None), np.asarray([2])),
        (slice(None), np.asarray([0, 1, 1])),
        (1, slice(None, None, -1), np.asarray([3, 0])),
        (None, np.asarray([0]), Ellipsis, 2),
        np.asarray([], np.int8),
    ],
)
def test_index_arrays_choose_the_same_at_once_and_in_blocks(key: Any):
    at_once = np.asarray(disk(GRID)[key])
    with jask.config(block_bytes=16):
        assert_equal(disk(GRID)[key], at_once)
    assert_equal(at_once, GRID[key])


def test_many_indices_of_a_small_array_stay_lazy():
    many = np.zeros(2**19, np.int32)
    assert "lazy" in repr(disk(GRID)[many])
    assert "lazy" not in repr(disk(GRID)[many[:4]])
