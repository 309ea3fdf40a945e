from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jask.trace.check import check
from jask.trace.rewrite import online_softmax, rewrite
from tests.trace.graphs import interpret, names, program_for

X = np.random.default_rng(0).normal(3, 2, (6, 5, 4)).astype("float32")


def deviations(x, axis, *, keepdims=True):
    mean = jnp.mean(x, axis, keepdims=keepdims)
    return jnp.sum((x - mean) ** 2, axis)


def own_variance(x):
    mean = x.sum(1, keepdims=True) * (1 / 5)
    centred = x - mean
    return jnp.sum(centred * centred, 1) / 5, mean


MOMENTS = {
    "var": jnp.var,
    "var of an axis": lambda x: jnp.var(x, 1),
    "var of two axes": lambda x: jnp.var(x, (0, 2)),
    "var kept": lambda x: jnp.var(x, 1, keepdims=True),
    "std with ddof": lambda x: jnp.std(x, 0, ddof=1),
    "mean and var": lambda x: (jnp.mean(x, 0), jnp.var(x, 0)),
    "standardised": lambda x: (x - x.mean(0)) / x.std(0),
    "layer norm": lambda x: (
        (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    ),
    "half precision": lambda x: jnp.var(x.astype("float16"), 0),
    "leading axis without keepdims": lambda x: deviations(x, 0, keepdims=False),
    "product with 1/n": own_variance,
    "value and gradient": jax.value_and_grad(jnp.var),
}


@pytest.mark.parametrize("x64", [False, True], ids=["x32", "x64"])
@pytest.mark.parametrize("case", MOMENTS)
def test_a_variance_becomes_one_fold_with_the_same_value(case, x64):
    function = MOMENTS[case]
    program = rewrite(program_for(function, X, x64=x64))
    check(program)
    assert names(program).count("moments") == 1
    with jax.enable_x64(x64):
        expected = jax.tree.leaves(function(jnp.asarray(X)))
    tolerance = 1e-2 if case == "half precision" else 1e-5
    for got, want in zip(interpret(program, X), expected, strict=True):
        assert got.dtype == want.dtype
        # a rewrite rounds in another order
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=1e-5)


def test_a_variance_of_doubles_is_one_fold_of_doubles():
    x = X.astype("float64") + 1e6
    program = rewrite(program_for(lambda x: jnp.var(x, 0), x))
    (fold,) = [e for e in program.equations if e.name == "moments"]
    assert {v.dtype for v in fold.outputs} == {np.dtype("float64")}
    # a rewrite rounds in another order
    np.testing.assert_allclose(interpret(program, x)[0], x.var(0), rtol=1e-9)


SQUARE = np.arange(16, dtype="float32").reshape(4, 4)

NOT_MOMENTS = {
    "other axes": lambda x: deviations(x, 0) + jnp.sum((x - x.mean(1)) ** 2, 0),
    "mean over another axis": lambda x: jnp.sum((x - x.mean(1, keepdims=True)) ** 2, 0),
    "mean on the wrong axis": lambda x: jnp.sum((x - x.mean(1)) ** 2, 1),
    "another divisor": lambda x: jnp.sum((x - x.sum(0) / 3) ** 2, 0),
    "another power": lambda x: jnp.sum((x - x.mean(0)) ** 3, 0),
    "mean of another array": lambda x: jnp.sum((x - jnp.sin(x).mean(0)) ** 2, 0),
    "reversed mean": lambda x: jnp.sum((x - x.mean(0)[::-1]) ** 2, 0),
    "integers": lambda x: jnp.sum(
        jax.lax.integer_pow(
            x.astype("int64") - jax.lax.div(x.astype("int64").sum(0), jnp.int64(4)), 2
        ),
        0,
    ),
    "complex": lambda x: jnp.var(jax.lax.complex(x, -x), 0),
}


