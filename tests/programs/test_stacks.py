"""Stacks of small matrices, and of short lines, in a file larger than the budget."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest
from jax import lax

import jask
from jask.testing.same import assert_same
from jask.trace.counters import COUNTERS

linalg = jax_numpy.linalg

COUNT, SIDE = 600, 4
BUDGET = 40_000
"""Bytes; the stack has 76800."""


def _sum_of(fn: Callable[..., Any]) -> Callable[..., Any]:
    def loss(*arrays: Any) -> Any:
        leaves = jax.tree.leaves(fn(*arrays))
        return sum(jax_numpy.sum(jax_numpy.sin(leaf)) for leaf in leaves)

    return loss


def _solve(a: Any) -> Any:
    return linalg.solve(a, a[..., :1] + 1)


def _plain(a: Any) -> Any:
    return [*lax.linalg.lu(a), lax.linalg.schur(a)[0]]


def _householder(a: Any) -> Any:
    return lax.linalg.tridiagonal(a + a.mT)


VALUES: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a: linalg.cholesky(a @ a.mT + jax_numpy.eye(SIDE)),
    "cond": linalg.cond,
    "det": linalg.det,
    "eig": lambda a: jax_numpy.sort(jax_numpy.abs(linalg.eigvals(a)), axis=-1),
    "eigh": lambda a: linalg.eigh(a + a.mT),
    "eigvalsh": lambda a: linalg.eigvalsh(a + a.mT),
    "inv": linalg.inv,
    "lu and schur": _plain,
    "matrix_norm": lambda a: linalg.matrix_norm(a, ord=2),
    "matrix_power": lambda a: linalg.matrix_power(a, -2),
    "matrix_rank": linalg.matrix_rank,
    "pinv": linalg.pinv,
    "qr": linalg.qr,
    "slogdet": linalg.slogdet,
    "solve": _solve,
    "svd": lambda a: linalg.svd(a[..., :3], full_matrices=True),
    "svdvals": linalg.svdvals,
    "tridiagonal": _householder,
}

GRADIENTS: dict[str, Callable[..., Any]] = {
    n: VALUES[n] for n in ("cholesky", "det", "inv", "qr", "solve", "svdvals")
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("stacks")
    rng = np.random.default_rng(8)
    a = rng.standard_normal((COUNT, SIDE, SIDE)) + 3 * np.eye(SIDE)
    np.save(folder / "a.npy", a)
    return folder, a


def _streamed(fn: Callable[..., Any], folder: Path, budget: int = BUDGET) -> list[Any]:
    opaque = COUNTERS.opaque_steps
    got = []
    with jask.config(memory_budget=budget, durable=False):
        results = jax.tree.leaves(jask.lift(fn)(jask.open(folder / "a.npy")))
        for result in results:
            jask.save(folder / "out.npy", result)
            got.append(np.load(folder / "out.npy"))
    assert COUNTERS.opaque_steps == opaque
    return got


@pytest.mark.parametrize("name", VALUES)
def test_matrices_of_a_stack_stream(name: str, stack: tuple[Path, Any]) -> None:
    folder, a = stack
    got = _streamed(VALUES[name], folder)
    expected = jax.tree.leaves(VALUES[name](jax_numpy.asarray(a)))
    for g, e in zip(got, expected, strict=True):
        assert_same(g, e, sums=200)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_a_stack_stream(name: str, stack: tuple[Path, Any]) -> None:
    folder, a = stack
    gradient = jax.grad(_sum_of(GRADIENTS[name]))
    (got,) = _streamed(gradient, folder)
    assert_same(got, gradient(jax_numpy.asarray(a)), sums=1000)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_largest_of_each_line_stream(axis: int, tmp_path: Path) -> None:
    a = np.random.default_rng(9).standard_normal((1000, 1000))
    np.save(tmp_path / "a.npy", a)

    def largest(a: Any) -> Any:
        return lax.top_k(a, 3, axis=axis)

    values, places = _streamed(largest, tmp_path, budget=4_000_000)
    expected, found = largest(jax_numpy.asarray(a))
    assert_same(values, expected)
    assert_same(places, found)
