"""jask.grad and jask.value_and_grad: losses on disk, one evaluation, `.grad` files."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from jask.trace.counters import COUNTERS

F32 = np.float32
A = np.random.default_rng(0).normal(size=(6, 3)).astype(F32)
B = A[:, 0].copy()
PARAMS = {"w": jnp.asarray([1.0, -1.0, 2.0], F32), "b": jnp.asarray(0.5, F32)}


def loss(params, x, y, np=dnp):
    return np.mean(np.square(x @ params["w"] + params["b"] - y))


@pytest.fixture
def x(tmp_path):
    np.save(tmp_path / "x.npy", A)
    return jask.open(tmp_path / "x.npy")


@pytest.fixture
def y():
    return jask.from_numpy(B)


def reference(argnums=0):
    return jax.value_and_grad(lambda p, x, y: loss(p, x, y, jnp), argnums)(
        PARAMS, jnp.asarray(A), jnp.asarray(B)
    )


def same(got, want):
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert g.dtype == w.dtype
        # float32 gradients, summed in another order
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-6)


def test_value_and_all_gradients_are_one_evaluation(x, y):
    before = COUNTERS.evaluations
    value, grads = jask.value_and_grad(loss, (0, 1, -1))(PARAMS, x, y)
    assert COUNTERS.evaluations == before + 1
    want = reference((0, 1, 2))
    same(value, want[0])
    same(grads, want[1])


def test_a_loss_in_memory_is_one_evaluation_too(x, y):
    def in_memory(params, x, y):
        return jask.materialize(loss(params, x, y)) + jnp.sum(params["w"] ** 2)

    before = COUNTERS.evaluations
    value, grads = jask.value_and_grad(in_memory)(PARAMS, x, y)
    assert COUNTERS.evaluations == before + 1
    want_value, want = reference()
    same(value, want_value + jnp.sum(PARAMS["w"] ** 2))
    same(grads, {"b": want["b"], "w": want["w"] + 2 * PARAMS["w"]})


def test_a_value_that_is_needed_first_makes_a_second_round(y):
    def f(y):
        peak = jask.materialize(dnp.max(y))
        return dnp.sum(y * jnp.sin(peak))

    got = jask.grad(f)(y)
    want = jax.grad(lambda y: jnp.sum(y * jnp.sin(jnp.max(y))))(jnp.asarray(B))
    same(got, want)


def test_types_of_results(x, y):
    value, (g, h) = jask.value_and_grad(loss, (0, 2))(PARAMS, x, y)
    assert isinstance(value, jax.Array)
    assert all(isinstance(v, jax.Array) for v in g.values())
    assert isinstance(h, jask.DiskArray)


def test_the_gradient_of_a_file_is_written_beside_it(x, y, tmp_path):
    g = jask.grad(loss, 1)(PARAMS, x, y)
    path = tmp_path / "x.npy.grad"
    assert g.filename == str(path)
    with path.open("rb") as file:
        # float32 gradients, summed in another order
        np.testing.assert_allclose(np.load(file), reference(1)[1], rtol=1e-4, atol=1e-6)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy", "x.npy.grad"]


def test_a_gradient_replaces_the_file_but_not_what_was_opened(x, y):
    first = jask.grad(loss, 1)(PARAMS, x, y)
    second = jask.grad(dnp.sum)(x)
    assert first.filename == second.filename
    np.testing.assert_array_equal(second, np.ones_like(A))


def test_auxiliary_results_are_returned(y):
    g, aux = jask.grad(lambda y: (dnp.sum(y * y), y + F32(1)), has_aux=True)(y)
    same([g, aux], [2 * B, B + 1])
    (value, aux), g = jask.value_and_grad(
        lambda y: (dnp.sum(y), {"k": 3}), has_aux=True
    )(y)
    assert float(value) == pytest.approx(B.sum(), rel=1e-5)
    assert aux["k"] == 3


def test_auxiliary_results_need_not_be_arrays(y):
    def f(y):
        return dnp.sum(y * y), {"name": "loss", "y": y, "none": None, "relu": relu(y)}

    def relu(y):  # has a derivative rule of its own, and is not differentiated
        return jax.nn.relu(jask.materialize(jax.lax.stop_gradient(y)))

    g, aux = jask.grad(f, has_aux=True)(y)
    assert (aux["name"], aux["none"]) == ("loss", None)
    same([g, aux["y"], aux["relu"]], [2 * B, B, np.maximum(B, 0)])


def test_a_function_may_look_at_values(y):
    def f(y):
        return dnp.sum(y) if float(dnp.sum(y)) > 1e6 else dnp.sum(y * y)

    same(jask.grad(f)(y), 2 * B)


def test_gradients_under_jit(y):
    f = jax.jit(jask.value_and_grad(lambda y: dnp.sum(dnp.sin(y))))
    value, g = f(y)
    same([value, g], [np.sin(B).sum(), np.cos(B)])


def test_gradients_of_gradients(y):
    def inner(w):
        return dnp.sum(y * w * w * w)

    outer = jask.grad(lambda w: jask.grad(inner)(w) * F32(2))
    same(outer(jnp.asarray(2.0, F32)), np.asarray(24 * B.sum(), F32))


def test_a_loss_may_ignore_its_argument(y):
    same(jask.grad(lambda _: dnp.sum(dnp.zeros((3,), dtype=F32)))(y), 0 * B)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda y: y, r"shape \(\)"),
        (dnp.argmax, "real"),
        (lambda y: dnp.sum(y.astype("complex64")), "real"),
    ],
    ids=["vector", "integer", "complex"],
)
def test_a_loss_must_be_a_real_scalar(f, message, y):
    with pytest.raises(TypeError, match=message):
        jask.grad(f)(y)


def test_an_integer_argument_has_no_gradient():
    with pytest.raises(TypeError, match="int64"):
        jask.grad(dnp.sum)(jask.from_numpy([1, 2]))


@pytest.mark.parametrize("argnums", [3, -4, (0, 3), "0", 0.5])
def test_argnums_must_name_positional_arguments(x, y, argnums):
    with pytest.raises(TypeError):
        jask.grad(loss, argnums)(PARAMS, x, y)


def test_there_must_be_a_positional_argument(x, y):
    with pytest.raises(TypeError, match="there are 0"):
        jask.grad(loss)(params=PARAMS, x=x, y=y)


@pytest.mark.parametrize("value", [None, (1.0, 2.0)])
def test_a_loss_must_be_a_number(x, value):
    with pytest.raises(TypeError, match="must be a number"):
        jask.grad(lambda x: value)(x)