@pytest.mark.parametrize("case", NOT_MOMENTS)
def test_what_only_looks_like_a_variance_stays(case):
    function = NOT_MOMENTS[case]
    program = rewrite(program_for(function, SQUARE))
    check(program)
    matches = names(program).count("moments")
    assert matches == (1 if case == "other axes" else 0)
    (got,) = interpret(program, SQUARE)
    # a rewrite rounds in another order
    np.testing.assert_allclose(got, function(jnp.asarray(SQUARE)), rtol=1e-5)


SOFTMAX: dict[str, tuple[Callable[..., Any], bool]] = {
    "softmax": (jax.nn.softmax, False),
    "softmax of two axes": (lambda x: jax.nn.softmax(x, (0, 2)), False),
    "log_softmax": (lambda x: jax.nn.log_softmax(x, 1), False),
    "logsumexp": (lambda x: jax.nn.logsumexp(x, 0), True),
    "logsumexp of all": (jax.nn.logsumexp, True),
    "logsumexp kept": (lambda x: jax.nn.logsumexp(x, 1, keepdims=True), True),
    "by hand": (
        lambda x: (
            jnp.exp(x - x.max(1, keepdims=True))
            / jnp.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True)
        ),
        False,
    ),
    "cross entropy and its gradient": (
        jax.value_and_grad(lambda x: -jnp.mean(jax.nn.log_softmax(x, -1)[..., 0])),
        False,
    ),
}


@pytest.mark.parametrize("case", SOFTMAX)
def test_a_softmax_becomes_one_fold_with_the_same_value(case):
    function, guarded = SOFTMAX[case]
    program = online_softmax(program_for(function, X), lambda _: True)
    check(program)
    (fold,) = [e for e in program.equations if e.name == "logsumexp_parts"]
    assert fold.params["guarded"] is guarded
    assert "reduce_max" not in names(program)
    expected = jax.tree.leaves(function(jnp.asarray(X)))
    for got, want in zip(interpret(program, X), expected, strict=True):
        # a rewrite rounds in another order
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", [jax.nn.softmax, jax.nn.logsumexp])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_rows_without_a_finite_maximum_keep_their_value(function, value):
    x = np.full((2, 3), value, "float32")
    program = online_softmax(program_for(function, x), lambda _: True)
    expected = function(jnp.asarray(x))
    np.testing.assert_array_equal(interpret(program, x)[0], expected)


def test_a_softmax_stays_where_the_planner_does_not_want_the_fold():
    program = online_softmax(program_for(jax.nn.softmax, X), lambda _: False)
    assert "logsumexp_parts" not in names(program)
    assert "logsumexp_parts" not in names(rewrite(program))


def test_a_maximum_of_other_axes_is_not_a_softmax():
    def function(x):
        return jnp.exp(x - x.max(0)).sum(1)

    program = online_softmax(program_for(function, SQUARE), lambda _: True)
    assert "logsumexp_parts" not in names(program)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.T @ x,
        lambda x: x @ x.T,
        lambda x: jnp.einsum("ji,jk->ik", x, x),
        lambda x: x.T @ x @ x.T,
    ],
    ids=["gram", "outer gram", "einsum", "chain"],
)
def test_a_product_reads_what_its_operand_transposes(function):
    x = np.linspace(-2, 2, 12, dtype="float32").reshape(4, 3)
    program = rewrite(program_for(function, x))
    assert "transpose" not in names(program)
    (value,) = interpret(program, x)
    # a rewrite rounds in another order
    np.testing.assert_allclose(value, function(jnp.asarray(x)), rtol=1e-6)


def test_a_transpose_that_reorders_the_result_stays():
    x = np.linspace(-2, 2, 24, dtype="float32").reshape(4, 3, 2)
    function = lambda x: jnp.tensordot(jnp.transpose(x, (2, 1, 0)), x, axes=([2], [0]))
    program = rewrite(program_for(function, x))
    assert "transpose" in names(program)
    (value,) = interpret(program, x)
    # a rewrite rounds in another order
    np.testing.assert_allclose(value, function(jnp.asarray(x)), rtol=1e-6)
