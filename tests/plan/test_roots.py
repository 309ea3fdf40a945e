"""Roots: what is computed for each result, and which passes come first."""

import jax.numpy as jnp

from jask.plan.roots import make_root
from tests.plan.pieces import pieces
from tests.plan.programs import source

X, Y = source((4096, 24)), source((4096, 24))


def standardise(x):
    return (x - jnp.mean(x, 0)) / jnp.std(x, 0)


def test_a_root_is_what_lies_below_its_value_down_to_the_leaves():
    found = pieces(lambda x: jnp.exp(jnp.sin(x)) + jnp.cos(x), X)
    out = found.only("add").outputs[0]
    made = make_root("map", (out,), None, {})
    assert [e.name for e in made.equations] == ["sin", "exp", "cos", "add"]
    assert made.leaves == tuple(found.program.leaves)
    assert (made.domain, made.kept) == ((4096, 24), (0, 1))


def test_a_stored_value_is_a_leaf_of_what_uses_it():
    found = pieces(lambda x: jnp.exp(jnp.sin(x)), X)
    out, stored = found.only("exp").outputs[0], found.only("sin").outputs[0]
    made = make_root("map", (out,), None, {stored: "map"})
    assert [e.name for e in made.equations] == ["exp"]
    assert made.leaves == (stored,)
    itself = make_root("map", (stored,), None, {stored: "map"})
    assert [e.name for e in itself.equations] == ["sin"]


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
