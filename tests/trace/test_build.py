import inspect
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jask
import jask.numpy as jask_numpy
from jask.errors import MemoryBudgetError, UnsupportedPrimitiveError
from jask.trace.build import build, structure
from jask.trace.counters import COUNTERS
from jask.trace.graph import Call, Node, Operation, Result
from jask.trace.ir import Literal
from tests.trace.graphs import (
    Gradient,
    call,
    dense,
    interpret,
    names,
    one,
    program_for,
    program_of,
    source,
)

X = np.linspace(-2, 2, 12, dtype="float32").reshape(4, 3)


def test_calls_of_every_kind_are_inlined():
    @jax.custom_vjp
    def own(x):
        return jnp.sin(x)

    own.defvjp(lambda x: (own(x), x), lambda _, g: (g,))

    def function(x):
        return jax.nn.relu(jax.checkpoint(jnp.cos)(own(jax.jit(jnp.tanh)(x))))

    assert names(program_for(function, X)) == ["tanh", "sin", "cos", "max"]


def test_a_repeated_forward_pass_is_merged_with_the_first():
    def loss(x):
        return jnp.sum(jnp.exp(jnp.sin(x)))

    x = source((4, 3))
    program = program_of(one(loss, x), one(Gradient(loss), x))
    assert names(program).count("sin") == 1
    assert names(program).count("exp") == 1


def test_equal_equations_of_different_operations_are_merged():
    x = source((3,))
    program = program_of(one(jnp.sin, x), one(lambda x: jnp.sin(x) * 2, x))
    assert names(program) == ["sin", "mul"]


def test_equations_with_other_parameters_are_not_merged():
    program = program_for(lambda x: (jnp.sum(x, 0), jnp.sum(x, 1)), X)
    assert names(program) == ["reduce_sum", "reduce_sum"]


def test_zeros_of_either_sign_are_not_merged():
    def function(x):
        return x * np.float32(0.0), x * np.float32(-0.0)

    assert names(program_for(function, X)) == ["mul", "mul"]


def test_dead_code_is_dropped():
    def function(x):
        jnp.cos(x)
        return jnp.sin(x)

    assert names(program_for(function, X)) == ["sin"]


def test_an_unused_leaf_keeps_its_place():
    program = program_for(lambda _, y: jnp.sin(y), X, X.copy())
    assert len(program.leaves) == 2
    assert program.equations[0].inputs == (program.leaves[1],)


def test_scalar_arithmetic_is_done_while_building():
    def function(x):
        three = lax.add(jnp.float32(1), jnp.float32(2))
        return x * lax.exp(lax.sqrt(three * three))

    (eqn,) = program_for(function, X).equations
    assert isinstance(eqn.inputs[1], Literal)
    # float32 functions of XLA and NumPy differ in the last bits
    np.testing.assert_allclose(eqn.inputs[1].value, np.exp(np.float32(3)), rtol=1e-6)
    assert eqn.inputs[1].value.dtype == np.float32


def test_the_scalars_of_a_variance_are_folded():
    assert names(program_for(jnp.var, X)) == [
        "reduce_sum", "broadcast_in_dim", "div", "sub", "square", "reduce_sum", "div",
    ]  # fmt: skip


def test_array_constants_become_variables_and_equal_ones_are_one():
    def function(x):
        return x + np.arange(3, dtype="float32"), x * np.arange(3, dtype="float32")

    program = program_for(function, X)
    (value,) = program.constants.values()
    np.testing.assert_array_equal(value, np.arange(3, dtype="float32"))


