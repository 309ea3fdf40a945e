"""NumPy's own functions on disk arrays: lazy where they can be, else refused."""

from typing import Any

import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask import DiskArray
from jask.errors import MemoryBudgetError
from tests.numpy.samples import GRID, assert_equal, disk

X = GRID.astype("float32") / 4
TEXT: Any = "text"

LAZY: dict[str, Any] = {
    "exp": np.exp,
    "negative": np.negative,
    "absolute": np.absolute,
    "add a number": lambda x: np.add(x, 1),
    "an array before": lambda x: np.subtract(X[0], x),
    "a scalar before": lambda x: np.float32(2) * x,
    "matmul": lambda x: np.matmul(x, X[0].T),
    "isfinite": np.isfinite,
    "all": np.all,
    "amax": lambda x: np.max(x, axis=1),
    "any": lambda x: np.any(x, axis=0, keepdims=True),
    "argmax": lambda x: np.argmax(x, axis=-1),
    "clip": lambda x: np.clip(x, 1, 3),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "mean": lambda x: np.mean(x, axis=(0, 1)),
    "prod": lambda x: np.prod(x, axis=0),
    "ptp": lambda x: np.ptp(x, axis=1),
    "round": lambda x: np.round(x, 1),
    "std": np.std,
    "sum": np.sum,
    "sum where": lambda x: np.sum(x, where=X > 1, initial=2),
    "var": lambda x: np.var(x, ddof=1),
    "add.accumulate": np.add.accumulate,
    "add.outer": lambda x: np.add.outer(x, X[0]),
    "add.reduce": np.add.reduce,
    "maximum.accumulate": lambda x: np.maximum.accumulate(x, axis=2),
    "subtract.reduce": np.subtract.reduce,
    "maximum.reduce": lambda x: np.maximum.reduce(x, axis=None),
    "logical_and.reduce": lambda x: np.logical_and.reduce(x, axis=2, keepdims=True),
}


@pytest.mark.parametrize("name", LAZY)
def test_a_function_of_numpy_is_lazy_and_gives_what_it_gives_of_arrays(name: str):
    found = LAZY[name](disk(X))
    assert isinstance(found, DiskArray)
    expected = np.asarray(LAZY[name](X))
    # float32 functions of XLA and NumPy differ in the last bits
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    # float32: XLA's exp, and sums in another order
    np.testing.assert_allclose(np.asarray(found), expected, rtol=3e-6)


def test_a_function_with_two_results_gives_both():
    whole, part = np.modf(disk(X)), np.modf(X)
    for f, e in zip(whole, part, strict=True):
        assert_equal(f, e)


def test_out_in_memory_is_filled():
    out = np.zeros_like(X)
    assert np.multiply(disk(X), 2, out=out) is out
    assert_equal(out, X * 2)
    out += disk(X)
    assert_equal(out, X * 3)
    with pytest.raises(TypeError, match="Cannot cast"):
        np.add(disk(X), 1.5, out=np.zeros(X.shape, np.int32))


def test_out_on_disk_is_refused():
    for call in (
        lambda: np.add(X, 1, out=disk(X)),
        lambda: np.sum(disk(X), out=np.zeros(())),
    ):
        with pytest.raises(TypeError, match="immutable"):
            call()


def test_what_is_over_the_budget_is_not_loaded():
    with jask.config(memory_budget="1MB"):
        large = jnp.zeros((1_000_000,))
        assert np.exp(large).shape == (1_000_000,)
        with pytest.raises(MemoryBudgetError):
            np.exp(large, out=np.zeros(1_000_000, np.float32))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: np.add.at(disk(X), 0, 1), r"numpy.add.at\(x\)"),
        (lambda: np.hypot.reduce(disk(X)), r"numpy.hypot.reduce"),
        (lambda: np.exp(disk(X), dtype="f8"), r"numpy.exp\(x, dtype=...\)"),
        (lambda: np.frompyfunc(abs, 1, 1)(disk(X)), "jask.numpy"),
        (lambda: np.exp(disk(X), where=X > 1), "where"),
    ],
)
def test_what_would_load_the_array_is_refused_with_the_remedy(call: Any, match: str):
    with pytest.raises(TypeError, match=match):
        call()


def test_operands_that_may_know_better_are_asked():
    class Other:
        def __array_ufunc__(self, *_: Any, **__: Any) -> str:
            return "mine"

    other: Any = Other()
    assert np.add(disk(X), other) == "mine"
    with pytest.raises(TypeError, match="returned NotImplemented"):
        np.add(disk(X), TEXT)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.add.reduceat(x, [0, 1]),
        lambda x: np.add(x, [[1.0, 2.0]]),
        lambda x: np.multiply.outer(x, (1.0, 2.0)),
        lambda x: jnp.add.reduceat(x, [0, 1]),
        lambda x: jnp.add.outer(x, [1.0]),
    ],
    ids=range(5),
)
def test_a_list_beside_a_disk_array_is_refused_with_a_remedy(call: Any):
    x = jask.from_numpy(np.ones((2, 2), np.float32))
    with pytest.raises(TypeError, match=r"got (list|tuple)\. Convert it with"):
        call(x)


def test_an_array_of_indices_is_reduced_at():
    x = np.arange(6, dtype=np.float32)
    places = np.asarray([0, 4], np.int64)
    found = np.add.reduceat(jask.from_numpy(x), places)
    np.testing.assert_array_equal(np.asarray(found), [6, 9])
