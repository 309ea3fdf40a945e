"""Searches in lines that do not fit memory: kernels that sort both, and stream.

1. The elements of both arrays are sorted together, beside their positions. The sort is
   stable, so of equal elements those of the first array come first.
2. What is asked of each element is a running sum, or a running maximum, of what comes
   before it.
3. A sort by the positions brings the answers back in the order of the questions.
"""

from typing import Any

import jax.numpy as jnp
from jax import lax

from jask.numpy._kernels import index_dtype

type Value = Any

__all__ = ["among", "is_new", "searched"]


def searched(line: Value, queries: Value, *, side: str) -> Value:
    """Return where each query would be inserted in a sorted line, as int64."""
    left = side == "left"
    pair = (queries, line) if left else (line, queries)
    _, order, split = _merged(*pair)
    of_line = (order >= split) if left else (order < split)
    before = jnp.cumsum(of_line, dtype=index_dtype())
    found = lax.sort((order, before), num_keys=1)[1]
    return (found[:split] if left else found[split:]).reshape(jnp.shape(queries))


def among(x: Value, line: Value, *, invert: bool) -> Value:
    """Return whether each element of `x` equals one of a line, in any order.

    The last bit of a mark says whether the first of equal elements is of the line; the
    marks rise from one value to the next.
    """
    values, order, split = _merged(line, x)
    new = is_new(values)
    place = lax.iota(index_dtype(), values.shape[0])
    of_line = (order < split).astype(index_dtype())
    mark = lax.cummax(jnp.where(new, 2 * place + 2 + of_line, 0))
    held = (mark % 2 == 1) ^ invert
    return lax.sort((order, held), num_keys=1)[1][split:].reshape(jnp.shape(x))


def _merged(first: Value, second: Value) -> tuple[Value, Value, int]:
    """Return the elements of both in order, where each was, and the first's number."""
    dtype = jnp.result_type(first, second)
    lines = [jnp.ravel(x).astype(dtype) for x in (first, second)]
    both = jnp.concatenate(lines)
    places = lax.iota(index_dtype(), both.shape[0])
    values, order = lax.sort((both, places), num_keys=1)
    return values, order, lines[0].shape[0]


def is_new(x: Value, *, equal_nan: bool = False) -> Value:
    """Return where a sorted element differs from the one before it."""
    differs = x[1:] != x[:-1]
    if equal_nan and jnp.issubdtype(x.dtype, jnp.inexact):
        differs &= ~(jnp.isnan(x[1:]) & jnp.isnan(x[:-1]))
    return jnp.concatenate([jnp.ones((1,), bool), differs])
