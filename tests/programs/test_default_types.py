"""Random programs as users run them: 64-bit types off, standard promotion.

What is 64-bit on disk stays so; the reference is then jax.numpy with 64-bit types on.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import jask
import jask.numpy
from jask.testing.strategies import Recipe, assert_same, recipes
from tests.programs.test_random import BLOCKS, gradient_bound, stacked

NARROW = ("float32", "int32", "uint8", "bool", "float32")
WIDE = ("float64", "int64")
FEWER = settings(max_examples=max(1, settings().max_examples // 5))
"""The same programs run with 64-bit types on, more often, in `test_random.py`."""

GIVES_64_BITS = {"argmax", "argmin", "argsort"}
SUMS = {"sum", "cumulative_sum"}


@pytest.fixture(scope="module", autouse=True)
def _default_types():
    """Set the flags for the process, so that other threads see them too."""
    jax.config.update("jax_enable_x64", False)
    jax.config.update("jax_numpy_dtype_promotion", "standard")
    yield
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_dtype_promotion", "strict")


@st.composite
def wide_recipes(draw: st.DrawFn, /, **options: Any) -> Recipe:
    """Draw programs on 64-bit inputs."""
    with jax.enable_x64(True):
        return draw(recipes(dtypes=WIDE, **options))


def is_narrow(recipe: Recipe) -> bool:
    """Return whether no step makes 64-bit values of narrow ones."""
    return not any(
        step.row in GIVES_64_BITS or step.params.get("dtype") in WIDE
        for step in recipe.steps
    )


def is_wide(recipe: Recipe) -> bool:
    """Return whether no sum is of narrow integers, which stay so with the flag off."""
    known = [v.dtype for v in recipe.values]
    return not any(
        step.row in SUMS and known[step.operands[0]].name in {"bool", "int32", "uint8"}
        for step in recipe.steps
    )


def on_disk(inputs):
    return [jask.from_numpy(x) for x in inputs]


def values_of(lazy):
    return [np.asarray(x) for x in lazy]


@FEWER
@given(recipe=recipes(dtypes=NARROW), block=BLOCKS)
def test_a_program_is_the_program_in_memory(recipe, block):
    assume(is_narrow(recipe))
    with jask.config(block_bytes=block):
        got = values_of(recipe(jask.numpy, *on_disk(recipe.inputs)))
    expected = recipe(jnp, *map(jnp.asarray, recipe.inputs))
    for value, want, error in zip(got, expected, recipe.errors, strict=True):
        assert_same(value, want, error=error)


@FEWER
@given(recipe=recipes(dtypes=NARROW, max_steps=4), block=BLOCKS)
def test_a_jitted_program_is_the_program_in_memory(recipe, block):
    assume(is_narrow(recipe))

    @jax.jit
    def run(*xs):
        return [jask.materialize(r) for r in recipe(jask.numpy, *xs)]

    with jask.config(block_bytes=block):
        got = jax.block_until_ready(run(*on_disk(recipe.inputs)))
    expected = recipe(jnp, *map(jnp.asarray, recipe.inputs))
    for value, want, error in zip(got, expected, recipe.errors, strict=True):
        assert_same(value, want, error=error)


@FEWER
@given(
    recipe=recipes(dtypes=("float32",), smooth=True, max_steps=4),
    block=BLOCKS,
    jitted=st.booleans(),
)
def test_gradients_are_the_gradients_in_memory(recipe, block, jitted):
    assume(is_narrow(recipe))

    def loss(*xs):
        return jask.materialize(recipe.loss(jask.numpy, *xs))

    places = tuple(range(len(recipe.inputs)))
    run = jax.value_and_grad(loss, places)
    with jask.config(block_bytes=block):
        value, gradient = (jax.jit(run) if jitted else run)(*on_disk(recipe.inputs))
        got = values_of([value, *gradient])
    inputs = map(jnp.asarray, recipe.inputs)
    expected = jax.value_and_grad(lambda *xs: recipe.loss(jnp, *xs), places)(*inputs)
    for out, want in zip(got, jax.tree.leaves(expected), strict=True):
        assert_same(out, want, error=gradient_bound(np.asarray(want)))


@FEWER
@given(recipe=recipes(dtypes=NARROW, max_steps=4), block=BLOCKS)
def test_a_program_over_a_batch_is_the_batch_of_programs(recipe, block):
    assume(is_narrow(recipe))
    # JAX broadcasts what depends on no mapped argument in memory, which is refused
    assume(all(step.row != "ones_like" for step in recipe.steps))
    batches = stacked(recipe)
    with jask.config(block_bytes=block):
        got = values_of(
            jax.vmap(lambda *xs: recipe(jask.numpy, *xs))(*on_disk(batches))
        )
    for k in range(3):
        expected = recipe(jnp, *(jnp.asarray(x[k]) for x in batches))
        for value, want, error in zip(got, expected, recipe.errors, strict=True):
            assert_same(value[k], want, error=error)


@FEWER
@given(recipe=wide_recipes(), block=BLOCKS)
def test_a_program_on_64_bits_is_that_of_64_bit_types(recipe, block):
    assume(is_wide(recipe))
    with jask.config(block_bytes=block):
        got = values_of(recipe(jask.numpy, *on_disk(recipe.inputs)))
    with jax.enable_x64(True):
        expected = recipe(jnp, *map(jnp.asarray, recipe.inputs))
        for value, want, error in zip(got, expected, recipe.errors, strict=True):
            assert_same(value, want, error=error)


@FEWER
@given(recipe=wide_recipes(smooth=True, max_steps=4), block=BLOCKS)
def test_gradients_on_64_bits_are_those_of_64_bit_types(recipe, block):
    assume(is_wide(recipe))
    inputs = [x for x in recipe.inputs if x.dtype == np.float64]
    assume(len(inputs) == len(recipe.inputs))
    assume(is_in_64_bits(recipe))
    places = tuple(range(len(inputs)))
    with jask.config(block_bytes=block):
        lazy = jask.grad(lambda *xs: recipe.loss(jask.numpy, *xs), places)
        got = values_of(lazy(*on_disk(inputs)))
    with jax.enable_x64(True):
        model = jax.grad(lambda *xs: recipe.loss(jnp, *xs), places)
        for out, want in zip(got, model(*map(jnp.asarray, inputs)), strict=True):
            assert_same(out, want, error=gradient_bound(np.asarray(want)))


def is_in_64_bits(recipe: Recipe) -> bool:
    return all(v.dtype == np.float64 for v in recipe.values)