IDENTITIES = {
    "times one": lambda x: x * 1,
    "one times": lambda x: 1 * x,
    "over one": lambda x: x / 1,
    "minus zero": lambda x: x - 0.0,
    "plus negative zero": lambda x: x + np.float32(-0.0),
    "times ones": lambda x: x * jnp.ones((4, 3), "float32"),
    "max of least": lambda x: lax.max(x, jnp.full_like(x, -jnp.inf)),
    "min of greatest": lambda x: lax.min(x, jnp.float32(jnp.inf)),
    "neg of neg": lambda x: lax.neg(lax.neg(x)),
    "transposed back": lambda x: x.T.T,
    "reshaped back": lambda x: x.reshape(2, 6).reshape(4, 3),
    "same dtype": lambda x: x.astype("float32"),
    "rev of nothing": lambda x: lax.rev(x, ()),
    "first power": lambda x: lax.integer_pow(x, 1),
    "empty pad": lambda x: lax.pad(x, jnp.float32(0), [(0, 0, 0)] * 2),
    "whole slice": lambda x: lax.slice(x, (0, 0), (4, 3)),
    "whole dynamic slice": lambda x: lax.dynamic_slice(x, (1, 1), (4, 3)),
    "concatenation of one": lambda x: lax.concatenate([x], 0),
    "stop gradient": lax.stop_gradient,
    "barrier": lax.optimization_barrier,
    "known predicate": lambda x: lax.select(jnp.array(True), x, jnp.cos(x)),
    "equal cases": lambda x: lax.select_n(x > 0, x, x),
    "reduction of no axes": lambda x: lax.reduce_sum_p.bind(
        x, axes=(), out_sharding=None
    ),
}

STAYING = {
    "add": lambda x: x + 0.0,
    "mul": lambda x: x * 0.0,
    "sub": lambda x: x - np.float32(-0.0),
    "broadcast_in_dim": lambda x: jnp.ones((2, 4, 3), "float32") * x,
    "reduce_precision": lambda x: lax.reduce_precision(x, 8, 22),
    "transpose": lambda x: x.reshape(2, 6).T,
    "slice": lambda x: x[:2],
    "div": lambda x: 1 / x,
}


@pytest.mark.parametrize("case", IDENTITIES)
def test_what_returns_its_operand_exactly_disappears(case):
    program = program_for(IDENTITIES[case], X)
    assert program.equations == []
    assert program.outputs == program.leaves


@pytest.mark.parametrize("name", STAYING)
def test_what_changes_a_value_or_shape_stays(name):
    assert name in names(program_for(STAYING[name], X))


def test_two_transposes_or_broadcasts_become_one():
    x = np.zeros((2, 3, 4), "float32")
    permuted = program_for(lambda x: x.transpose(1, 2, 0).transpose(0, 2, 1), x)
    assert names(permuted) == ["transpose"]
    assert permuted.outputs[0].shape == (3, 2, 4)

    def spread(x):
        return lax.broadcast_in_dim(
            lax.broadcast_in_dim(x, (5, 4), (1,)), (7, 5, 4), (1, 2)
        )

    y = np.arange(4, dtype="float32")
    broadcast = program_for(spread, y)
    assert names(broadcast) == ["broadcast_in_dim"]
    np.testing.assert_array_equal(
        interpret(broadcast, y)[0], np.broadcast_to(y, (7, 5, 4))
    )


def test_a_weak_scalar_does_not_widen_an_array():
    x, two = source((3,), "float16"), dense(np.float64(2))
    weak = (False, True)
    program = program_of(one(jnp.multiply, x, two, x64=False, weak=weak))
    assert program.outputs[0].dtype == np.float16
    values = np.arange(3, dtype="float16")
    np.testing.assert_array_equal(interpret(program, values, 2.0)[0], values * 2)


def test_loops_and_branches_stay_equations():
    def function(x):
        return lax.fori_loop(0, 3, lambda _, v: v * 2, x)

    program = program_for(function, X)
    assert names(program) in (["scan"], ["while"])
    np.testing.assert_array_equal(interpret(program, X)[0], X * 8)


def test_each_operation_is_traced_once_for_operands_of_one_type():
    def function(x):
        return jnp.sin(x) + 1

    def evaluate(path):
        target = one(function, source((6, 2), path=path))
        before = COUNTERS.traces
        build([target], structure([target]))
        return COUNTERS.traces - before

    assert evaluate("a.npy") == 1
    assert evaluate("b.npy") == 0


def test_side_effects_are_refused_by_name():
    def function(x):
        jax.debug.print("x={x}", x=x)
        return x + 1

    with pytest.raises(UnsupportedPrimitiveError, match="no side effects; got debug"):
        program_for(function, X)


