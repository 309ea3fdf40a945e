"""Pure `jax.numpy`-level functions where `jax.numpy` has none that is right.

They take in-memory arrays and never see a DiskArray. Each says where it differs from
`jax.numpy`; the differences are rows of docs/deviations.md.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.hijax.function import shaped

type Value = Any


def index_dtype() -> Any:
    """Return the dtype of indices: int64, since arrays have over 2**31 elements."""
    return np.dtype(np.int64)


def remainder(x1: Value, x2: Value) -> Value:
    """Return the remainder of floor division; a zero has the divisor's sign."""
    r = jnp.remainder(x1, x2)
    if not jnp.issubdtype(r.dtype, jnp.floating):
        return r
    return _zero_signed(r, jnp.broadcast_to(jnp.asarray(x2, r.dtype), r.shape))


@jax.custom_jvp
def _zero_signed(x: Value, sign: Value) -> Value:
    """Return x, a zero with the sign of another value."""
    return jnp.where(x == 0, jnp.copysign(jnp.zeros_like(x), sign), x)


@_zero_signed.defjvp
def _zero_signed_jvp(values: tuple[Value, Value], tangents: tuple[Value, Value]) -> Any:
    return _zero_signed(*values), tangents[0]


def floor_divide(x1: Value, x2: Value) -> Value:
    """Return the floor of the quotient; a zero has the quotient's sign."""
    q = jnp.floor_divide(x1, x2)
    if not jnp.issubdtype(q.dtype, jnp.floating):
        return q
    a = jnp.broadcast_to(jnp.asarray(x1, q.dtype), q.shape)
    b = jnp.broadcast_to(jnp.asarray(x2, q.dtype), q.shape)
    exact = jnp.floor(a / b)  # infinities, NaN and signs of zero as division has them
    special = ~jnp.isfinite(a) | ~jnp.isfinite(b) | (a == 0) | (b == 0)
    small = jnp.isfinite(b) & (q == 0)
    signed = jnp.copysign(q, a / b)
    return jnp.where(special, exact, jnp.where(small, signed, q))


def static_power(x: Value, *, exponent: int) -> Value:
    """Return a power whose exponent is known while tracing, by multiplications."""
    return jnp.power(x, exponent)


def clip(x: Value, low: Value, high: Value) -> Value:
    """Return values limited to [low, high]."""
    return jnp.clip(x, low, high)


def is_nonzero(x: Value) -> Value:
    """Return where values are not zero; booleans have no promotion with integers."""
    return x != jnp.zeros((), x.dtype)


def astype(x: Value, *, dtype: Any) -> Value:
    """Return values converted; complex to real drops the imaginary part."""
    if jnp.issubdtype(x.dtype, jnp.complexfloating) and not (
        jnp.issubdtype(dtype, jnp.complexfloating) or dtype == np.bool_
    ):
        x = jnp.real(x)
    return is_nonzero(x) if dtype == np.bool_ else lax.convert_element_type(x, dtype)


def full(value: Value, *, shape: tuple[int, ...], dtype: Any) -> Value:
    """Return an array of one repeated value, which may itself be an array."""
    out = jnp.broadcast_to(jnp.asarray(value), shape)
    return out if dtype is None else astype(out, dtype=dtype)


def arange(start: Value, step: Value, *, count: int, dtype: Any) -> Value:
    """Return `start + i * step`; floats are computed in float64 and rounded once."""
    work = np.dtype(np.float64) if jnp.issubdtype(dtype, jnp.inexact) else dtype
    if dtype == np.bool_:
        work = np.dtype(np.int64)
    i = lax.iota(work, count)
    first, by = jnp.asarray(start).astype(work), jnp.asarray(step).astype(work)
    return (first + i * by).astype(dtype)


