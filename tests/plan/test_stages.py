"""Stages: what an algorithm of its own computes, along the last axis, in one pass."""

import jax.numpy as jnp
import numpy as np
import pytest

from jask.plan.ir import Root
from jask.plan.stages import stage_pass, turn_stages
from jask.rules._table import RULES, Staged
from jask.trace.ir import Equation, Var
from tests.plan.pieces import Pieces, pieces
from tests.plan.programs import source
from tests.trace.graphs import interpret

ROWS, COLUMNS = 40, 6
X = np.random.default_rng(0).permuted(np.arange(240.0, dtype="f4")).reshape(40, 6)


def sorted_along(axis: int) -> Pieces:
    return pieces(lambda x: jnp.sort(x, axis) + 1, source((ROWS, COLUMNS)))


def stage_root(eqn: Equation) -> Root:
    leaves = tuple(v for v in eqn.inputs if isinstance(v, Var))
    return Root("stage", eqn.outputs, eqn, (eqn,), leaves)


@pytest.mark.parametrize(("axis", "turned"), [(0, True), (1, False), (-1, False)])
def test_the_axis_of_a_stage_is_put_last(axis: int, turned: bool):
    made = sorted_along(axis)
    (out,) = made.only("sort").outputs
    assert turn_stages(made.program, {out: "stage"}) == turned
    eqn = made.only("sort")
    assert eqn.params["dimension"] == eqn.inputs[0].ndim - 1 == 1
    (found,) = interpret(made.program, X)
    np.testing.assert_array_equal(found, np.sort(X, axis) + 1)


def test_what_is_no_stage_keeps_its_axis():
    made = sorted_along(0)
    assert not turn_stages(made.program, {})
    assert made.only("sort").params["dimension"] == 0


def test_positions_are_counted_anew_not_transposed():
    made = pieces(lambda x: jnp.argsort(x, 0), source((ROWS, COLUMNS)))
    eqn = made.only("sort")
    assert turn_stages(made.program, dict.fromkeys(eqn.outputs, "stage"))
    assert made.only("iota").params["dimension"] == 1
    (found,) = interpret(made.program, X)
    np.testing.assert_array_equal(found, np.argsort(X, 0))


@pytest.mark.parametrize(
    ("length", "memory", "merges"),
    [(1000, 1 << 20, 0), (1 << 20, 1 << 23, 1), (1 << 20, 1 << 19, 2)],
)
def test_the_pass_counts_what_is_read_and_written_beside_the_operand(
    length: int, memory: int, merges: int
):
    made = pieces(jnp.sort, source((1, length)))
    eqn = made.only("sort")
    rule = RULES["sort"]
    assert isinstance(rule, Staged)
    p = stage_pass(stage_root(eqn), made.places, memory)
    assert p.is_stage
    assert p.steps == 1
    assert p.memory == rule.stage_memory(eqn, memory) <= memory
    on_disk = 4 * length if merges else 0  # a small result stays in memory
    assert p.reads == (1 + merges) * 4 * length
    assert p.writes == on_disk + merges * 4 * length
    assert p.seconds > 0
