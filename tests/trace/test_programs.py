import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, strategies as st

from jask.testing.same import assert_same
from jask.testing.strategies import recipes
from jask.trace.check import check
from jask.trace.rewrite import online_softmax, rewrite
from tests.trace.graphs import interpret, program_for


@given(recipe=st.booleans().flatmap(lambda s: recipes(special=s)))
def test_a_built_program_computes_what_jax_numpy_computes(recipe):
    program = program_for(lambda *xs: recipe(jnp, *xs), *recipe.inputs)
    expected = recipe(jnp, *map(jnp.asarray, recipe.inputs))
    got = interpret(program, *recipe.inputs)
    for value, want, error in zip(got, expected, recipe.errors, strict=True):
        assert_same(value, want, error=error)


@given(recipe=recipes(smooth=True), softmax=st.booleans())
def test_rewritten_gradients_are_those_of_jax(recipe, softmax):
    def function(*xs):
        return jax.value_and_grad(lambda *v: recipe.loss(jnp, *v))(*xs)

    program = rewrite(program_for(function, *recipe.inputs))
    if softmax:
        online_softmax(program, lambda _: True)
    check(program)
    expected = jax.tree.leaves(function(*map(jnp.asarray, recipe.inputs)))
    for value, want in zip(interpret(program, *recipe.inputs), expected, strict=True):
        assert value.dtype == want.dtype
        scale = max(1.0, float(np.max(np.abs(want), initial=0)))
        tolerance = 1e6 * np.finfo(value.dtype).eps * scale
        np.testing.assert_allclose(value, want, rtol=0, atol=min(tolerance, 0.1))