def linspace(
    start: Value, stop: Value, *, num: int, endpoint: bool, dtype: Any, axis: int
) -> Value:
    """Return evenly spaced values; with `endpoint` the last is exactly `stop`."""
    work = np.dtype(
        np.complex128 if jnp.issubdtype(dtype, jnp.complexfloating) else np.float64
    )
    a, b = jnp.broadcast_arrays(jnp.asarray(start), jnp.asarray(stop))
    a, b = a.astype(work), b.astype(work)
    gaps = num - 1 if endpoint else num
    i = lax.iota(np.dtype(np.float64), num).reshape((num,) + (1,) * a.ndim)
    out = a + i * ((b - a) / max(gaps, 1))
    if endpoint and num > 1:
        out = jnp.where(i == gaps, b, out)
    if jnp.issubdtype(dtype, jnp.integer):
        out = jnp.floor(out)
    return jnp.moveaxis(out.astype(dtype), 0, axis)


@shaped
def basic_index(
    x: Value,
    *,
    start: tuple[int, ...],
    limit: tuple[int, ...],
    stride: tuple[int, ...],
    backwards: tuple[int, ...],
    shape: tuple[int, ...],
) -> Value:
    """Return a strided, possibly reversed part of `x`, with axes dropped or added."""
    out = lax.slice(x, start, limit, stride)
    if backwards:
        out = lax.rev(out, backwards)
    return out if out.shape == shape else lax.reshape(out, shape)


def advanced_index(
    x: Value,
    arrays: tuple[Value, ...],
    *,
    key: tuple[Any, ...],
    options: tuple[tuple[str, Any], ...] = (),
) -> Value:
    """Return `x[key]` where each `ARRAY` in the key stands for the next array."""
    whole = full_key(key, arrays)
    return x.at[whole].get(**dict(options)) if options else x[whole]


ARRAY = "array"
"""Stands for an index array in a static key."""


def full_key(key: tuple[Any, ...], arrays: tuple[Value, ...]) -> tuple[Any, ...]:
    """Return a key with its arrays put back."""
    rest = iter(arrays)
    return tuple(next(rest) if isinstance(k, str) else _thawed(k) for k in key)


def _thawed(entry: Any) -> Any:
    """Return a slice from its frozen form; other entries as they are."""
    return slice(*entry) if isinstance(entry, tuple) else entry


def argsort(
    x: Value, *, axis: int | None, descending: bool, dtype: Any = None
) -> Value:
    """Return stable sorting indices, as int64 unless told otherwise."""
    found = jnp.argsort(x, axis=axis, descending=descending, stable=True)
    return found.astype(index_dtype() if dtype is None else dtype)


def view(x: Value, *, dtype: Any) -> Value:
    """Return the same bits as elements of another dtype."""
    return jnp.asarray(x).view(dtype)


def byteswap(x: Value) -> Value:
    """Return elements with their bytes in the other order."""
    return jnp.asarray(x).byteswap()


def sort(x: Value, *, axis: int | None, descending: bool) -> Value:
    """Return sorted values."""
    return jnp.sort(x, axis=axis, descending=descending, stable=True)


def argmax(x: Value, *, axis: int | None, keepdims: bool) -> Value:
    """Return the first index of the largest value as int64; a NaN is the largest."""
    return jnp.argmax(x, axis=axis, keepdims=keepdims).astype(index_dtype())


def argmin(x: Value, *, axis: int | None, keepdims: bool) -> Value:
    """Return the first index of the smallest value as int64; a NaN is the smallest."""
    return jnp.argmin(x, axis=axis, keepdims=keepdims).astype(index_dtype())


def count_nonzero(x: Value, *, axis: Any, keepdims: bool) -> Value:
    """Return how many elements are not zero as int64."""
    return jnp.sum(is_nonzero(x), axis=axis, keepdims=keepdims, dtype=index_dtype())


@functools.wraps(jnp.bincount)
def bincount(x: Value, weights: Value = None, **options: Any) -> Value:
    """Return int64 counts; sums of weights have the weights' dtype."""
    found = jnp.bincount(x, weights, **options)
    return found if weights is not None else found.astype(index_dtype())


def searchsorted(
    x1: Value, x2: Value, sorter: Value, *, side: str, method: str = "scan"
) -> Value:
    """Return where each of `x2` would be inserted in the sorted `x1`, as int64."""
    if method == "scan" and _compares(x1.size, jnp.size(x2)):
        method = "compare_all"
    found = jnp.searchsorted(x1, x2, side=side, sorter=sorter, method=method)
    return found.astype(index_dtype())


