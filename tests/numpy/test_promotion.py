"""Result dtypes: JAX's rules, with 64-bit files respected whatever the flag says."""

from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import jax.numpy as real
import numpy as np
import pytest

import jask.numpy as jnp
from tests.numpy.samples import disk

DTYPES = ("bool", "int8", "uint8", "int32", "uint32", "int64", "float32", "complex64")


def test_every_pair_of_dtypes_promotes_as_in_jax_numpy():
    for a, b in product(DTYPES, repeat=2):
        x, y = jnp.zeros(2, a), jnp.zeros(2, b)
        assert (x + y).dtype == (real.zeros(2, a) + real.zeros(2, b)).dtype
        assert jnp.result_type(x, y) == real.result_type(a, b)


@pytest.mark.parametrize("scalar", [True, 3, 2.5, 1j])
@pytest.mark.parametrize("dtype", DTYPES)
def test_python_scalars_give_way_to_arrays(dtype: str, scalar: Any):
    x = jnp.ones(2, dtype)
    assert (x * scalar).dtype == (real.ones(2, dtype) * scalar).dtype


def test_arrays_are_never_weakly_typed():
    with jax.enable_x64(False):
        x = jnp.asarray(2.0)
        assert (x * jnp.ones(2, jnp.float16)).dtype == np.float32


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumulative_sum"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "float64"])
def test_64_bit_arrays_keep_their_precision_with_64_bit_types_off(
    name: str, dtype: str
):
    with jax.enable_x64(False):
        x = disk(np.ones(3, dtype))
        found = getattr(jnp, name)(x).dtype
        with jax.enable_x64(np.dtype(dtype).itemsize == 8):
            assert found == getattr(real, name)(real.ones(3, dtype)).dtype


INDICES: dict[str, Callable[[Any], Any]] = {
    "argmax": jnp.argmax,
    "argmin": jnp.argmin,
    "argsort": jnp.argsort,
    "count_nonzero": jnp.count_nonzero,
    "nonzero": lambda x: jnp.nonzero(x)[0],
    "searchsorted": lambda x: jnp.searchsorted(x, x),
    "unique_counts": lambda x: jnp.unique_counts(x).counts,
    "unique_inverse": lambda x: jnp.unique_inverse(x).inverse_indices,
    "nanargmax": jnp.nanargmax,
    "nanargmin": jnp.nanargmin,
    "argpartition": lambda x: jnp.argpartition(x, 0),
    "digitize": lambda x: jnp.digitize(x, x),
    "lexsort": lambda x: jnp.lexsort((x,)),
    "tril_indices": lambda x: jnp.tril_indices(2)[0],
    "triu_indices": lambda x: jnp.triu_indices(2)[0],
    "diag_indices": lambda x: jnp.diag_indices(2)[0],
    "ravel_multi_index": lambda x: jnp.ravel_multi_index((x.astype(int),), (99,)),
    "unique_all": lambda x: jnp.unique_all(x).indices,
    "bincount": lambda x: jnp.bincount(x.astype(int)),
    "bincount of a length": lambda x: jnp.bincount(x.astype("int32"), length=3),
}


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("name", INDICES)
def test_indices_and_counts_are_int64_whatever_the_flag_says(name: str, wide: bool):
    with jax.enable_x64(wide):
        found = INDICES[name](disk(np.ones(3, np.float32)))
    assert found.dtype == np.asarray(found).dtype == np.int64


def test_transforms_of_64_bit_arrays_stay_64_bit():
    with jax.enable_x64(False):
        x = disk(np.eye(2))
        assert jnp.linalg.inv(x).dtype == np.float64
        assert jnp.fft.fft(x).dtype == np.complex128
        assert jnp.linalg.inv(jnp.eye(2)).dtype == np.float32


def test_booleans_are_told_from_zero_under_strict_promotion():
    x = disk(np.array([True, False]))
    with jax.numpy_dtype_promotion("strict"):
        assert np.asarray(jnp.astype(x, jnp.bool)).tolist() == [True, False]
        assert int(jnp.count_nonzero(x)) == 1


@pytest.mark.parametrize("wide", [True, False])
def test_astype_is_honoured_whatever_the_flag_says(wide: bool):
    with jax.enable_x64(wide):
        x = jnp.astype(jnp.asarray([1.5, -2.5], dtype=jnp.float32), jnp.float64)
        assert x.dtype == np.float64
        assert np.asarray(x).tolist() == [1.5, -2.5]
        assert jnp.astype(x, bool).dtype == np.bool_


def test_complex_to_real_drops_the_imaginary_part():
    x = disk(np.asarray([1 + 2j]))
    assert np.asarray(x.astype(jnp.float64)).tolist() == [1.0]


def test_can_cast_and_isdtype_follow_the_standard():
    assert jnp.can_cast(jnp.int8, jnp.float32)
    assert not jnp.can_cast(jnp.float32, jnp.int64)
    assert jnp.isdtype(jnp.zeros(1, jnp.int8).dtype, "signed integer")
    assert not jnp.isdtype(jnp.uint8, ("signed integer", "bool"))
    with pytest.raises(ValueError, match="kind must be one of"):
        jnp.isdtype(jnp.uint8, "integers")


def test_limits_are_python_numbers():
    info = jnp.finfo(jnp.complex64)
    assert (type(info.eps), info.bits) == (float, 32)
    assert info.dtype == np.float32
    assert info.max == float(np.finfo(np.float32).max)
    assert jnp.iinfo(jnp.zeros(1, jnp.uint8)).max == 255
    with pytest.raises(ValueError, match="must be an integer type"):
        jnp.iinfo(jnp.float32)


def test_numpy_arrays_need_the_flag_for_64_bits_and_disk_arrays_do_not():
    with jax.enable_x64(False):
        wide, narrow = np.zeros(2), np.zeros(2, np.int8)
        assert jnp.result_type(wide, narrow) == real.result_type(wide, narrow)
        assert jnp.result_type(wide, disk(narrow)) == np.float32
        assert jnp.result_type(wide, disk(wide)) == np.float64
        assert jnp.result_type(np.float64) == np.float64
        assert jnp.linspace(narrow, np.float64(2.5), 3).dtype == np.float32


def test_a_whole_exponent_of_numpys_keeps_the_dtype_as_pythons_does():
    with jax.enable_x64(False):
        x = np.ones(3, np.int8)
        for exponent in (3, np.int64(3), np.asarray(3)):
            assert jnp.pow(disk(x), exponent).dtype == np.int8
            assert real.power(real.asarray(x), exponent).dtype == np.int8
