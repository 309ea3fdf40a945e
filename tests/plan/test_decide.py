"""Which results end a pass, and why."""

import jax
import jax.numpy as jnp
import pytest

from jask.plan.decide import MAX_DEPTH
from jask.plan.ir import Limits
from tests.plan.pieces import pieces
from tests.plan.programs import source

X = source((4096, 24))


def test_elementwise_results_are_never_stored():
    assert pieces(lambda x: jnp.exp(jnp.sin(x) + 1), X).decide().cut == {}


@pytest.mark.parametrize("length", [MAX_DEPTH, MAX_DEPTH + 1])
def test_a_chain_is_cut_beyond_the_depth_of_one_kernel(length: int):
    def chain(x):
        for _ in range(length):
            x = jnp.sin(x)
        return x

    cut = pieces(chain, X).decide().cut
    assert len(cut) == (length > MAX_DEPTH)


def test_a_softmax_of_short_rows_stays_in_the_kernel_and_of_long_ones_does_not():
    short = pieces(jax.nn.softmax, source((4096, 64))).decide()
    assert (short.cut, short.local) == ({}, 2)
    long = pieces(jax.nn.softmax, source((4, 1 << 20))).decide()
    assert set(long.cut.values()) == {"reduce"}


def test_a_reduction_by_columns_is_carried_across_tiles():
    found = pieces(lambda x: x - jnp.sum(x, 0), X)
    decided = found.decide()
    assert decided.cut == {found.only("reduce_sum").outputs[0]: "reduce"}
    (words,) = decided.words
    assert "reduce_sum" in words
    assert "across tiles" in words
    assert "test_decide.py" in words  # the line of the user


def test_a_short_reduction_is_cut_beside_another_walk_of_its_file():
    y = source((4096,))
    alone = pieces(lambda y: jnp.sum(y * y), y)
    assert alone.decide().cut == {}
    beside = pieces(lambda x, y: (jnp.sum(y * y), x.T @ y), X, y)
    decided = beside.decide()
    assert set(decided.cut.values()) == {"reduce"}
    assert len(decided.cut) == 2
    assert "beside another one" in decided.words[0]
    assert len(decided.words) == 2


def test_a_short_reduction_stays_local_beside_a_walk_along_another_axis():
    found = pieces(lambda x: (jnp.sum(x, 0), jnp.sum(jnp.exp(x), 1)), X)
    assert list(found.decide().cut) == [found.program.outputs[0]]


def test_a_primitive_without_a_rule_is_computed_whole():
    found = pieces(lambda x: jnp.linalg.qr(x)[1] * 2, X)
    decided = found.decide()
    assert decided.cut == dict.fromkeys(found.only("qr").outputs, "opaque")
    assert "no rule" in decided.words[-1]


def test_a_cautious_decision_stores_what_could_have_stayed():
    found = pieces(jax.nn.softmax, source((4096, 64)))
    assert len(found.decide(cautious=True).cut) == 2


def test_a_sort_that_does_not_fit_a_tile_wants_its_operand_stored():
    found = pieces(lambda x: jnp.sort(jnp.sin(x), 0), X)
    decided = found.decide(Limits(memory=1 << 14, block=1 << 10))
    assert decided.cut[found.only("sin").outputs[0]] == "map"


def test_a_small_result_of_much_work_is_computed_once():
    small = jnp.arange(5000, dtype="f4").reshape(100, 50)  # a constant of the program

    def fn(x):
        return x + jnp.sum(jnp.sin(small))

    limits = Limits(memory=1 << 22)
    found = pieces(fn, X, limits=limits)
    assert found.decide(limits).cut == {found.only("reduce_sum").outputs[0]: "map"}
    little = pieces(lambda x: x + jnp.sum(jnp.sin(small[:2])), X, limits=limits)
    assert little.decide(limits).cut == {}
