"""A root is what lies below a value, down to what is stored."""

import jax.numpy as jnp

from jask.plan.cut import make_root
from tests.plan.pieces import pieces
from tests.plan.programs import source

X = source((4096, 24))


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
