"""Decompositions of stacks become one equation for each result."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jask
import jask.numpy
from jask._jax import ALL_PRIMITIVES
from jask.trace.check import check
from jask.trace.stacks import DECOMPOSITIONS
from tests.trace.graphs import names, program_for


@pytest.mark.parametrize("stack", [(2,), (2, 1), (1, 5)])
def test_each_result_that_is_used_has_an_equation(stack: tuple[int, ...]) -> None:
    program = program_for(
        lambda a: lax.linalg.lu(a)[::2], np.zeros((*stack, 3, 4), "f4")
    )
    check(program)
    parts = [(e.name, e.params["part"]) for e in program.equations]
    assert parts == [("lu of a stack", 0), ("lu of a stack", 2)]
    assert [o.shape for o in program.outputs] == [(*stack, 3, 4), (*stack, 3)]


@pytest.mark.parametrize("shape", [(3, 3), (1, 3, 3), (0, 3, 3)])
def test_one_matrix_or_none_is_decomposed_by_one_equation(
    shape: tuple[int, ...],
) -> None:
    program = program_for(lax.linalg.lu, np.zeros(shape, "f4"))
    check(program)
    assert "lu of a stack" not in names(program)


def test_equal_results_are_computed_once() -> None:
    def both(*, full: bool) -> Any:
        return lambda a: (
            lax.linalg.qr(a, full_matrices=False)[1],
            lax.linalg.qr(a, full_matrices=full)[1],
        )

    x = np.zeros((2, 4, 3), "f4")
    assert len(names(program_for(both(full=True), x))) == 2
    assert len(names(program_for(both(full=False), x))) == 1


def test_only_primitives_of_several_results_are_taken_apart() -> None:
    assert all(ALL_PRIMITIVES[name].multiple_results for name in DECOMPOSITIONS)


def test_a_linear_solve_is_its_solver() -> None:
    program = program_for(
        jnp.linalg.solve, np.eye(3, dtype="f4"), np.ones((3, 1), "f4")
    )
    check(program)
    assert "custom_linear_solve" not in names(program)
    assert names(program).count("triangular_solve") == 2


@pytest.mark.parametrize("function", [jnp.linalg.svdvals, jnp.linalg.cond])
def test_singular_values_alone_take_no_room_for_vectors(function: Any) -> None:
    program = program_for(function, np.zeros((40, 3), "f4"))
    check(program)
    (eqn,) = [e for e in program.equations if e.name == "svd"]
    assert not eqn.params["full_matrices"]


def test_singular_values_of_a_tall_matrix_need_a_few_times_its_bytes() -> None:
    x = np.random.default_rng(0).normal(size=(20_000, 5)).astype("f4")
    with jask.config(memory_budget="4MB"):  # the vectors that nobody wants: 1.6 GB
        found = np.asarray(jask.numpy.linalg.svdvals(jask.from_numpy(x)))
    expected = np.linalg.svd(x, compute_uv=False)
    np.testing.assert_allclose(found, expected, rtol=1e-5)  # float32
