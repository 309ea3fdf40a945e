"""Shapes and orders, joins, sorts, products: against NumPy."""

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from tests.numpy.samples import GRID, assert_equal, disk

X = disk(GRID)
A, B = GRID[0], GRID[1] * 10

SAME: dict[str, tuple[Any, Any]] = {
    "reshape": (jnp.reshape(X, (4, -1)), GRID.reshape(4, -1)),
    "reshape_scalar": (jnp.reshape(X[0, 0, :1], ()), GRID[0, 0, :1].reshape(())),
    "method reshape": (X.reshape(3, 8), GRID.reshape(3, 8)),
    "ravel": (jnp.ravel(X), GRID.ravel()),
    "permute_dims": (jnp.permute_dims(X, (2, 0, -2)), GRID.transpose(2, 0, 1)),
    "transpose": (X.transpose(), GRID.T),
    "T": (X.T, GRID.T),
    "mT": (X.mT, GRID.swapaxes(-1, -2)),
    "matrix_transpose": (jnp.matrix_transpose(X), GRID.swapaxes(-1, -2)),
    "swapaxes": (jnp.swapaxes(X, 0, -1), GRID.swapaxes(0, -1)),
    "moveaxis": (jnp.moveaxis(X, (0, 1), (-1, 0)), np.moveaxis(GRID, (0, 1), (-1, 0))),
    "concat": (jnp.concat([X, X], axis=1), np.concat([GRID, GRID], axis=1)),
    "concat flat": (jnp.concat([X, X], axis=None), np.concat([GRID, GRID], axis=None)),
    "stack": (jnp.stack([X, X], axis=-1), np.stack([GRID, GRID], axis=-1)),
    "expand_dims": (jnp.expand_dims(X, (0, -1)), np.expand_dims(GRID, (0, -1))),
    "squeeze": (jnp.squeeze(X[:1, :, :1], (0, 2)), GRID[0, :, 0]),
    "squeeze all": (jnp.squeeze(X[:1]), GRID[0]),
    "broadcast_to": (jnp.broadcast_to(X[0], (5, 3, 4)), np.broadcast_to(A, (5, 3, 4))),
    "flip": (jnp.flip(X), np.flip(GRID)),
    "flip one": (jnp.flip(X, axis=-1), np.flip(GRID, -1)),
    "roll": (jnp.roll(X, -5), np.roll(GRID, -5)),
    "roll two": (jnp.roll(X, (1, -2), (0, 2)), np.roll(GRID, (1, -2), (0, 2))),
    "roll both": (jnp.roll(X, 1, (0, 2)), np.roll(GRID, 1, (0, 2))),
    "repeat": (jnp.repeat(X, 3, axis=1), np.repeat(GRID, 3, axis=1)),
    "repeat flat": (jnp.repeat(X, 2), np.repeat(GRID, 2)),
    "repeat counts": (
        jnp.repeat(X, jnp.asarray([0, 2, 1]), axis=1),
        np.repeat(GRID, [0, 2, 1], axis=1),
    ),
    "tile": (jnp.tile(X, (2, 1, 1, 3)), np.tile(GRID, (2, 1, 1, 3))),
    "sort": (jnp.sort(X, axis=1), np.sort(GRID, axis=1)),
    "sort down": (jnp.sort(X, descending=True), -np.sort(-GRID)),
    "argsort": (jnp.argsort(X, axis=0), np.argsort(GRID, axis=0)),
    "matmul": (jnp.matmul(X, X.mT), GRID @ GRID.swapaxes(1, 2)),
    "matmul operator": (X[0] @ X[1].T, A @ GRID[1].T),
    "matmul vectors": (X[0, 0] @ X[1, 1], A[0] @ GRID[1, 1]),
    "tensordot": (jnp.tensordot(X, X, axes=((0, -1), (0, 2))),
                  np.tensordot(GRID, GRID, axes=((0, -1), (0, 2)))),
    "tensordot outer": (jnp.tensordot(X[0], X[1], axes=0), np.tensordot(A, GRID[1], 0)),
    "vecdot": (jnp.vecdot(X, X[0], axis=-1), np.vecdot(GRID, A)),
    "vecdot first": (jnp.vecdot(X, X, axis=-2), (GRID * GRID).sum(-2)),
    "where": (jnp.where(X > 9, X, 0), np.where(GRID > 9, GRID, 0)),
    "isin": (jnp.isin(X, jnp.asarray([3, 5])), np.isin(GRID, [3, 5])),
    "isin not": (jnp.isin(X, 3, invert=True), np.isin(GRID, 3, invert=True)),
    "nonzero": (jnp.stack(jnp.nonzero(X % 5)), np.stack(np.nonzero(GRID % 5))),
    "count_nonzero": (jnp.count_nonzero(X, axis=1), np.count_nonzero(GRID, axis=1)),
    "argmax": (jnp.argmax(X % 5, axis=1), np.argmax(GRID % 5, axis=1)),
    "argmin flat": (jnp.argmin(X), np.argmin(GRID)),
    "argmax kept": (jnp.argmax(X, keepdims=True), np.argmax(GRID, keepdims=True)),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SAME))