def _compares(length: int, queries: int) -> bool:
    """Return whether comparing with all elements is faster than a search by halves.

    A search by halves is a loop that streams over the queries. It is faster than a
    comparison with all from some forty elements on (2**20 queries, 128 elements: 21 ms
    of processor time, not 345).
    """
    return length <= 32 or length * max(queries, 1) <= 2**16


def isin(x1: Value, x2: Value, *, invert: bool, method: str = "auto") -> Value:
    """Return whether each element of `x1` is in `x2`.

    By comparing with all of them, which streams over a long `x2`, unless a search by
    halves is wanted or is better.
    """
    dtype = jnp.result_type(x1, x2)
    x1, x2 = jnp.asarray(x1, dtype), jnp.asarray(x2, dtype)
    if method == "auto":
        few = _compares(x2.size, x1.size)
        method = "compare_all" if few else "binary_search"
    if method == "compare_all" or not x2.size:
        return jnp.isin(x1, x2, invert=invert, method="compare_all")
    line = jnp.sort(x2.reshape(-1))
    at = jnp.searchsorted(line, x1)
    found = x1 == jnp.take(line, at, mode="clip")
    return ~found if invert else found


def diff(x: Value, prepend: Value, append: Value, *, n: int, axis: int) -> Value:
    """Return the n-th difference between neighbours."""
    return jnp.diff(x, n=n, axis=axis, prepend=prepend, append=append)


def all_true(x: Value, **options: Any) -> Value:
    """Return whether all elements are true."""
    return jnp.all(_truth(x), **options)


def any_true(x: Value, **options: Any) -> Value:
    """Return whether some element is true."""
    return jnp.any(_truth(x), **options)


def _truth(x: Value) -> Value:
    """Return what is not zero of complex numbers: JAX looks at real parts only."""
    return x != 0 if jnp.issubdtype(x.dtype, jnp.complexfloating) else x


def reduce_where(
    x: Value, where: Value, initial: Value, *, function: Any, **options: Any
) -> Value:
    """Return a reduction of the elements where a mask is true."""
    if where is not None:
        options["where"] = where
    if initial is not None:
        options["initial"] = initial
    return function(x, **options)


def unstack(x: Value, *, axis: int) -> tuple[Value, ...]:
    """Return the slices of `x` along an axis."""
    return tuple(
        lax.squeeze(lax.slice_in_dim(x, i, i + 1, axis=axis), (axis,))
        for i in range(x.shape[axis])
    )


def concat(arrays: list[Value], *, axis: int) -> Value:
    """Return arrays joined along an axis, after promotion."""
    return jnp.concatenate(arrays, axis=axis)


def stack(arrays: list[Value], *, axis: int) -> Value:
    """Return arrays joined along a new axis, after promotion."""
    return jnp.stack(arrays, axis=axis)


def where(condition: Value, x1: Value, x2: Value) -> Value:
    """Return `x1` where the condition holds and `x2` elsewhere."""
    return jnp.where(condition, x1, x2)


def call_flat(
    operands: list[Value], *, function: Any, tree: Any, constants: tuple[Any, ...]
) -> Value:
    """Call any function with operands put back among its constants."""
    rest = iter(operands)
    leaves = [
        next(rest) if c is OPERAND else c.thawed() if isinstance(c, Frozen) else c
        for c in constants
    ]
    args, kwargs = jax.tree.unflatten(tree, leaves)
    return function(*args, **kwargs)


class _OperandMark:
    """Stands for an operand among the constants of a lifted call."""

    def __repr__(self) -> str:
        return "OPERAND"


OPERAND = _OperandMark()
"""Stands for an operand among the constants of a lifted call."""


def spacing(start: Value, stop: Value, *, gaps: int, dtype: Any) -> Value:
    """Return the distance between values of a linspace; NaN when there is none."""
    work = jnp.promote_types(dtype, jnp.float64)  # to be rounded once
    size = jnp.asarray(stop, work) - jnp.asarray(start, work)
    return (size / gaps if gaps > 0 else size * jnp.nan).astype(dtype)


