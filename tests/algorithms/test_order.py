"""Words are in the order of `jax.lax.sort`, element by element."""

from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st

from jask.algorithms.order import order, rank, sort_values, words
from jask.testing.same import assert_same

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2"),
]
NUMPYS = [d for d in DTYPES if hasattr(np, d) and not d.startswith("complex")]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def any_bits(rng: np.random.Generator, dtype: np.dtype[Any], n: int) -> Any:
    """Return elements of any bits: NaN of both signs, subnormals, infinities."""
    if dtype == np.bool_:
        return rng.random(n) < 0.5
    x = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype).copy()
    if dtype.kind in "iu":
        x[: n // 3] = x[: n // 3] % 4
        return x
    parts = x.view(x.real.dtype)
    with np.errstate(all="ignore"):
        special = np.array([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0])
        parts[: parts.size // 2] = rng.choice(special, parts.size // 2)
    tiny = rng.choice(parts.size, parts.size // 8, replace=False)
    parts.view(f"u{parts.dtype.itemsize}")[tiny] = rng.integers(0, 3, tiny.size)
    if dtype.itemsize == 1:  # XLA does not keep the bits of a NaN of 8 bits
        x[np.isnan(x)] = np.nan
    return x


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("keys", [1, 2])
def test_the_order_is_that_of_jax(name: str, keys: int) -> None:
    rng = np.random.default_rng(keys)
    columns: list[Any] = [any_bits(rng, dtype_of(name), 400) for _ in range(keys)]
    columns[0] = np.resize(columns[0][:40], 400)  # equal ones
    with jax.enable_x64(True):
        columns.append(np.arange(400))
        wanted = jax.lax.sort(columns, num_keys=keys)[-1]
    assert_same(order(words(columns[:keys])), np.asarray(wanted))


@pytest.mark.parametrize("shape", [(1, 400), (9, 50), (40, 1), (2, 0), (1, 70_000)])
@pytest.mark.parametrize("name", NUMPYS)
def test_values_alone_have_the_bits_of_jax(name: str, shape: tuple[int, int]) -> None:
    size = shape[0] * shape[1]
    x = np.resize(any_bits(np.random.default_rng(0), dtype_of(name), size), shape)
    with jax.enable_x64(True):
        wanted = np.asarray(jax.lax.sort(jax.numpy.asarray(x)))
    sort_values(x)
    assert x.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("length", [5000, 70_000])
def test_long_lines_of_float16_are_sorted(length: int) -> None:
    """NumPy's own sort of them leaves a few elements out of order with AVX-512."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        x = rng.integers(-4, 4, length).astype(np.float16)
        x[rng.random(length) < 0.1] = -0.0
        wanted = np.sort(x.astype(np.float32))
        found = x[None].copy()
        sort_values(found)
        assert np.array_equal(found[0], wanted), seed


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
)
def test_a_rank_counts_what_comes_before(
    pairs: list[tuple[int, int]], key: tuple[int, int]
) -> None:
    pairs.sort()
    columns = [np.array([p[i] for p in pairs], "u4") for i in (0, 1)]
    assert rank(columns, key, after=False) == sum(p < key for p in pairs)
    assert rank(columns, key, after=True) == sum(p <= key for p in pairs)