def test_it_is_numpys(name: str):
    found, expected = SAME[name]
    with jask.config(block_bytes=48):
        assert_equal(found, expected)


def test_several_results_are_tuples():
    parts = jnp.unstack(X, axis=1)
    assert isinstance(parts, tuple)
    for i, part in enumerate(parts):
        assert_equal(part, GRID[:, i])
    a, b = jnp.broadcast_arrays(X[0], X[1, 0])
    assert_equal(a, A)
    assert_equal(b, np.broadcast_to(GRID[1, 0], (3, 4)))
    assert jnp.broadcast_shapes((3, 1), (4,)) == (3, 4)


def test_a_descending_argsort_keeps_equal_elements_in_order():
    x = jnp.asarray([4, 7, 4, 1, 7, 4])
    assert_equal(jnp.argsort(x, descending=True), [1, 4, 0, 2, 5, 3])


def test_joins_promote_first():
    small, large = jnp.asarray([1], dtype=jnp.int8), jnp.asarray([70000])
    assert_equal(jnp.concat([small, large]), [1, 70000])
    assert_equal(jnp.stack([small, large]), [[1], [70000]])
    assert jnp.concatenate([small, large], dtype=jnp.float32).dtype == np.float32


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_puts_nan_last(side: Any):
    h = np.asarray([1.0, 3.0, 3.0, 8.0, np.nan, np.nan])
    q = np.asarray([[0.0, 3.0, 5.0], [8.0, 99.0, np.nan]])
    found = jnp.searchsorted(disk(h), disk(q), side=side)
    assert_equal(found, np.searchsorted(h, q, side=side))
    order = np.argsort(-np.arange(6))
    found = jnp.searchsorted(disk(h[order]), 3.0, sorter=order)
    assert_equal(found, np.int64(1))


def test_unique_functions_are_numpys():
    x = X % 5
    values, indices, inverse, counts = np.unique(
        GRID % 5, return_index=True, return_inverse=True, return_counts=True
    )
    found = jnp.unique_all(x)
    for f, e in zip(found, (values, indices, inverse, counts), strict=True):
        assert_equal(f, e)
    assert_equal(jnp.unique_values(x), values)
    assert_equal(jnp.unique_counts(x).counts, counts)
    assert_equal(jnp.unique_inverse(x).inverse_indices, inverse)
    assert jnp.unique_values(jnp.asarray([np.nan, np.nan])).shape == (2,)


@pytest.mark.parametrize(
    "name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"]
)
@pytest.mark.parametrize("options", [{"size": 3}, {"size": 7, "fill_value": 9}])
def test_unique_functions_with_a_size_are_jax_numpys_and_can_be_traced(
    name: str, options: Any
):
    x = np.asarray([[3, 1, 3], [4, 1, 4]])
    expected = jax.tree.leaves(getattr(jax.numpy, name)(x, **options))
    own = getattr(jnp, name)
    for found in (own(disk(x), **options), jax.jit(partial(own, **options))(disk(x))):
        for f, e in zip(jax.tree.leaves(found), expected, strict=True):
            assert_equal(f, np.asarray(e, np.int64))


NUMBER: Any = 3
WRONG: list[tuple[Any, Any]] = [
    (lambda: jnp.reshape(X, (7, 9)), ValueError),
    (lambda: jnp.reshape(X, (-1, -1)), ValueError),
    (lambda: jnp.concat([X, X[0]]), (ValueError, TypeError)),
    (lambda: jnp.concat([]), ValueError),
    (lambda: jnp.concat(NUMBER), TypeError),
    (lambda: jnp.stack([X, X[0]]), ValueError),
    (lambda: jnp.squeeze(X, axis=0), ValueError),
    (lambda: jnp.expand_dims(X, axis=9), ValueError),
    (lambda: jnp.permute_dims(X, (0, 1)), ValueError),
    (lambda: jnp.permute_dims(X, (0, 1, 1)), ValueError),
    (lambda: jnp.moveaxis(X, 0, (1, 2)), ValueError),
    (lambda: jnp.roll(X, (1, 2), (0, 1, 2)), ValueError),
    (lambda: jnp.repeat(X, -1), ValueError),
    (lambda: jnp.matmul(X[0], X[0]), (ValueError, TypeError)),
    (lambda: jnp.vecdot(X, X[:, :, :2]), ValueError),
    (lambda: jnp.broadcast_to(X, (2, 2)), ValueError),
    (lambda: jnp.sort(X, axis=3), IndexError),
    (lambda: jnp.searchsorted(X, 1), ValueError),
    (lambda: jnp.where(X > 1, X), ValueError),
    (lambda: jnp.nonzero(jnp.asarray(1)), ValueError),
    (lambda: X + X[:, :2], (ValueError, TypeError)),
]


@pytest.mark.parametrize(("call", "error"), WRONG, ids=range(len(WRONG)))
def test_what_does_not_fit_is_refused_at_the_call(call: Any, error: Any):
    with pytest.raises(error):
        call()
