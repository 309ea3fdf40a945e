"""Steps after a large fold or a scan: no byte of the large result is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jask
import jask.numpy as jnp
from jask.execute.run import ToScratch, prepare
from jask.stores.traffic import Traffic, snapshot

BUDGET = 300_000
RNG = np.random.default_rng(5)


def whole(*shape: int) -> np.ndarray:
    """Small whole numbers: sums and products of them are exact."""
    return RNG.integers(-4, 5, shape).astype("f4")


A, B, C, R = whole(96, 6000), whole(6000, 80), whole(80), whole(96, 80)
X, Y = whole(9000, 12), whole(9000, 12)
ARRAYS = {"a": A, "b": B, "c": C, "r": R, "x": X, "y": Y}


def counted(
    folder: Path, fn: Callable[..., Any], names: str, budget: int = BUDGET
) -> tuple[np.ndarray, Traffic]:
    """Return what a function of files leaves in a file, and what that moved."""
    for name in names:
        np.save(folder / f"{name}.npy", ARRAYS[name])
    with jask.config(memory_budget=budget, durable=False):
        result = fn(jnp, *(jask.open(folder / f"{n}.npy") for n in names))
        prepared = prepare([result.node], [ToScratch()])
        assert prepared.plan.projected <= budget
        before = snapshot()
        jask.save(folder / "out.npy", result)
        moved = snapshot() - before
    return np.load(folder / "out.npy"), moved


# name: a function of a namespace and arrays; which arrays; reads of them at most
CASES: dict[str, tuple[Callable[..., Any], str, float]] = {
    "relu and bias": (lambda xp, a, b, c: xp.maximum(a @ b, 0) + c, "abc", 1.5),
    "residual": (lambda xp, a, b, r: 2 * (a @ b) - r, "abr", 1.5),
    "transposed": (lambda xp, a, b: xp.permute_dims(a @ b, (1, 0)) + 1, "ab", 1.5),
    "cumsum scaled": (lambda xp, x: xp.cumulative_sum(x, axis=0) * 2, "x", 1.0),
    "cumsum and another": (
        lambda xp, x, y: xp.cumulative_sum(x, axis=0) * 2 + y,
        "xy",
        1.0,
    ),
    "cumsum and its operand": (
        lambda xp, x: xp.cumulative_sum(x, axis=0) - x,
        "x",
        1.0,
    ),
    "maximum of cumsum": (lambda xp, x: xp.max(xp.cumulative_sum(x, axis=0)), "x", 1.0),
    "columns of cumsum": (
        lambda xp, x: xp.max(abs(xp.cumulative_sum(x, axis=0)), axis=0),
        "x",
        1.0,
    ),
    "rows of cumsum": (
        lambda xp, x: xp.sum(xp.cumulative_sum(x, axis=0), axis=1),
        "x",
        1.0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_result_of_a_fold_or_scan_is_used_where_it_is_made(
    name: str, tmp_path: Path
) -> None:
    fn, names, reads = CASES[name]
    got, moved = counted(tmp_path, fn, names)
    expected = np.asarray(fn(np, *(ARRAYS[n] for n in names)), "f4")
    np.testing.assert_array_equal(got, expected)
    once = sum(ARRAYS[n].nbytes for n in names)
    assert moved.bytes_written <= expected.nbytes + 4096  # and the header of the file
    assert moved.bytes_read <= reads * once + 4096


def test_layers_on_rows_store_nothing_between_them(tmp_path: Path) -> None:
    def layers(xp: Any, x: Any, y: Any) -> Any:
        first = xp.maximum(x @ y[:12, :] + y[12, :], 0)
        return first @ y[13:25, :]

    got, moved = counted(tmp_path, layers, "xy")
    np.testing.assert_array_equal(got, layers(np, X, Y))
    assert moved.bytes_written <= got.nbytes + 4096
    assert moved.bytes_read <= 1.1 * X.nbytes


def test_followers_give_the_same_bits_on_every_run(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", RNG.standard_normal((9000, 12)).astype("f4"))
    with jask.config(memory_budget=BUDGET, workers=3, block_bytes=5000):
        x = jask.open(tmp_path / "x.npy")
        total = lambda: jnp.sum(jnp.sin(jnp.cumulative_sum(x, axis=0)))
        runs = {np.asarray(total()).tobytes() for _ in range(6)}
    assert len(runs) == 1


HOSTS: dict[str, Callable[..., Any]] = {
    "product": lambda xp, x: x @ xp.permute_dims(x, (1, 0)),
    "down": lambda xp, x: xp.cumulative_sum(x, axis=0),
    "across": lambda xp, x: xp.cumulative_sum(x, axis=1),
    "back": lambda xp, x: xp.flip(
        xp.cumulative_sum(xp.flip(x, axis=0), axis=0), axis=0
    ),
}
STEPS: dict[str, Callable[..., Any]] = {
    "abs": lambda xp, v, x: abs(v),
    "scaled": lambda xp, v, x: 2 * v - 1,
    "turned": lambda xp, v, x: xp.permute_dims(v, (1, 0)),
    "masked": lambda xp, v, x: xp.where(v > 0, v, 0),
    "row": lambda xp, v, x: v - v.shape[1],
    "again": lambda xp, v, x: v + x if v.shape == x.shape else v,
}
ENDS: dict[str, Callable[..., Any]] = {
    "all": lambda xp, v: v,
    "max": lambda xp, v: xp.max(v),
    "rows": lambda xp, v: xp.max(v, axis=1),
    "columns": lambda xp, v: xp.sum(v, axis=0),
}


@settings(max_examples=12)  # each compiles kernels
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    host=st.sampled_from(sorted(HOSTS)),
    steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=3),
    end=st.sampled_from(sorted(ENDS)),
    block=st.integers(30, 2000),
    workers=st.integers(1, 3),
)
def test_any_chain_after_a_fold_or_scan_has_numpy_s_values(
    shape: tuple[int, int],
    host: str,
    steps: list[str],
    end: str,
    block: int,
    workers: int,
) -> None:
    x = whole(*shape)

    def chain(xp: Any, x: Any) -> Any:
        value = HOSTS[host](xp, x)
        for step in steps:
            value = STEPS[step](xp, value, x)
        return ENDS[end](xp, value)

    with jask.config(block_bytes=block, workers=workers, memory_budget=200_000):
        got = np.asarray(chain(jnp, jask.from_numpy(x)))
    np.testing.assert_array_equal(got, chain(np, x))
