"""The order in which `jax.lax.sort` puts elements, as unsigned integers.

1. Every key becomes one word (complex numbers: two) whose order as an unsigned integer
   is the order of the elements: -inf < ... < 0 < ... < inf < NaN.
2. -0.0 and 0.0 have one word, and all NaN have one: a stable sort keeps their order.
   So have subnormal numbers, where XLA flushes them to zero when it compares.
3. Words of up to 32 bits are sorted together with the positions, as integers of 64
   bits, which is stable without a stable sort; others by NumPy's stable sorts.
4. Values alone are sorted in place by NumPy, which may change the bits of equal
   elements: those of zeros and NaN are put back in the order in which they came.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

__all__ = ["order", "rank", "sort_values", "words"]

type Array = np.ndarray[Any, Any]

POSITION_BITS = np.uint64(32)
"""Bits of the position beside a word of up to 32 bits."""


def words(keys: Sequence[Array]) -> list[Array]:
    """Return the words of the keys of a sort, the first key first.

    Examples
    --------
    >>> (found,) = words([np.array([0.0, np.nan, -1.0, -0.0], "f4")])
    >>> found.argsort(kind="stable").tolist()
    [2, 0, 3, 1]
    """
    return [word for key in keys for part in _parts(key) for word in [_word(part)]]


def _parts(key: Array) -> list[Array]:
    return [key.real, key.imag] if key.dtype.kind == "c" else [key]


def _word(x: Array) -> Array:
    if x.dtype.kind in "bu":
        return x.astype(_unsigned(x.dtype))
    if x.dtype.kind == "i":
        top = 1 << (8 * x.dtype.itemsize - 1)
        bits: Array = x.view(_bits(x.dtype)) ^ _bits(x.dtype).type(top)
        return bits.astype(_unsigned(x.dtype))
    return _float_word(np.ascontiguousarray(x))


def _float_word(x: Array) -> Array:
    kind = _bits(x.dtype)
    top = kind.type(1 << (8 * kind.itemsize - 1))
    bits = x.view(kind).astype(kind)  # a copy
    bits[_is_zero(x)] = 0
    negative = (bits & top) != 0
    np.bitwise_or(bits, top, out=bits, where=~negative)
    np.invert(bits, out=bits, where=negative)
    bits[np.isnan(x)] = np.iinfo(kind).max
    return bits.astype(_unsigned(x.dtype), copy=False)


def _is_zero(x: Array) -> Array:
    zero: Array = x == 0
    if flushes(x.dtype):
        zero |= np.abs(x) < jnp.finfo(x.dtype).smallest_normal
    return zero


@cache
def flushes(dtype: Any) -> bool:
    """Return whether XLA compares subnormal numbers of this type as zeros.

    Examples
    --------
    >>> flushes(np.dtype("f2"))
    False
    """
    pair = np.array([jnp.finfo(dtype).smallest_subnormal, 0], dtype)
    with jax.enable_x64(True):  # noqa: FBT003 - JAX's signature
        first = np.asarray(jax.jit(jax.lax.sort)(pair))[0]
    return bool(first != 0)


def _bits(dtype: Any) -> np.dtype[Any]:
    return np.dtype(f"u{dtype.itemsize}")


def _unsigned(dtype: Any) -> np.dtype[Any]:
    return np.dtype(f"u{max(4, dtype.itemsize)}")


def order(found: Sequence[Array]) -> Array:
    """Return the positions that sort the last axis by its words; stable.

    Examples
    --------
    >>> order([np.array([3, 1, 3], "u4"), np.array([1, 0, 0], "u4")]).tolist()
    [1, 2, 0]
    """
    if len(found) > 1:
        return np.lexsort(found[::-1])
    (word,) = found
    if word.dtype.itemsize > 4 or word.shape[-1] >> 32:
        return np.argsort(word, axis=-1, kind="stable")
    packed = word.astype(np.uint64)
    packed <<= POSITION_BITS
    packed |= np.arange(word.shape[-1], dtype=np.uint64)
    packed.sort(axis=-1)
    packed &= np.uint64(0xFFFFFFFF)
    return packed.view(np.int64)


def sort_values(block: Array) -> None:
    """Sort the lines of a C-contiguous matrix in place, as `jax.lax.sort` would.

    Its type is one of NumPy's own, and not complex.

    Examples
    --------
    >>> x = np.array([[2, 0.0, -1, -0.0]], "f4")
    >>> sort_values(x)
    >>> x.tolist()
    [[-1.0, 0.0, -0.0, 2.0]]
    """
    if block.dtype.kind != "f":
        block.sort(axis=-1)
        return
    zeros, missing = _several_zeros(block), _missing(block)
    if block.dtype == np.float16:
        _sort_halves(block)
    else:
        block.sort(axis=-1)
    for start, count, values in filter(None, (zeros, missing)):
        block[_between(start, start + count, block.shape[-1])] = values


def _sort_halves(block: Array) -> None:
    """Sort by the bits: NumPy's own sort of long lines of float16 is wrong.

    With AVX-512 (NumPy 2.5) it may leave a few elements out of order.
    """
    np.copyto(block, np.float16("nan"), where=np.isnan(block))  # some have a sign
    bits, top = block.view(np.uint16), np.uint16(0x8000)
    negative = bits >= top
    bits ^= top
    np.bitwise_xor(bits, top - np.uint16(1), out=bits, where=negative)
    bits.sort(axis=-1)
    np.less(bits, top, out=negative)
    bits ^= top
    np.bitwise_xor(bits, top - np.uint16(1), out=bits, where=negative)


def _between(first: Array, stop: Array, length: int) -> Any:
    """Return an index of the places from `first` to `stop` of each line."""
    if first.size == 1:
        return 0, slice(int(first[0]), int(stop[0]))
    place = np.arange(length)
    return (place >= first[:, None]) & (place < stop[:, None])


type _Equals = tuple[Array, Array, Array]
"""Equal elements: where they begin in each sorted line, how many, and their bits."""


def _several_zeros(block: Array) -> _Equals | None:
    """Return the zeros of each line, unless all of them are 0.0."""
    zero = _is_zero(block)
    values = block[zero]
    if not values.view(_bits(block.dtype)).any():
        return None
    below = block < 0
    below &= ~zero
    return np.count_nonzero(below, axis=-1), np.count_nonzero(zero, axis=-1), values


def _missing(block: Array) -> _Equals | None:
    """Return the NaN of each line, if there are any."""
    missing = np.isnan(block)
    if not missing.any():
        return None
    count = np.count_nonzero(missing, axis=-1)
    return block.shape[-1] - count, count, block[missing]


def rank(found: Sequence[Array], key: Sequence[Any], *, after: bool) -> int:
    """Return how many elements, sorted by their words, come before a key.

    With `after`, equal elements count, too.

    Examples
    --------
    >>> sorted_words = [np.array([1, 1, 2], "u4"), np.array([0, 5, 0], "u4")]
    >>> rank(sorted_words, (1, 5), after=False), rank(sorted_words, (1, 5), after=True)
    (1, 2)
    """
    low, high = 0, found[0].size
    for word, value in zip(found, key, strict=True):
        part = word[low:high]
        like = word.dtype.type(value)
        first = low + int(np.searchsorted(part, like, "left"))
        high = low + int(np.searchsorted(part, like, "right"))
        low = first
    return high if after else low
