"""`x.at[...]` with options, and methods of arrays: what jax.numpy's give."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as real
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from tests.numpy.samples import GRID, disk

A = GRID.astype(np.float32)[0]
I = GRID.astype(np.int32)[1]  # noqa: E741 (integers)
FAR = np.asarray([2, -1, 7, 0, -9])
"""Places along an axis of three elements; two of them are not there."""
NEAR = np.asarray([0, 1, 2])


def same(found: Any, expected: Any) -> None:
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


KEYS: dict[str, Any] = {
    "one": 5,
    "one below": -4,
    "element": (1, 9),
    "rows": FAR,
    "rows of columns": (FAR, slice(1, 3)),
    "elements": (slice(0, 2), FAR),
    "a number beside": (FAR, 1),
    "a number out of range beside": (NEAR, -7),
    "column": (slice(None), 4),
    "near": (NEAR, NEAR),
    "slices": (slice(1, 3), 2),
}
MODES = ["clip", "drop", "fill", "promise_in_bounds"]


def modes(key: str) -> list[str]:
    inside = key in ("near", "slices")
    return MODES if inside else MODES[:3]


@pytest.mark.parametrize("key", KEYS)
def test_get_with_a_mode_gives_what_jax_numpy_gives(key: str, stored: Any):
    for x in (A, I, I > 12, I.astype(np.uint8)):
        for mode in modes(key):
            expected = real.asarray(x).at[KEYS[key]].get(mode=mode)
            same(stored(x).at[KEYS[key]].get(mode=mode), expected)


def test_get_fills_with_a_value(stored: Any):
    expected = real.asarray(A).at[FAR].get(mode="fill", fill_value=-5)
    same(stored(A).at[FAR].get(mode="fill", fill_value=-5), expected)


UPDATES = ["set", "add", "subtract", "multiply", "divide", "power", "min", "max"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("method", UPDATES)
def test_an_update_with_a_mode_gives_what_jax_numpy_gives(
    method: str, key: str, stored: Any
):
    x = A
    for mode in ("clip", "drop") if key not in ("near", "slices") else MODES:
        expected = getattr(real.asarray(x).at[KEYS[key]], method)(2, mode=mode)
        same(getattr(stored(x).at[KEYS[key]], method)(2, mode=mode), expected)


@pytest.mark.parametrize("key", KEYS)
def test_indices_below_zero_may_be_out_of_range(key: str, stored: Any):
    options: Any = {"mode": "fill", "wrap_negative_indices": False}
    expected = real.asarray(A).at[KEYS[key]]
    found = stored(A).at[KEYS[key]]
    same(found.get(**options), expected.get(**options))
    same(found.set(50, **options), expected.set(50, **options))


def test_a_function_is_applied_with_a_mode(stored: Any):
    for mode in ("clip", "drop"):
        expected = real.asarray(A).at[FAR].apply(real.sqrt, mode=mode)
        same(stored(A).at[FAR].apply(real.sqrt, mode=mode), expected)


@pytest.mark.parametrize("method", ["set", "add", "min"])
def test_hints_change_nothing(method: str, stored: Any):
    hints: Any = {"indices_are_sorted": True, "unique_indices": True}
    for key in (NEAR, (slice(1, 3), np.asarray([1, 3])), (NEAR, NEAR), (0, 1)):
        found = stored(A).at[key]
        same(found.get(**hints), A[key])
        expected = getattr(real.asarray(A).at[key], method)(3)
        same(getattr(found, method)(3, **hints), expected)


def test_a_mode_is_traced():
    def first(x: Any, i: Any) -> Any:
        return x.at[i].set(1, mode="drop").at[i].get(mode="clip")

    same(jax.jit(first)(disk(A), 7), A[-1])
    gradient = jax.grad(
        lambda x: jask.materialize(jnp.sum(x.at[FAR].get(mode="clip") ** 2))
    )(disk(A))
    expected = jax.grad(lambda x: (x.at[FAR].get(mode="clip") ** 2).sum())(
        real.asarray(A)
    )
    same(gradient, expected)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: x.at[FAR].get(), IndexError),
        (lambda x: x.at[5].set(1), IndexError),
        (lambda x: x.at[0].get(mode="one_hot"), ValueError),
        (lambda x: x.at[0].get(mode="wrap"), ValueError),
        (lambda x: x.at[0].set(1, strategy="auto"), TypeError),
        (lambda x: x.at[0].set(1, out_sharding=None), TypeError),
    ],
    ids=range(6),
)
def test_what_is_out_of_range_or_unknown_is_an_error(call: Any, error: Any):
    with pytest.raises(error):
        call(disk(A))


METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "byteswap": lambda x, _: x.byteswap(),
    "choose": lambda x, on: (x % 2).choose([on(A), on(A * 2)], mode="clip"),
    "compress": lambda x, on: x.compress(on(np.asarray([True, False, True])), axis=0),
    "compress, a size": lambda x, on: x.compress(
        on(np.asarray([True, False, True])), 1, size=3
    ),
    "view as bytes": lambda x, _: x.view(np.uint8),
    "view as floats": lambda x, _: x.view(np.float32),
    "view as pairs": lambda x, _: x.view(np.complex64),
    "view of pairs": lambda x, _: (x * 1j).view(np.float32),
    "view of shorts": lambda x, _: x.astype(np.int16).view(np.int32),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_gives_what_jax_numpys_gives(name: str, stored: Any):
    expected = METHODS[name](real.asarray(I), real.asarray)
    same(METHODS[name](stored(I), stored), expected)


def test_a_value_is_looked_for_in_an_array_of_one_axis(stored: Any):
    x = stored(I[0])
    assert int(I[0, 2]) in x
    assert 1000 not in x
    with pytest.raises(ValueError, match="one axis"):
        _ = 3 in stored(I)
    assert bool(jax.jit(lambda y: jask.materialize(jnp.isin(3, y)))(x)) is False


def test_an_item_may_be_named_by_its_place(stored: Any):
    x = stored(I)
    assert x.item(1, 2) == I.item(1, 2)
    assert [x.item(7), x.item(-2)] == [I.item(7), I.item(-2)]
    assert x[:1, :1].item() == I.item(0)
    with pytest.raises(TypeError, match="exactly one"):
        x.item()
    for place in (I.size, -I.size - 1):
        with pytest.raises(IndexError, match=f"index {place} is out of bounds"):
            x.item(place)


def test_bytes_and_reversal(stored: Any):
    assert stored(I).tobytes() == I.tobytes()
    assert stored(I).tobytes("F") == I.tobytes("F")
    assert [int(v) for v in reversed(stored(I[0]))] == [*I[0, ::-1]]
    assert stored(I).weak_type is False


SINGLE: list[Any] = [(True, 0), (0, True), (slice(None), 0, False), (..., True)]


@pytest.mark.parametrize("key", SINGLE, ids=str)
def test_a_single_bool_beside_others_chooses_all_or_nothing(key: Any, stored: Any):
    expected = A.copy()
    expected[key] = 50
    same(stored(A).at[key].set(50), expected)
    same(stored(A)[key], A[key])
    x = stored(A)
    x[key] = 50
    same(x, expected)


UNSIGNED = np.asarray([0, 3, 127], np.uint8)
PLACES = {
    "slice": slice(0, 2),
    "indices": np.asarray([0, 1]),
    "mask": np.asarray([True, True, False]),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("method", ["min", "max", "add", "multiply", "set"])
def test_a_number_takes_the_dtype_of_the_array_and_an_array_does_not(
    method: str, place: str
):
    for value in (-1, np.asarray(-1, np.int32), np.asarray(200, np.uint8)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of JAX, at a cut
            update = getattr(real.asarray(UNSIGNED).at[PLACES[place]], method)
            same(
                getattr(disk(UNSIGNED).at[PLACES[place]], method)(value), update(value)
            )


@pytest.mark.parametrize("place", PLACES)
def test_an_integer_that_does_not_fit_is_an_error_with_64_bit_types_off(place: str):
    with jax.enable_x64(False):
        for x in (UNSIGNED, I):
            with pytest.raises(OverflowError):
                real.asarray(x).at[PLACES[place]].set(2**40)
            with pytest.raises(OverflowError, match="does not fit"):
                disk(x).at[PLACES[place]].set(2**40)
        wide = disk(np.zeros(3, np.int64)).at[PLACES[place]].set(2**40)
        assert np.asarray(wide)[0] == 2**40