def test_a_node_of_the_wrong_type_is_refused():
    x = source((3,))
    wrong = Result((4,), x.dtype, Call(Operation(jnp.sin, "sin", False), (x,)), 0)
    with pytest.raises(TypeError, match="type that its operation returns"):
        build([wrong], structure([wrong]))


def test_equations_name_the_users_line():
    def function(x):
        return jnp.sin(x)

    assert "test_build.py:" in program_for(function, X).equations[0].source


def calls_to_build_a_chain(length: int) -> int:
    """Return how many Python functions are called to build a chain of operations."""
    node: Node = source((3,))
    sin, cos = (Operation(f, f.__name__, x64=False) for f in (jnp.sin, jnp.cos))
    for i in range(length):
        node = Result(node.shape, node.dtype, Call(cos if i % 2 else sin, (node,)), 0)
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        program = build([node], structure([node]))
    finally:
        sys.setprofile(None)
    assert len(program.equations) == length
    return calls


def test_a_deep_chain_is_built_in_linear_time_without_recursion():
    calls_to_build_a_chain(2)  # both functions are traced
    assert calls_to_build_a_chain(5000) < 2.1 * calls_to_build_a_chain(2500)


def test_a_call_with_several_results_is_built_once():
    x = source((4, 3))
    values, exponents = call(jnp.frexp, x)
    program = program_of(values, exponents)
    expected = jnp.frexp(X)
    for got, want in zip(interpret(program, X), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_split_is_a_slice_for_each_part():
    x = np.arange(30.0, dtype="float32").reshape(10, 3)
    program = program_for(lambda x: jnp.split(x, [2, 7]), x)
    assert names(program) == ["slice"] * 3
    assert [o.shape for o in program.outputs] == [(2, 3), (5, 3), (3, 3)]
    starts = [e.params["start_indices"] for e in program.equations]
    assert starts == [(0, 0), (2, 0), (7, 0)]


def _turned_in_jask(x: Any) -> Any:
    return jask_numpy.abs(jask_numpy.fft.fft(x, axis=1))


def _sort_in_jax(x: Any) -> Any:
    return jnp.sort(x, axis=1)


def _singular_values(x: Any) -> Any:
    return jask.materialize(jask_numpy.linalg.svdvals(x))


def _body_of(function: Callable[..., Any]) -> str:
    """Return the place of the one line of a function."""
    return f"{__file__}:{inspect.getsourcelines(function)[1] + 1}"


def test_an_equation_names_the_line_where_its_function_was_called():
    y = _turned_in_jask(jask.from_numpy(np.ones((3, 4))))
    program = build([y.node], structure([y.node]))
    assert {e.source for e in program.equations} == {_body_of(_turned_in_jask)}


def test_an_equation_of_a_lifted_function_names_the_line_in_it():
    jnp.sort(jnp.ones((3, 4)), axis=1)  # JAX keeps the jaxpr of this call
    y = jask.lift(_sort_in_jax)(jask.from_numpy(np.ones((3, 4))))
    program = build([y.node], structure([y.node]))
    assert {e.source for e in program.equations} == {_body_of(_sort_in_jax)}


def test_an_equation_keeps_its_line_under_jit(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((40, 40)))
    x, small = jask.open(tmp_path / "x.npy"), jask.config(memory_budget=2000)
    refused = (MemoryBudgetError, jax.errors.JaxRuntimeError)  # before or in the call
    with small, pytest.raises(refused) as error:
        jax.jit(_singular_values)(x)
    assert f"svd at {_body_of(_singular_values)}" in str(error.value)


def test_a_transform_that_does_not_fit_is_refused_with_its_line(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((4, 5000)))
    x, small = jask.open(tmp_path / "x.npy"), jask.config(memory_budget=20_000)
    with small, pytest.raises(MemoryBudgetError) as error:
        jask.materialize(jask_numpy.sum(_turned_in_jask(x)))
    assert f"fft at {_body_of(_turned_in_jask)}: it needs some" in str(error.value)


def test_the_line_is_no_part_of_what_is_computed():
    x = jask.from_numpy(np.ones(3))
    first = jask_numpy.sin(x)
    second = jask_numpy.sin(x)
    assert structure([first.node]) == structure([second.node])
