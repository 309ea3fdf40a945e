"""ufuncs: the methods of `jax.numpy.ufunc`, and functions made of functions."""

import operator
import pickle
from pathlib import Path
from typing import Any

import jax
import jax.numpy as real
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from tests.numpy.samples import NAN, disk

NAMES = [n for n in dir(real) if isinstance(getattr(real, n), real.ufunc)]
BINARY = [n for n in NAMES if getattr(real, n).nin == 2]

A: Any = np.asarray([[3.0, -1.0, 2.5, 0.0], [8.0, 5.0, NAN, -4.0]], np.float32)
I = np.asarray([[3, 1, 12, 0, 7], [8, 5, 4, 6, 6]], np.int32)  # noqa: E741 (integers)
B = I % 3 == 0
NO_AXIS: Any = None
LN2 = float(np.log(2))
BITS = {"bitwise_and", "bitwise_or", "bitwise_xor"}


def same(found: Any, expected: Any) -> None:
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    # sums of blocks are in another order, float32
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


def operands(name: str) -> list[Any]:
    booleans = [] if name == "subtract" else [B]
    return [I, *booleans] if name in BITS else [A, I, *booleans]


@pytest.mark.parametrize("name", NAMES)
def test_the_facts_are_those_of_the_model(name: str):
    ours, model = getattr(jnp, name), getattr(real, name)
    assert isinstance(ours, jnp.ufunc)
    for fact in ("nin", "nout", "nargs", "identity", "__name__"):
        assert getattr(ours, fact) == getattr(model, fact)
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert name in repr(ours)


@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("name", BINARY)
def test_reduce_gives_what_the_model_gives(name: str, axis: Any, stored: Any):
    ours, model = getattr(jnp, name), getattr(real, name)
    for x in operands(name):
        found = ours.reduce(stored(x), axis, keepdims=axis == -1)
        same(found, model.reduce(x, axis, keepdims=axis == -1))


@pytest.mark.parametrize("name", BINARY)
def test_reduce_takes_a_start_and_a_mask(name: str, stored: Any):
    ours, model = getattr(jnp, name), getattr(real, name)
    first = np.float32(1) if name == "logaddexp" else 1  # the model wants its dtype
    expected = model.reduce(I, 1, initial=first, where=I > 3)
    same(ours.reduce(stored(I), 1, initial=1, where=I > 3), expected)


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", BINARY)
def test_accumulate_gives_what_the_model_gives(name: str, axis: int, stored: Any):
    ours, model = getattr(jnp, name), getattr(real, name)
    for x in operands(name):
        same(ours.accumulate(stored(x), axis), model.accumulate(x, axis))


@pytest.mark.parametrize(("name", "scale"), [("logaddexp", 1), ("logaddexp2", LN2)])
def test_the_gradient_of_sums_that_begin_with_nothing(
    name: str, scale: float, stored: Any
):
    """`jax.numpy`'s is NaN for the first element; JAX's cumlogsumexp has it right."""
    x = np.asarray([-np.inf, 1, 2], np.float32)
    model = lambda x: real.sum(jax.lax.cumlogsumexp(x * scale) / scale)
    ours = lambda x: jnp.sum(getattr(jnp, name).accumulate(x))
    same(jask.grad(ours)(stored(x)), jax.grad(model)(x))


@pytest.mark.parametrize("name", BINARY)
def test_outer_gives_what_the_model_gives(name: str, stored: Any):
    ours, model = getattr(jnp, name), getattr(real, name)
    for x in operands(name):
        same(ours.outer(stored(x), stored(x[1])), model.outer(x, x[1]))


