"""Random programs on files are what jax.numpy computes in memory."""

from dataclasses import replace
from unittest.mock import patch

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import jask
import jask.numpy
from jask.execute import prepared
from jask.testing.strategies import assert_same, recipes
from jask.trace.counters import COUNTERS

BLOCKS = st.sampled_from([32, 64, 300, 4096])
"""Bytes of a block: from a few elements to most arrays whole."""

FEWER = settings(max_examples=max(1, settings().max_examples // 3))
"""For programs that take longer to trace than to run."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")

    def write(recipe):
        opened = []
        for i, array in enumerate(recipe.inputs):
            path = folder / f"{i}.npy"
            path.unlink(missing_ok=True)  # whoever has the old one open keeps it
            np.save(path, array)
            opened.append(jask.open(path))
        return opened

    return write


def gradient_bound(want):
    """Return a generous bound: the slopes of a chain of four steps multiply."""
    largest = float(np.max(np.abs(want), initial=1.0))
    return 1e4 * float(np.finfo(want.dtype).eps) * largest


@given(recipe=recipes(), block=BLOCKS)
def test_a_program_on_files_is_the_program_in_memory(recipe, block, files):
    before = COUNTERS.evaluations
    with jask.config(block_bytes=block):
        got = jask.materialize(*recipe(jask.numpy, *files(recipe)))
    got = got if isinstance(got, list | tuple) else (got,)
    expected = recipe(jnp, *map(jnp.asarray, recipe.inputs))
    assert COUNTERS.evaluations > before
    for value, want, error in zip(got, expected, recipe.errors, strict=True):
        assert_same(value, want, error=error)


@FEWER
@given(recipe=recipes(), block=BLOCKS)
def test_a_program_whose_last_tiles_overlap_is_the_program_in_memory(
    recipe, block, files
):
    with patch.object(prepared, "LARGE_CODE", 0), jask.config(block_bytes=block):
        got = jask.materialize(*recipe(jask.numpy, *files(recipe)))
    got = got if isinstance(got, list | tuple) else (got,)
    expected = recipe(jnp, *map(jnp.asarray, recipe.inputs))
    for value, want, error in zip(got, expected, recipe.errors, strict=True):
        assert_same(value, want, error=error)


@FEWER
@given(recipe=recipes(max_steps=4), block=BLOCKS)
def test_a_jitted_program_on_files_is_the_program_in_memory(recipe, block, files):
    @jax.jit
    def run(*xs):
        return [jask.materialize(r) for r in recipe(jask.numpy, *xs)]

    with jask.config(block_bytes=block):
        got = jax.block_until_ready(run(*files(recipe)))
    expected = recipe(jnp, *map(jnp.asarray, recipe.inputs))
    for value, want, error in zip(got, expected, recipe.errors, strict=True):
        assert_same(value, want, error=error)


@FEWER
@given(recipe=recipes(smooth=True, max_steps=4), block=BLOCKS)
def test_gradients_on_files_are_the_gradients_in_memory(recipe, block, files):
    def loss(*xs):
        return jask.materialize(recipe.loss(jask.numpy, *xs))

    places = tuple(range(len(recipe.inputs)))
    with jask.config(block_bytes=block):
        value, gradient = jax.value_and_grad(loss, places)(*files(recipe))
        got = [value, *(jask.materialize(g) for g in gradient)]
    inputs = map(jnp.asarray, recipe.inputs)
    expected = jax.value_and_grad(lambda *xs: recipe.loss(jnp, *xs), places)(*inputs)
    for out, want in zip(got, jax.tree.leaves(expected), strict=True):
        assert_same(out, want, error=gradient_bound(np.asarray(want)))


def stacked(recipe):
    """Return the recipe's inputs, three of each that differ."""
    return [np.stack([x, np.flip(x), np.roll(x, 1)]) for x in recipe.inputs]


@FEWER
@given(recipe=recipes(max_steps=4), block=BLOCKS)
def test_a_program_over_a_batch_is_the_batch_of_programs(recipe, block, files):
    # JAX broadcasts what depends on no mapped argument in memory, which is refused
    assume(all(step.row != "ones_like" for step in recipe.steps))
    batches = stacked(recipe)
    with jask.config(block_bytes=block):
        lazy = jax.vmap(lambda *xs: recipe(jask.numpy, *xs), out_axes=0)
        got = jask.materialize(*lazy(*files(replace(recipe, inputs=batches))))
    got = got if isinstance(got, list | tuple) else (got,)
    for k in range(3):
        expected = recipe(jnp, *(jnp.asarray(x[k]) for x in batches))
        for value, want, error in zip(got, expected, recipe.errors, strict=True):
            assert_same(value[k], want, error=error)


@FEWER
@given(recipe=recipes(smooth=True, max_steps=3), block=BLOCKS)
def test_jitted_gradients_over_a_batch_are_those_in_memory(recipe, block, files):
    def total(xp, *xs):  # depends on every input: vmap refuses what is not mapped
        return sum((xp.sum(x * x) for x in xs), recipe.loss(xp, *xs))

    def loss(*xs):
        return jask.materialize(total(jask.numpy, *xs))

    places = tuple(range(len(recipe.inputs)))
    batches = stacked(recipe)
    with jask.config(block_bytes=block):
        gradients = jax.jit(jax.vmap(jax.grad(loss, places)))
        opened = files(replace(recipe, inputs=batches))
        got = [jask.materialize(g) for g in gradients(*opened)]
    in_memory = jax.vmap(jax.grad(lambda *xs: total(jnp, *xs), places))
    expected = in_memory(*map(jnp.asarray, batches))
    for out, want in zip(got, expected, strict=True):
        assert_same(out, want, error=gradient_bound(np.asarray(want)))
