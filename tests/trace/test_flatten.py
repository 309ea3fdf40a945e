"""What is inlined when an operation is flattened."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jask.trace.flatten import flatten
from jask.trace.graph import Operation

LOOPS = {"call_hi_primitive", "cond", "platform_index", "scan", "while"}


def names(fn: Callable[..., Any], *shapes: tuple[int, ...]) -> set[str]:
    """The primitives of a function of float32 arrays."""
    operation = Operation(fn, "fn", x64=False)
    specs = tuple((shape, np.dtype("float32")) for shape in shapes)
    return {step.name for step in flatten(operation, specs).steps}


def search(a, x):
    return jnp.searchsorted(a, x, method="compare_all")


def contract(a, b):
    return jnp.einsum("ij,kj->ik", a, b)


def saved(x):
    return jax.grad(lambda x: jnp.sum(jax.checkpoint(jnp.sin)(x)))(x)


@pytest.mark.parametrize(
    ("fn", "shapes", "wanted"),
    [
        (search, ((9,), (7,)), "reduce_sum"),
        (contract, ((3, 4), (5, 4)), "dot_general"),
        (saved, ((3,),), "cos"),
        (jnp.diagonal, ((4, 4),), "gather"),
    ],
)
def test_what_only_stands_for_other_primitives_is_inlined(
    fn: Callable[..., Any], shapes: tuple[tuple[int, ...], ...], wanted: str
):
    found = names(fn, *shapes)
    assert wanted in found
    assert not found & LOOPS


@pytest.mark.parametrize(("chosen", "wanted"), [(True, "sin"), (False, "cos")])
def test_a_branch_chosen_by_a_constant_is_inlined(wanted: str, *, chosen: bool):
    found = names(lambda x: jax.lax.cond(chosen, jnp.sin, jnp.cos, x), (3,))
    assert found == {wanted}


def test_a_branch_chosen_by_a_value_stays():
    found = names(lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x), (3,))
    assert "cond" in found