PLACES = {
    "one": ((1, 2), lambda x: x[0, 1]),
    "rows": (np.asarray([1, 0, 1]), lambda x: x[0, 2]),
    "elements": ((np.asarray([1, 0, 1]), np.asarray([3, 3, 3])), lambda x: x[0, 1:4]),
    "beside a number": ((1, np.asarray([2, 2, 0])), lambda x: x[0, 1:4]),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", BINARY)
def test_at_gives_what_the_model_gives(name: str, place: str, stored: Any):
    ours, model = getattr(jnp, name), getattr(real, name)
    key, chosen = PLACES[place]
    for x in operands(name):
        value = real.asarray(chosen(x))
        found = ours.at(stored(x), key, value, inplace=False)
        same(found, model.at(real.asarray(x), key, value, inplace=False))


@pytest.mark.parametrize("name", BINARY)
def test_at_slices_gives_what_numpy_gives(name: str, stored: Any):
    x = I if name in BITS else A
    key = (slice(None), slice(1, 4, 2))
    expected = x.copy()
    getattr(np, name).at(expected, key, x[:1, :2])
    expected = expected.astype(bool) if name.startswith("logical") else expected
    same(getattr(jnp, name).at(stored(x), key, x[:1, :2], inplace=False), expected)


def test_at_of_one_operand(stored: Any):
    model: Any = real.negative
    key = (0, np.asarray([1, 1, 2]))
    found = jnp.negative.at(stored(I), key, inplace=False)
    same(found, model.at(I, key, inplace=False))


@pytest.mark.parametrize("name", BINARY)
def test_reduceat_gives_what_the_model_gives(name: str, stored: Any):
    ours, model = getattr(jnp, name), getattr(real, name)
    places = np.asarray([0, 2, 1, 4])
    x = A if name.startswith("log") else I
    for axis in (1, -1):
        found = ours.reduceat(stored(x), places, axis)
        same(found, model.reduceat(x, places, axis))


def test_a_dtype_is_honoured(stored: Any):
    for dtype in (np.float32, np.int16):
        for method in ("reduce", "accumulate"):
            found = getattr(jnp.add, method)(stored(I), 1, dtype)
            same(found, getattr(real.add, method)(I, 1, dtype))


@pytest.mark.parametrize("name", BINARY)
def test_methods_give_what_the_model_gives_with_64_bit_types_off(name: str):
    ours, model = getattr(jnp, name), getattr(real, name)
    x = I if name in BITS else A
    with jax.enable_x64(False):
        for method in ("reduce", "accumulate"):
            found = getattr(ours, method)(disk(x), 1)
            same(found, getattr(model, method)(x, 1))


@pytest.mark.parametrize("name", [n for n in BINARY if n.startswith("logical")])
def test_accumulate_has_the_values_of_a_dtype_that_is_given(name: str, stored: Any):
    for dtype in (np.float32, bool):
        found = getattr(jnp, name).accumulate(stored(I), 1, dtype)
        same(found, getattr(real, name).accumulate(I, 1, dtype))


def test_a_method_reads_a_file_larger_than_the_budget(tmp_path: Path):
    x = np.random.default_rng(0).standard_normal((400, 1500), np.float32)
    np.save(tmp_path / "x.npy", x)
    with jask.config(memory_budget="1MB"):
        on = jask.open(tmp_path / "x.npy")
        highest = np.asarray(jnp.maximum.reduce(on, axis=None))
        jask.save(tmp_path / "y.npy", jnp.maximum.accumulate(on))
    assert highest == x.max()
    assert (np.load(tmp_path / "y.npy") == np.maximum.accumulate(x)).all()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: jnp.add.at(x, 0, 1.0), NotImplementedError, "inplace=False"),
        (lambda x: jnp.add(x, x, out=A), NotImplementedError, "out must be None"),
        (lambda x: jnp.add.reduce(x, out=A), NotImplementedError, "out must be None"),
        (lambda x: jnp.add(x, x, where=B), NotImplementedError, "where must be None"),
        (lambda x: jnp.add(x, x, dtype="f4"), TypeError, "unexpected keyword"),
        (jnp.negative.reduce, ValueError, "two operands"),
        (lambda x: jnp.negative.outer(x, x), ValueError, "two operands"),
        (lambda x: jnp.add.accumulate(x, NO_AXIS), ValueError, "one axis"),
        (lambda x: jnp.add.reduce(x, 2), np.exceptions.AxisError, "out of bounds"),
        (lambda x: jnp.maximum.reduce(x, where=A > 0), ValueError, "initial"),
        (lambda x: jnp.maximum.reduce(x[:0]), ValueError, "identity"),
        (jnp.add, TypeError, "x2"),
    ],
    ids=range(12),
)
def test_what_there_is_not_is_an_error_at_the_call(call: Any, error: Any, match: str):
    with pytest.raises(error, match=match):
        call(disk(A))


