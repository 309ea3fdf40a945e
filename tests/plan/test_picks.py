"""Which gathers become leaves that are read slice by slice."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jask.plan.picks import pick_rows
from jask.trace.check import check
from jask.trace.ir import Program, Var
from tests.trace.graphs import one, program_of, source

LONG, SHORT = (1_000_000, 64), (200, 64)
MEMORY = 1 << 24


def chosen(
    function: Callable[..., Any],
    shape: tuple[int, ...],
    *indices: tuple[int, ...],
    memory: int = MEMORY,
) -> Program:
    """Return the program of a file and index arrays in memory, picks made."""
    leaves = [source(s, "int64", f"{s}.npy", on_disk=False) for s in indices]
    program = program_of(one(function, source(shape), *leaves))
    places: dict[Var, Any] = dict.fromkeys(program.leaves, "memory")
    places[program.leaves[0]] = "disk"
    places.update(dict.fromkeys(program.constants, "memory"))
    pick_rows(program, places, memory)
    check(program)
    return program


def test_few_rows_of_a_long_file_are_picked() -> None:
    program = chosen(lambda x, i: jnp.sin(x[i]), LONG, (100,))
    (pick,) = program.picks
    assert pick.leaf is program.leaves[-1]
    assert pick.leaf.shape == (100, 64)
    assert pick.source is program.leaves[0]
    assert [e.name for e in program.equations] == ["sin"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: x[i, i % 64],
        lambda x, i: x[i][:, ::2],
        lambda x, i: jnp.take(x, i, axis=0, mode="fill"),
        lambda x, i: x.at[i].get(mode="clip"),
    ],
    ids=["pairs", "part of rows", "filled", "clipped"],
)
def test_picks_of_other_forms(function: Callable[..., Any]) -> None:
    assert len(chosen(function, LONG, (10,)).picks) == 1


def test_a_slice_whose_start_is_in_memory_is_picked() -> None:
    for function in (
        lambda x, i: jnp.sin(lax.dynamic_slice_in_dim(x, i, 100)),
        lambda x, i: jnp.sin(lax.dynamic_slice(x, (3, i + 1), (50, 20))),
        lambda x, i: jnp.sin(x[i]),
    ):
        for shape in (LONG, SHORT):
            (pick,) = chosen(function, shape, ()).picks
            assert pick.eqn.name == "dynamic_slice"
            assert pick.nbytes < 200


def test_a_slice_is_not_picked_of_what_is_computed_or_from_a_start_in_the_file() -> (
    None
):
    for function in (
        lambda x, i: lax.dynamic_slice_in_dim(jnp.sin(x), i, 9),
        lambda x, i: lax.dynamic_slice_in_dim(x, x[0, 0].astype(int) + i, 9),
    ):
        assert not chosen(function, LONG, ()).picks


@pytest.mark.parametrize(
    ("function", "shape", "rows"),
    [
        (lambda x, i: x[i], SHORT, 100),  # a short file is read faster as a whole
        (lambda x, i: x[i], LONG, 60_000),  # so are many rows
        (lambda x, i: x[:, i], LONG, 10),  # and columns, of a million runs each
        (lambda x, i: jnp.sin(x)[i], LONG, 10),  # what is computed is no file
        (lambda x, i: jnp.where(i[0] > 0, jnp.diagonal(x), 0), LONG, 9),  # bounds
        (lambda x, i: x[x[:10, 0].astype(int) + i], LONG, 10),  # indices from the file
    ],
    ids=["short", "many", "columns", "computed", "diagonal", "indices on disk"],
)
def test_what_is_not_picked(
    function: Callable[..., Any], shape: tuple[int, ...], rows: int
) -> None:
    assert not chosen(function, shape, (rows,)).picks


def test_indices_may_take_so_many_bytes_only() -> None:
    program = program_of(
        one(lambda x, i: x[i], source(LONG), source((100,), "int64", on_disk=False))
    )
    x, i = program.leaves
    pick_rows(program, {x: "disk", i: "memory"}, 16 * 100)
    assert not program.picks


def test_more_rows_are_picked_where_walking_would_read_the_file_often() -> None:
    """1500 rows cost 0.05 s; a reading of the file 0.043 s."""
    rows = lambda x, i: x[i]
    assert not chosen(rows, LONG, (1500,), memory=1 << 32).picks
    assert not chosen(rows, LONG, (1500,), memory=1 << 24).picks
    assert len(chosen(rows, LONG, (1500,), memory=1 << 20).picks) == 1


def test_short_indices_in_a_file_are_read_first() -> None:
    program = program_of(
        one(lambda x, i: x[i], source(LONG), source((100,), "int64", "i.npy"))
    )
    pick_rows(program, dict.fromkeys(program.leaves, "disk"), MEMORY)
    (pick,) = program.picks
    assert pick.operands == (program.leaves[1],)


def test_the_bytes_of_a_pick_are_those_of_its_indices() -> None:
    (pick,) = chosen(lambda x, i: x[i], LONG, (100,)).picks
    assert pick.nbytes >= 100 * 8 + sum(v.nbytes for e in pick.steps for v in e.outputs)
    assert np.dtype("int64") == pick.operands[0].dtype
