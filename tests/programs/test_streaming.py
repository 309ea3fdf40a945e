"""Every function of the first list runs on operands larger than its budget.

No step may compute a whole array in memory for want of a rule, and the result, read
back from a file, is jax.numpy's.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.testing.same import assert_same
from jask.trace.counters import COUNTERS

SHAPE = (96, 128)
BUDGET = 40_000
"""Bytes; the operands have 49152 each."""

UNARY = [
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh"),
    *("exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10", "log1p"),
    *("log2", "negative", "positive", "reciprocal", "round", "sign", "signbit", "sin"),
    *("sinh", "sqrt", "square", "tan", "tanh", "trunc"),
]
BINARY = [
    *("add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater"),
    *("greater_equal", "hypot", "less", "less_equal", "logaddexp", "maximum"),
    *("minimum", "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract"),
]


def of_one(name: str) -> Callable[..., Any]:
    return lambda xp, x, y: getattr(xp, name)(x)


def of_two(name: str) -> Callable[..., Any]:
    return lambda xp, x, y: getattr(xp, name)(x, y)


# name: a function of a namespace and two arrays of one shape, and how many sums it has
CASES: dict[str, tuple[Callable[..., Any], int]] = {
    **{n: (of_one(n), 8) for n in UNARY},
    **{n: (of_two(n), 8) for n in BINARY},
    "sum": (lambda xp, x, y: xp.sum(x), 12_000),
    "sum rows": (lambda xp, x, y: xp.sum(x, axis=1), 128),
    "prod": (lambda xp, x, y: xp.prod(1 + x / 100, axis=0), 128),
    "min": (lambda xp, x, y: xp.min(x, axis=0), 0),
    "max": (lambda xp, x, y: xp.max(x), 0),
    "mean": (lambda xp, x, y: xp.mean(x, axis=0), 128),
    "var": (lambda xp, x, y: xp.var(x), 12_000),
    "std": (lambda xp, x, y: xp.std(x, axis=1), 256),
    "any": (lambda xp, x, y: xp.any(x > 3, axis=0), 0),
    "all": (lambda xp, x, y: xp.all(x > -3), 0),
    "argmax": (lambda xp, x, y: xp.argmax(x, axis=1), 0),
    "argmin": (lambda xp, x, y: xp.argmin(x), 0),
    "matmul": (lambda xp, x, y: xp.matmul(x, y.T), 256),
    "tensordot": (lambda xp, x, y: xp.tensordot(x, y, axes=((0,), (0,))), 256),
    "vecdot": (lambda xp, x, y: xp.vecdot(x, y), 256),
    "reshape": (lambda xp, x, y: xp.reshape(x, (48, 256)), 0),
    "odd reshape": (lambda xp, x, y: xp.reshape(x[:, :-1], (127, 96)), 0),
    "permute_dims": (lambda xp, x, y: xp.permute_dims(x, (1, 0)), 0),
    "concat": (lambda xp, x, y: xp.concat([x, y], axis=1), 0),
    "stack": (lambda xp, x, y: xp.stack([x, y], axis=1), 0),
    "expand_dims": (lambda xp, x, y: xp.expand_dims(x, axis=1), 0),
    "squeeze": (lambda xp, x, y: xp.squeeze(xp.expand_dims(x, axis=1), axis=1), 0),
    "broadcast_to": (lambda xp, x, y: xp.broadcast_to(x, (3, *SHAPE)), 0),
    "flip": (lambda xp, x, y: xp.flip(x), 0),
    "roll": (lambda xp, x, y: xp.roll(x, (5, -7), axis=(0, 1)), 0),
    "slices": (lambda xp, x, y: x[3:90:4, ::-1], 0),
    "integers": (lambda xp, x, y: x[-1, None, 5:], 0),
    "where": (lambda xp, x, y: xp.where(x > y, x, y), 0),
    "clip": (lambda xp, x, y: xp.clip(x, -1, 1), 0),
    "astype": (lambda xp, x, y: xp.astype(x, xp.int32), 0),
    "cumulative_sum": (lambda xp, x, y: xp.cumulative_sum(x, axis=0), 256),
    "cumulative_sum rows": (lambda xp, x, y: xp.cumulative_sum(x, axis=1), 256),
    "softmax": (
        lambda xp, x, y: xp.exp(x - xp.max(x)) / xp.sum(xp.exp(x - xp.max(x))),
        12_000,
    ),
    "creation": (
        lambda xp, x, y: (
            xp.arange(12_288, dtype=xp.float32) + xp.ones(12_288, dtype=xp.float32)
        ),
        2,
    ),
    "eye": (lambda xp, x, y: xp.eye(96, 128, k=3, dtype=xp.float32) + x, 2),
    "linspace": (lambda xp, x, y: xp.linspace(0, 1, 12_288, dtype=xp.float32), 4),
    "triangles": (lambda xp, x, y: xp.tril(x) - xp.triu(y, k=2), 2),
}


@pytest.fixture(scope="module")
def operands(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, np.ndarray, np.ndarray]:
    folder = tmp_path_factory.mktemp("streaming")
    rng = np.random.default_rng(3)
    x, y = (rng.standard_normal(SHAPE).astype("f4") for _ in range(2))
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", y)
    return folder, x, y


@pytest.mark.parametrize("name", CASES)
def test_a_function_streams_operands_larger_than_its_budget(name: str, operands):
    folder, x, y = operands
    fn, sums = CASES[name]
    opaque = COUNTERS.opaque_steps
    with jask.config(memory_budget=BUDGET, durable=False):
        result = fn(jnp, jask.open(folder / "x.npy"), jask.open(folder / "y.npy"))
        jask.save(folder / "out.npy", result)
    assert COUNTERS.opaque_steps == opaque
    with jax.numpy_dtype_promotion("standard"):
        expected = fn(jax_numpy, jax_numpy.asarray(x), jax_numpy.asarray(y))
    assert_same(np.load(folder / "out.npy"), expected, sums=sums)
