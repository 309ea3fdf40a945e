"""Joins of many parts: slices that are neighbours become one; values stay the same."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jax_numpy
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jask
import jask.numpy as jnp
from jask.testing.same import assert_same
from jask.trace.check import check
from jask.trace.counters import COUNTERS
from jask.trace.ir import Program
from jask.trace.rewrite import rewrite
from tests.trace.graphs import interpret, program_for

SHAPE = (6, 5, 4)


def merged(function: Callable[..., Any], *arrays: Any) -> Program:
    """Return the rewritten program, found valid and equal to jax.numpy."""
    program = rewrite(program_for(function, *arrays))
    check(program)
    wanted = function(*map(jax_numpy.asarray, arrays))
    (got,) = interpret(program, *arrays)
    assert_same(got, wanted)
    return program


def names(program: Program) -> list[str]:
    return [e.name for e in program.equations]


def values(shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return np.arange(np.prod(shape), dtype="f4").reshape(shape)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_places_of_an_axis_stacked_in_order_are_one_slice(axis: int) -> None:
    def function(x: Any) -> Any:
        cut = [x[(slice(None),) * axis + (i,)] for i in range(1, 4)]
        return jax_numpy.stack(cut, axis=axis)

    assert names(merged(function, values())) == ["slice"]


def test_all_rows_joined_are_a_reshape() -> None:
    program = merged(lambda x: jax_numpy.concatenate(list(x)), values((6, 5)))
    assert names(program) == ["reshape"]


def test_rows_joined_backwards_are_reversed() -> None:
    program = merged(
        lambda x: jax_numpy.stack([x[i] for i in range(5, -1, -1)]), values()
    )
    assert names(program) == ["rev"]


def test_an_array_grown_row_by_row_is_joined_once() -> None:
    def function(x: Any) -> Any:
        y = x[0]
        for i in range(1, 6):
            y = jax_numpy.concatenate([y, x[i]])
        return y

    assert names(merged(function, values((6, 5)))) == ["reshape"]


def test_halves_that_change_places_are_joined_as_they_are() -> None:
    program = merged(lambda x: jax_numpy.concatenate([x[3:], x[:3]]), values())
    assert names(program) == ["slice", "slice", "concatenate"]


def test_what_others_use_too_is_still_computed() -> None:
    def function(x: Any) -> Any:
        inner = jax_numpy.concatenate([x[0], x[2]])
        return jax_numpy.concatenate([inner, jax_numpy.sin(inner)])

    assert names(merged(function, values((6, 5)))).count("concatenate") == 2


PARTS = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=9)


@settings(max_examples=60)
@given(parts=PARTS, axis=st.integers(0, 2), dim=st.integers(0, 1), flat=st.booleans())
def test_any_order_of_places_is_joined_right(
    parts: list[tuple[int, bool]], axis: int, dim: int, flat: bool
) -> None:
    def function(x: Any) -> Any:
        cut = [
            x[(slice(None),) * axis + (i % x.shape[axis],)] * (2 if twice else 1)
            for i, twice in parts
        ]
        if flat:
            return jax_numpy.concatenate([jax_numpy.ravel(c) for c in cut])
        join = jax_numpy.stack if len(parts) % 2 else jax_numpy.concatenate
        return join(cut, axis=dim)

    merged(function, values())


def test_hundreds_of_rows_take_few_kernels(tmp_path: Path) -> None:
    rows = 300
    np.save(tmp_path / "x.npy", values((rows, 3)))
    x = jask.open(tmp_path / "x.npy")
    cut = [x[i] for i in range(rows)]
    grown = cut[0]
    for row in cut[1:]:
        grown = jnp.concat([grown, row])
    before = COUNTERS.compiles
    np.testing.assert_array_equal(np.asarray(jnp.stack(cut)), values((rows, 3)))
    np.testing.assert_array_equal(np.asarray(grown), values((rows * 3,)))
    assert COUNTERS.compiles - before <= 4


def test_hundreds_of_rows_in_no_order_take_few_kernels(tmp_path: Path) -> None:
    rows = 200
    np.save(tmp_path / "x.npy", values((rows, 3)))
    x = jask.open(tmp_path / "x.npy")
    order = np.random.default_rng(0).permutation(rows)
    before = COUNTERS.compiles
    got = np.asarray(jnp.stack([x[int(i)] for i in order]))
    np.testing.assert_array_equal(got, values((rows, 3))[order])
    assert COUNTERS.compiles - before <= 2
