"""Roots: which passes come before the one that makes a result."""

import jax.numpy as jnp

from tests.plan.pieces import pieces
from tests.plan.programs import source

X, Y = source((4096, 24)), source((4096, 24))


def standardise(x):
    return (x - jnp.mean(x, 0)) / jnp.std(x, 0)


def test_a_root_comes_after_those_whose_results_it_reads():
    roots = pieces(standardise, X).roots()
    first, second = (r for r in roots if X.shape in {r.domain, r.outputs[0].shape})
    assert (first.kind, first.level) == ("reduce", 0)
    assert (second.kind, second.level) == ("map", 1)
    assert set(first.outputs) <= set(second.leaves)


def test_a_root_for_which_nobody_waits_reads_its_file_with_a_later_one():
    def two(x, y):
        return jnp.max(y, 0), y - jnp.sum(x, 0)

    found = pieces(two, X, Y)
    roots = found.roots(cautious=True)
    levels = {r.eqn.name if r.eqn else "map": r.level for r in roots}
    assert levels == {"reduce_sum": 0, "reduce_max": 1, "map": 1}


def test_a_root_for_which_another_waits_stays():
    def two(x, y):
        return jnp.max(y, 0) + jnp.sum(x, 0), y - jnp.sum(x, 0)

    roots = pieces(two, X, Y).roots(cautious=True)
    levels = {r.eqn.name: r.level for r in roots if r.eqn}
    assert levels["reduce_sum"] == 0


def test_an_output_that_is_a_leaf_is_copied():
    found = pieces(lambda x: (x, jnp.sin(x)), X)
    copied, _ = found.roots()
    assert (copied.equations, copied.leaves) == ((), (found.program.leaves[0],))
    assert copied.producer_name == "copy"


def test_a_result_without_elements_is_no_root():
    assert pieces(lambda x: x[:0] * 2, X).roots() == []