def eye(k: Value, *, shape: tuple[int, int], dtype: Any) -> Value:
    """Return ones on the diagonal `k`, a run-time integer."""
    return (_column_less_row(shape) == k).astype(dtype)


def triangle(x: Value, k: Value, *, upper: bool) -> Value:
    """Return `x` with zeros on the wrong side of the diagonal `k`."""
    offset = _column_less_row(x.shape[-2:])
    keep = offset >= k if upper else offset <= k
    return jnp.where(jnp.broadcast_to(keep, x.shape), x, jnp.zeros((), x.dtype))


def _column_less_row(shape: tuple[int, ...]) -> Value:
    """Return the column number less the row number."""
    rows = lax.broadcasted_iota(index_dtype(), shape, 0)
    return lax.broadcasted_iota(index_dtype(), shape, 1) - rows


def nonzero(x: Value, *, size: int, fill_value: Any) -> tuple[Value, ...]:
    """Return the first `size` indices of what is not zero, as int64."""
    found = jnp.nonzero(x, size=size, fill_value=fill_value)
    return tuple(i.astype(index_dtype()) for i in found)


def of_indices(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results, which are indices, are int64."""

    @functools.wraps(function)
    def wide(*args: Any, **options: Any) -> Any:
        found = function(*args, **options)
        return jax.tree.map(lambda i: i.astype(index_dtype()), found)

    return wide


def unique(x: Value, fill_value: Value, *, size: int) -> tuple[Value, ...]:
    """Return `size` distinct elements, where they are first, inverse and counts."""
    found = jnp.unique_all(x, size=size, fill_value=fill_value)
    return found.values, *(i.astype(index_dtype()) for i in found[1:])


def repeat(x: Value, *, count: int, axis: int) -> Value:
    """Return each element `count` times, by broadcasting."""
    wide = jnp.broadcast_to(
        jnp.expand_dims(x, axis + 1),
        (*x.shape[: axis + 1], count, *x.shape[axis + 1 :]),
    )
    shape = (*x.shape[:axis], x.shape[axis] * count, *x.shape[axis + 1 :])
    return wide.reshape(shape)


def repeat_to(x: Value, counts: Value, *, axis: int, length: int) -> Value:
    """Return each element repeated, cut off or filled up to a length."""
    return jnp.repeat(x, jnp.asarray(counts), axis=axis, total_repeat_length=length)


def spread_about(
    x: Value, mean: Value, where: Value, *, function: Any, **options: Any
) -> Value:
    """Return a variance or standard deviation about a known mean."""
    return function(x, mean=mean, where=where, **options)


FEW = 32
"""Windows up to this long are made of slices, which is faster than by indices."""


def windows(x: Value, *, axis: int, length: int) -> Value:
    """Return the windows of a length along an axis, their elements as a last axis."""
    count = x.shape[axis] - length + 1
    if 0 < length <= FEW:
        parts = [lax.slice_in_dim(x, i, i + count, axis=axis) for i in range(length)]
        return jnp.stack(parts, axis=-1)
    shape = (count, length)
    first, offset = (lax.broadcasted_iota(index_dtype(), shape, k) for k in (0, 1))
    found = jnp.take(x, first + offset, axis=axis, mode="clip")
    return jnp.moveaxis(found, axis + 1, -1)


def take(x: Value, indices: Value, *, axis: int) -> Value:
    """Return elements at run-time positions; what is out of range fills with NaN."""
    return jnp.take(x, indices, axis=axis)


def reshape(x: Value, *, shape: tuple[int, ...]) -> Value:
    """Return the same elements in another shape."""
    return lax.reshape(jnp.asarray(x), shape)


def roll(x: Value, *, shift: tuple[int, ...], axis: tuple[int, ...]) -> Value:
    """Return elements moved along axes."""
    return jnp.roll(x, shift, axis)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A small NumPy array among the constants of a lifted call, by value."""

    data: bytes
    """Its elements."""

    shape: tuple[int, ...]
    """Its shape."""

    dtype: np.dtype[Any]
    """Its dtype."""

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> "Frozen":
        """Return an array by value."""
        return cls(array.tobytes(), array.shape, array.dtype)

    def thawed(self) -> np.ndarray[Any, Any]:
        """Return the array."""
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)
