"""Operations are values: equal when they do the same, different when they do not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

import jask
from jask.hijax.apply import apply
from jask.hijax.function import (
    Batched,
    Function,
    Pullback,
    Pushforward,
    Transposed,
    freeze,
    shaped,
    thaw,
)

STATIC = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([np.dtype("f"), np.float32, slice(1, None, -1), Ellipsis]),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner)
        | st.builds(slice, st.integers(), st.none(), st.integers())
    ),
    max_leaves=8,
)


def function(fn, *operands, **static):
    return Function(fn, jax.tree.structure(operands), freeze(static))


@given(STATIC)
def test_a_frozen_argument_comes_back(value):
    assert repr(thaw(freeze(value))) == repr(value)
    assert freeze(value) == freeze(value)
    assert hash(freeze(value)) == hash(freeze(value))


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1.0), (1, True), (0.0, -0.0), ([1], (1,)), ({"a": 1}, {"a": 2})]
)
def test_what_differs_stays_different(a, b):
    assert freeze(a) != freeze(b)


def test_nan_is_the_same_argument_each_time():
    assert freeze(float("nan")) == freeze(float("nan"))


def test_integers_and_what_they_equal_differ_in_tuples_too():
    values = [(1, 2), (True, 2), (1.0, 2), [1, 2], (np.int64(1), 2), (1, (2,))]
    assert len(set(map(freeze, values))) == len(values)
    assert [thaw(freeze(v)) for v in values] == values


def test_a_function_of_known_shape_is_not_traced_when_it_is_applied():
    @shaped
    def rows(x, *, shape, count):
        traced.append(count)
        return x[: shape[0]] if count else x[-shape[0] :]

    traced: list[int] = []
    x = jask.from_numpy(X)
    made = [
        apply(rows, x, name="rows", static={"shape": (1, 3), "count": n})
        for n in (0, 1)
    ]
    assert not traced
    assert {(y.shape, y.dtype) for y in made} == {((1, 3), X.dtype)}
    np.testing.assert_array_equal(np.concatenate(made), X[::-1])
    assert traced


def test_an_array_is_no_static_argument():
    with pytest.raises(TypeError, match="must be hashable"):
        freeze([np.zeros(3)])


def test_derived_operations_are_equal_by_value():
    def made():
        f = function(jnp.sum, 0, axis=1)
        return [
            Pullback(f, (True,), (True,)),
            Pushforward(f, (True,)),
            Batched(f, (0,), 3),
            Transposed(f, (True,), (jax.ShapeDtypeStruct((2, 3), "f"),), (True,)),
            Pullback(Pullback(f, (True,), (True,)), (True, True), (True,)),
        ]

    assert made() == made()
    assert len({*made(), *made()}) == 5
    other = Pullback(function(jnp.sum, 0, axis=0), (True,), (True,))
    assert other != made()[0]


X = np.linspace(0.1, 1, 6).reshape(2, 3)


def test_a_pullback_is_the_cotangent():
    f = function(jnp.multiply, 0, 0)
    got = Pullback(f, (False, True), (True,))(X, X + 1, X)
    np.testing.assert_allclose(jax.tree.leaves(got)[0], X * X)


def test_a_pullback_fills_in_zeros_for_results_without_cotangent():
    f = function(lambda x: (jnp.sin(x), jnp.argmax(x), jnp.cos(x)), 0)
    got = Pullback(f, (True,), (True, False, False))(X, X)
    np.testing.assert_allclose(jax.tree.leaves(got)[0], X * np.cos(X))


def test_a_pushforward_is_the_tangent_of_float_results():
    f = function(lambda x, y: (x * y, jnp.argmax(x)), 0, 0)
    [got] = Pushforward(f, (True, False))(X, X + 1, X)
    np.testing.assert_allclose(got, X * (X + 1))


def test_a_transpose_is_linear_algebra():
    f = function(jnp.matmul, 0, 0)
    avals = (jax.ShapeDtypeStruct((3,), X.dtype),)
    got = Transposed(f, (False, True), avals, (True,))(X, np.ones(2))
    np.testing.assert_allclose(jax.tree.leaves(got)[0], X.sum(0))


def test_a_batch_leads_in_the_results():
    f = function(jnp.matmul, 0, 0)
    got = Batched(f, (1, None), 3)(X, np.ones(2))
    np.testing.assert_allclose(got, X.sum(0))