def test_ufuncs_are_traced():
    value = jax.grad(lambda x: jask.materialize(jnp.add.reduce(x * x, None)))(
        disk(I / 4)
    )
    np.testing.assert_allclose(np.asarray(value), I / 2)
    same(jax.jit(jnp.maximum.reduce)(disk(I)), real.maximum.reduce(I))
    same(jax.vmap(jnp.add)(disk(I), disk(I)), real.add(I, I))


def scaled(a: Any, b: Any) -> Any:
    return a * b + 1


def test_a_ufunc_is_made_of_a_function_of_scalars(stored: Any):
    ours = jnp.frompyfunc(scaled, 2, 1)
    model: Any = real.frompyfunc(scaled, 2, 1)
    assert isinstance(ours, jnp.ufunc)
    assert ours == jnp.frompyfunc(scaled, 2, 1)
    assert hash(ours) == hash(jnp.frompyfunc(scaled, 2, 1))
    assert ours != jnp.frompyfunc(operator.add, 2, 1)
    same(ours(stored(I), 2.5), model(I, 2.5))
    same(ours.reduce(stored(I), 1), model.reduce(I, 1))
    same(ours.accumulate(stored(I), 1), model.accumulate(I, 1))
    same(ours.outer(stored(A), stored(I)), model.outer(A, I))
    with pytest.raises(TypeError, match="takes 2 operands"):
        ours(stored(I))


def test_two_results_of_a_function_of_scalars(stored: Any):
    ours = jnp.frompyfunc(lambda a: (a + 1, a * 2), 1, 2)
    for found, expected in zip(ours(stored(I)), (I + 1, I * 2), strict=True):
        same(found, expected)


VECTORIZED: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "scalars": (scaled, {}, lambda f, on: f(on(A), on(A[0]))),
    "a number": (scaled, {}, lambda f, on: f(on(A), 2)),
    "an excluded number": (
        lambda x, n: x**n if n == 2 else x,
        {"excluded": {1}},
        lambda f, on: f(on(A), 2),
    ),
    "an excluded name": (
        lambda x, *, kind: x + 1 if kind == "more" else x,
        {"excluded": {"kind"}},
        lambda f, on: f(on(A), kind="more"),
    ),
    "vectors": (
        real.dot,
        {"signature": "(n),(n)->()"},
        lambda f, on: f(on(I), on(I[:1])),
    ),
    "matrices": (
        lambda m, v: (m @ v, v + 1),
        {"signature": "(m,n),(n)->(m),(n)"},
        lambda f, on: f(on(np.stack([I, I])), on(I)),
    ),
}


@pytest.mark.parametrize("name", VECTORIZED)
def test_a_vectorized_function_gives_what_jax_numpys_gives(name: str, stored: Any):
    function, options, call = VECTORIZED[name]
    found = call(jnp.vectorize(function, **options), stored)
    expected = call(real.vectorize(function, **options), real.asarray)
    for f, e in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        same(f, e)


def test_a_path_of_einsum_comes_from_shapes_alone():
    shapes = [(30, 2), (2, 30), (30, 2)]
    large = [jnp.zeros((n * 10**5, m * 10**5)) for n, m in shapes]
    small = [np.zeros(s) for s in shapes]
    path, text = jnp.einsum_path("ij,jk,kl->il", *large)
    assert path == real.einsum_path("ij,jk,kl->il", *small)[0]
    assert "ij,jk,kl->il" in str(text)
    found = jnp.einsum("ij,jk,kl->il", *(disk(s + 1) for s in small), optimize=path)
    assert np.asarray(found)[0].tolist() == [60.0, 60.0]
