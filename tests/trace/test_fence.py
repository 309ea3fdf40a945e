"""What is compared with its own extreme has the same bits in every kernel."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jask.trace.build import build_function
from jask.trace.fence import fence_compared


def fenced(function: Any) -> list[str]:
    shape = [((6, 3), np.dtype("float32"))]
    program = fence_compared(build_function(function, shape))
    return [e.name for e in program.equations if e.fenced]


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_what_leads_to_a_maximum_is_fenced_in_its_derivative(axis: int | None) -> None:
    names = fenced(jax.grad(lambda x: jnp.sum(jnp.max(jnp.sin(x) * 2 + x, axis))))
    assert {"sin", "mul", "add"} <= set(names)
    assert "reduce_sum" not in names


def test_a_maximum_that_nothing_is_compared_with_is_not() -> None:
    assert not fenced(lambda x: jnp.max(jnp.sin(x) * 2 + x))
    assert not fenced(lambda x: jax.nn.softmax(x * 2 + 1))
    assert not fenced(lambda x: x * 2 + 1 == jnp.cos(x))
