"""Convolutions, sliding windows and their derivatives, of operands over the budget.

No step may compute a whole array in memory for want of a rule, and the result, read
back from a file, is JAX's.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import jask
import jask.numpy as jnp
from jask.errors import MemoryBudgetError
from jask.testing.same import assert_same
from jask.trace.counters import COUNTERS

type Array = np.ndarray[Any, Any]

RNG = np.random.default_rng(6)
BUDGET = 60_000
"""Bytes; the operand has 368640 in each of its shapes."""

SHAPES = {
    "images": (32, 3, 30, 32),
    "large image": (1, 1, 288, 320),
    "rows": (8, 45, 256),
    "line": (92_160,),
}


def _weights(*shape: int) -> Array:
    return np.asarray(RNG.integers(-3, 4, shape).astype("f4"))


IMAGE, LARGE, ROWS, EACH = (
    _weights(*s) for s in ((4, 3, 3, 3), (2, 1, 5, 5), (30, 3, 4), (45, 1, 3))
)
LINE = _weights(9)


def _images(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (2, 1), [(1, 1), (0, 2)], (1, 1), (1, 2))


def _spread(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1, 1), [(4, 4), (2, 3)], (2, 3), (2, 1))


def _grouped(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1,), "VALID", feature_group_count=15)


def _each(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (2,), [(1, 3)], feature_group_count=45)


def _batches(x: Any, w: Any) -> Any:
    numbers = ("NWC", "OWI", "NWC")
    return lax.conv_general_dilated(
        x, w, (1,), "SAME", batch_group_count=4, dimension_numbers=numbers
    )


def _largest(x: Any, start: float = -np.inf) -> Any:
    size, strides = (1, 1, 3, 2), (1, 1, 2, 2)
    return lax.reduce_window(x, start, lax.max, size, strides, "SAME")


def _overlapping(x: Any) -> Any:
    return lax.reduce_window(x, np.inf, lax.min, (1, 1, 3, 5), (1, 1, 1, 2), "VALID")


def _total(x: Any) -> Any:
    size, ones = (1, 1, 3, 3), (1, 1, 1, 1)
    step = (1, 1, 1, 2)
    return lax.reduce_window(x, 0.0, lax.add, size, (1, 1, 2, 1), "SAME", ones, step)


def _average_of_all(x: Any) -> Any:
    size = (1, 1, *x.shape[2:])
    return (
        lax.reduce_window(x, 0.0, lax.add, size, (1, 1, 1, 1), "VALID") / x[0, 0].size
    )


def _average_of_parts(x: Any) -> Any:
    size = (1, 1, 16, 20)
    return lax.reduce_window(x, 0.0, lax.add, size, size, "VALID") / 320


def _largest_and_product(x: Any) -> Any:
    def join(a: Any, b: Any) -> Any:
        return lax.max(a[0], b[0]), a[1] * b[1]

    start = (np.float32(-np.inf), np.float32(1))
    return lax.reduce_window((x, x), start, join, (1, 4), (1, 2), "SAME")


def _squared(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *a: (fn(*a) ** 2).sum()


def _both(fn: Callable[..., Any]) -> Callable[..., Any]:
    return jax.value_and_grad(_squared(fn), (0, 1))


def _pushed(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: jax.jvp(fn, (x,), (x + 1,))[1]


# name: shape, a function of arrays in memory, weights, rounded additions in a chain
CASES: dict[str, tuple[str, Callable[..., Any], Sequence[Array], int]] = {
    "images": ("images", _images, [IMAGE], 27),
    "images, gradient": ("images", _both(_images), [IMAGE], 20_000),
    "one large image": ("large image", _spread, [LARGE], 50),
    "one large image, gradient": ("large image", _both(_spread), [LARGE], 100_000),
    "groups": ("rows", _grouped, [ROWS], 12),
    "groups, gradient": ("rows", _both(_grouped), [ROWS], 2_000),
    "each feature": ("rows", _each, [EACH], 3),
    "each feature, gradient": ("rows", _both(_each), [EACH], 2_000),
    "batches": (
        "rows",
        lambda x, w: _batches(x.reshape(8, 45, 256)[..., :12], w),
        [_weights(8, 5, 12)],
        60,
    ),
    "convolve": ("line", jax.numpy.convolve, [LINE], 9),
    "convolve, gradient": ("line", _both(jax.numpy.convolve), [LINE], 100_000),
    "correlate": ("line", lambda x, w: jax.numpy.correlate(x, w, "same"), [LINE], 9),
    "largest": ("images", _largest, [], 0),
    "largest, gradient": ("images", jax.value_and_grad(_squared(_largest)), [], 20_000),
    "largest, tangent": ("images", _pushed(_largest), [], 1),
    "smallest": ("large image", _overlapping, [], 0),
    "smallest, gradient": ("large image", jax.grad(_squared(_overlapping)), [], 15),
    "total": ("large image", _total, [], 9),
    "total, gradient": ("large image", jax.grad(_squared(_total)), [], 90),
    "average of an image": ("large image", _average_of_all, [], 400),
    "average of parts": ("large image", _average_of_parts, [], 400),
    "average of parts, gradient": (
        "large image",
        jax.grad(_squared(_average_of_parts)),
        [],
        400,
    ),
    "any function": ("rows", lambda x: _largest_and_product(x[0]), [], 4),
    "running": ("line", lax.cumlogsumexp, [], 100),
}


@pytest.fixture(scope="module")
def operands(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Array]:
    folder = tmp_path_factory.mktemp("windows")
    x = RNG.integers(-8, 9, 92_160).astype("f4") / 4
    for name, shape in SHAPES.items():
        np.save(folder / f"{name}.npy", x.reshape(shape))
    return folder, x


@pytest.mark.parametrize("name", CASES)
def test_windows_slide_over_operands_larger_than_the_budget(
    name: str, operands: tuple[Path, Array]
) -> None:
    folder, x = operands
    file, fn, weights, sums = CASES[name]
    opaque = COUNTERS.opaque_steps
    with jask.config(memory_budget=BUDGET, durable=False):
        results = jax.tree.leaves(
            jask.lift(fn)(jask.open(folder / f"{file}.npy"), *weights)
        )
        got = []
        for i, result in enumerate(results):
            jask.save(folder / f"out{i}.npy", result)
            got.append(np.load(folder / f"out{i}.npy"))
    assert COUNTERS.opaque_steps == opaque
    expected = jax.tree.leaves(fn(x.reshape(SHAPES[file]), *weights))
    for g, e in zip(got, expected, strict=True):
        assert_same(g, e, sums=sums)


def test_a_maximum_over_all_of_an_image_is_refused_where_its_gradient_cannot_be_cut(
    operands: tuple[Path, Array],
) -> None:
    folder, x = operands

    def loss(x: Any) -> Any:
        size, ones = (1, 1, 288, 320), (1, 1, 1, 1)
        return lax.reduce_window(x, -np.inf, lax.max, size, ones, "VALID").sum()

    with jask.config(memory_budget=BUDGET, durable=False):
        file = jask.open(folder / "large image.npy")
        assert float(jask.lift(loss)(file)) == x.max()
        with pytest.raises(MemoryBudgetError, match="select_and_scatter_add"):
            jask.materialize(jnp.sum(jask.lift(jax.grad(loss))(file)))
