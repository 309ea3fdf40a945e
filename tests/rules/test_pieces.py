"""Tiles at the edge of a row, or of a copy, read little."""

from copy import copy

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax import lax

import jask
import jask.numpy
from jask.execute.run import InMemory, prepare
from jask.geometry.box import Box
from jask.hijax.binding import settled
from jask.plan.check import check
from jask.rules.pieces import in_pieces
from jask.testing.same import assert_same
from jask.trace.ir import Equation, Program
from tests.rules.helpers import boxes, check_need, emit, equation, rule_of, shapes


def twice(eqn: Equation) -> Equation:
    """Return the equation with its operand named twice."""
    found = copy(eqn)
    in_pieces(Program(equations=[found]))
    return found


def check_box(eqn: Equation, x: np.ndarray, want: np.ndarray, out: Box) -> None:
    found = twice(eqn)
    check_need(found, rule_of(found).need(found, out))
    (got,) = emit(found, out, [x] * len(found.inputs))
    assert_same(got, want[out.slices])


@given(data=st.data(), before=shapes(low=2, high=4))
def test_a_box_of_merged_axes_is_found_in_two_pieces(
    data: st.DataObject, before: tuple[int, ...]
) -> None:
    x = np.arange(np.prod(before)).reshape(before)
    at = data.draw(st.integers(0, len(before) - 2))
    after = (*before[:at], before[at] * before[at + 1], *before[at + 2 :])
    eqn = equation(lambda x: jnp.reshape(x, after), x)
    check_box(eqn, x, x.reshape(after), data.draw(boxes(after)))


@given(data=st.data(), shape=shapes(low=2, high=4))
def test_a_box_of_a_flat_array_is_found_in_two_pieces(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    x = np.arange(np.prod(shape)).reshape(shape)
    want = x.transpose(order).reshape(-1)
    eqn = equation(
        lambda x: lax.reshape_p.bind(
            x, new_sizes=want.shape, dimensions=order, sharding=None
        ),
        x,
    )
    check_box(eqn, x, want, data.draw(boxes(want.shape)))


@given(data=st.data(), shape=shapes(low=1, high=3))
def test_a_box_of_a_tiling_is_found_in_two_pieces(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    times = tuple(data.draw(st.integers(1, 3)) for _ in shape)
    eqn = equation(lambda x: jnp.tile(x, times), x)
    want = np.tile(x, times)
    check_box(eqn, x, want, data.draw(boxes(want.shape)))


def test_a_short_run_over_an_edge_needs_little_of_either_row() -> None:
    x = np.zeros((3, 1000))
    for eqn in (
        equation(lambda x: jnp.reshape(x, (3000,)), x),
        equation(lambda x: jnp.tile(x, 3), x[0]),
    ):
        need = rule_of(eqn).need(twice(eqn), Box((990,), (1010,)))
        assert sum(b.size for b in need.boxes if b is not None) == 40


def test_runs_over_different_edges_share_a_kernel() -> None:
    x = np.zeros((5, 30, 40))
    eqn = twice(equation(lambda x: jnp.reshape(x, (6000,)), x))
    needs = [
        rule_of(eqn).need(eqn, Box((edge - k,), (edge - k + 100,)))
        for edge in (1200, 3600)
        for k in (1, 37, 99)
    ]
    facts = {(n.key, *(b and b.shape for b in n.boxes)) for n in needs}
    assert len(facts) == 1


WRAPPED = {
    "tiled": lambda xp, x: xp.tile(x, 3),
    "merged": lambda xp, x: xp.reshape(xp.permute_dims(x, (1, 0, 2)), (-1,)),
    "flat and tiled": lambda xp, x: xp.tile(xp.reshape(x, (-1,)), 2) * 2,
}


@pytest.mark.parametrize("name", WRAPPED)
def test_no_step_of_what_wraps_around_loads_more_than_is_projected(name: str) -> None:
    x = np.arange(30_030.0).reshape(7, 10, 429)
    with jask.config(block_bytes=2000):
        y = WRAPPED[name](jask.numpy, jask.from_numpy(x))
        prepared = prepare(settled([y.node]), [InMemory()])
        check(prepared.plan, prepared.program)
        assert_same(jask.materialize(y), WRAPPED[name](jnp, x))
