import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings

from jask.testing.operations import ROWS
from jask.testing.strategies import assert_same, recipes


@given(recipes())
def test_a_recipe_runs_and_its_values_have_the_foretold_types(recipe):
    results = recipe(jnp, *map(jnp.asarray, recipe.inputs))
    for index, result in zip(recipe.results, results, strict=True):
        value = recipe.values[index]
        assert (result.shape, result.dtype) == (value.shape, value.dtype)


@given(recipes())
def test_no_element_is_larger_than_foretold(recipe):
    results = recipe(jnp, *map(jnp.asarray, recipe.inputs))
    for index, result in zip(recipe.results, results, strict=True):
        largest = np.max(np.abs(np.asarray(result, float)), initial=0)
        assert largest <= recipe.values[index].bound * (1 + 1e-6)


@given(recipes())
def test_fused_and_separate_evaluation_agree_within_the_foretold_error(recipe):
    inputs = list(map(jnp.asarray, recipe.inputs))
    fused = jax.jit(lambda *xs: recipe(jnp, *xs))(*inputs)
    results = zip(fused, recipe(jnp, *inputs), recipe.errors, strict=True)
    for actual, expected, error in results:
        assert_same(actual, expected, error=error)


@given(recipes(smooth=True))
def test_the_loss_of_a_smooth_recipe_has_a_finite_gradient(recipe):
    inputs = list(map(jnp.asarray, recipe.inputs))
    gradient = jax.grad(lambda *xs: recipe.loss(jnp, *xs))(*inputs)
    assert bool(jnp.all(jnp.isfinite(gradient)))


@pytest.mark.slow
def test_every_row_is_drawn():
    drawn: set[object] = set()

    @settings(max_examples=1500, database=None, derandomize=True)
    @given(recipes())
    def collect(recipe):
        drawn.update(step.row for step in recipe.steps)

    collect()
    assert set(ROWS) - drawn == set()
