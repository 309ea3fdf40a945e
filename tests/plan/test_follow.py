"""Followers: what is made of another root's tiles at once, and what is not."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jask.plan.check import PlanError, check
from jask.plan.cut import make_root
from jask.plan.explain import describe
from jask.plan.follow import axes_of_follower
from jask.plan.ir import Limits, Plan, Root
from jask.trace.graph import Source
from jask.trace.ir import Program, Var
from tests.plan.pieces import pieces
from tests.plan.programs import call, plan_of, source

M, K, N = 384, 1 << 16, 256
A, B, R = source((M, K)), source((K, N)), source((M, N))
X = source((1 << 16, 24))
LIMITS = Limits(memory=2_000_000)


def planned(
    fn: Callable[..., Any], *operands: Source, limits: Limits = LIMITS
) -> tuple[Plan, Program]:
    plan, program = plan_of(call(fn, *operands), limits)
    check(plan, program)
    return plan, program


def inside(plan: Plan) -> list[str]:
    """Names of the values that are stored nowhere."""
    return [v.producer.name for v, p in plan.places.items() if p == "block"]  # type: ignore[union-attr]


def followers(plan: Plan) -> list[Root]:
    return [f for p in plan.passes for r in p.roots for f in r.followers]


FOLLOWING: dict[str, tuple[Callable[..., Any], list[Source]]] = {
    "relu": (lambda a, b: jax.nn.relu(a @ b), [A, B]),
    "bias": (lambda a, b, c: jnp.tanh(a @ b + c), [A, B, source((N,))]),
    "residual": (lambda a, b, r: jnp.maximum(a @ b, 0) - r, [A, B, R]),
    "transposed": (lambda a, b: (a @ b).T * 2, [A, B]),
    "cast": (lambda a, b: (a @ b).astype("float16"), [A, B]),
    "two results": (lambda a, b: (jnp.exp(a @ b), jnp.sin(a @ b)), [A, B]),
    "scan scaled": (lambda x: jnp.cumsum(x, 0) * 2, [X]),
    "scan and its operand": (lambda x: jnp.cumsum(x, 0) - x, [X]),
    "backwards": (lambda x: jax.lax.cumsum(x, axis=0, reverse=True) + 1, [X]),
    "maximum of a scan": (lambda x: jnp.max(jnp.cumsum(x, 0)), [X]),
    "columns of a scan": (lambda x: jnp.max(jnp.cumsum(x, 0), 0), [X]),
}


@pytest.mark.parametrize("name", FOLLOWING)
def test_what_wants_the_same_tiles_follows_in_one_pass(name: str):
    fn, operands = FOLLOWING[name]
    plan, _ = planned(fn, *operands)
    assert len(plan.passes) == 1
    assert len(inside(plan)) == 1
    assert followers(plan)


STORED: dict[str, tuple[Callable[..., Any], list[Source]]] = {
    "a second product": (lambda a, b, w: (a @ b) @ w, [A, B, source((N, M))]),
    "shifted": (lambda x: jnp.diff(jnp.cumsum(x, 0), axis=0), [X]),
    "flipped": (lambda a, b: jnp.flip(a @ b, 0), [A, B]),
    "both ways": (lambda a: (a @ a.T) + (a @ a.T).T, [A]),
    "wanted": (lambda a, b: (a @ b, jnp.exp(a @ b)), [A, B]),
    "broadcast": (lambda a, b, t: (a @ b)[None] * t, [A, B, source((3, M, N))]),
}


@pytest.mark.parametrize("name", STORED)
def test_what_wants_other_boxes_has_the_result_stored(name: str):
    fn, operands = STORED[name]
    plan, _ = planned(fn, *operands)
    assert inside(plan) == []


def test_a_wanted_result_is_not_read_again_for_its_follower():
    plan, program = planned(lambda a, b: (a @ b, jnp.exp(a @ b)), A, B)
    (p,) = plan.passes
    assert not set(p.leaves) & set(program.outputs)


def test_a_host_waits_for_what_its_follower_needs_besides():
    """Of two folds in one expression the second finishes it."""
    operands = (A, B, source((M, K)), source((K, N)))
    plan, _ = planned(lambda a, b, c, d: jnp.tanh(a @ b) + c @ d, *operands)
    assert len(plan.passes) == 2
    assert inside(plan) == ["dot_general"]


def test_folds_that_read_the_same_files_do_not_wait_for_each_other():
    plan, program = planned(lambda a, b: jnp.tanh(a @ b) + (a**2) @ b, A, B)
    assert sum(program.leaves[0] in p.leaves for p in plan.passes) == 1


def test_a_small_result_has_no_follower():
    plan, _ = planned(lambda x: jnp.exp(jnp.sum(x, 0)), X)
    assert inside(plan) == []


def test_nothing_follows_a_fold_that_several_workers_share_by_adding_up():
    """Its tiles are finished in no fixed order."""
    found = pieces(lambda x: jnp.sum(jnp.exp(jnp.sum(x, 0))), source((4096, 64)))
    (first, second) = (e for e in found.program.equations if e.name == "reduce_sum")
    host = make_root("reduce", first.outputs, first, {})
    after = make_root("reduce", second.outputs, second, {first.outputs[0]: "reduce"})
    assert axes_of_follower(after, host) is None


def test_the_axes_of_a_follower_are_those_of_the_host_s_result():
    found = pieces(lambda a, b: jnp.transpose(a @ b) + 1, A, B)
    eqn, out = found.only("dot_general"), found.program.outputs[0]
    assert isinstance(out, Var)
    host = make_root("reduce", eqn.outputs, eqn, {})
    after = make_root("map", (out,), None, {eqn.outputs[0]: "reduce"})
    assert axes_of_follower(after, host) == (1, 0)


def test_a_cautious_plan_has_no_followers():
    """What follows must fit beside the accumulators: without it the tiles are free."""
    found = pieces(lambda x: jnp.cumsum(x, 0) * 2, X)
    assert [r.kind for r in found.roots(cautious=True)] == ["scan", "map"]


def test_the_plan_in_words_says_what_follows():
    plan, program = planned(lambda a, b: jax.nn.relu(a @ b), A, B)
    words = describe(plan, program)
    assert "folds  dot_general: float32[384,256] block 393 kB" in words
    assert "then maps   max: float32[384,256] disk 393 kB" in words
    assert "scratch 0 B" in words


def test_a_follower_that_wants_another_tile_is_found_out():
    limits = Limits(memory=100_000, block=4096, forced=True)
    plan, program = planned(
        lambda a, b: (a @ b).T * 2, source((64, 512)), source((512, 64)), limits=limits
    )
    (p,) = plan.passes
    (p.roots[0].followers[0]).axes = (0, 1)
    with pytest.raises(PlanError):
        check(plan, program)


def test_what_follows_is_priced():
    """Reading a second operand in the follower counts as reading."""
    with_it, _ = planned(lambda a, b, r: (a @ b) - r, A, B, R)
    without, _ = planned(lambda a, b: (a @ b) - 1, A, B)
    (p,), (q,) = with_it.passes, without.passes
    once = M * N * np.dtype("f4").itemsize
    assert p.tile == q.tile
    assert p.reads - q.reads == once
    assert p.writes == q.writes == once
