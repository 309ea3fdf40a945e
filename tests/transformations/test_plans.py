"""The plan of value and gradient reads each source once; eager JAX reads it twice."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from jask.stores.traffic import snapshot
from jask.trace.counters import COUNTERS

F32 = np.float32
ROWS, COLUMNS = 2048, 16
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, COLUMNS)).astype(F32)
Y = (RNG.uniform(size=ROWS) > 0.5).astype(F32)


def linear(np: Any, p: Any, x: Any, y: Any) -> Any:
    return np.mean(np.square(x @ p["w"] + p["b"] - y))


def ridge(np: Any, p: Any, x: Any, y: Any) -> Any:
    return linear(np, p, x, y) + F32(0.1) * np.sum(np.square(p["w"]))


def logistic(np: Any, p: Any, x: Any, y: Any) -> Any:
    z = x @ p["w"] + p["b"]
    return np.mean(np.logaddexp(F32(0), z) - y * z)


def perceptron(np: Any, p: Any, x: Any, y: Any) -> Any:
    h = np.tanh(x @ p["v"] + p["c"])
    return np.mean(np.square(h @ p["u"] - y))


def k_means(np: Any, p: Any, x: Any, y: Any) -> Any:
    centres = np.matrix_transpose(p["v"])[None]
    distance = np.sum(np.square(x[:, None, :] - centres), axis=2)
    return np.mean(y * np.min(distance, axis=1))


def factorisation(np: Any, p: Any, x: Any, y: Any) -> Any:
    codes = np.tanh(x @ p["v"])
    error = np.square(codes @ np.matrix_transpose(p["v"]) - x)
    return np.mean(y[:, None] * error)


PARAMS = {
    "w": jnp.asarray(RNG.normal(size=COLUMNS), F32),
    "b": jnp.asarray(0.5, F32),
    "v": jnp.asarray(RNG.normal(size=(COLUMNS, 4)), F32),
    "c": jnp.asarray(RNG.normal(size=4), F32),
    "u": jnp.asarray(RNG.normal(size=4), F32),
}
LOSSES = {
    f.__name__: f for f in (linear, ridge, logistic, perceptron, k_means, factorisation)
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", Y)
    return jask.open(folder / "x.npy"), jask.open(folder / "y.npy")


def reads(f: Any, *args: Any) -> tuple[Any, float]:
    """Return the result, and how often the sources were read."""
    before = snapshot()
    found = jax.block_until_ready(f(*args))
    return found, (snapshot() - before).bytes_read / (X.nbytes + Y.nbytes)


def same(got: Any, want: Any) -> None:
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        # float32 gradients, summed in another order
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-4, atol=1e-5)


FORMS: dict[str, Any] = {
    "jit": lambda f: jax.jit(jax.value_and_grad(f)),
    "jask": jask.value_and_grad,
    "eager": jax.value_and_grad,
}
READS = {"jit": 1, "jask": 1, "eager": 2}
"""How often each source is read: eager JAX needs the value before it goes back."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradient_read_each_source_once(name, form, files):
    loss = LOSSES[name]

    def on_disk(p: Any, x: Any, y: Any) -> Any:
        return jask.materialize(loss(dnp, p, x, y))

    want = jax.value_and_grad(lambda p: loss(jnp, p, jnp.asarray(X), jnp.asarray(Y)))(
        PARAMS
    )
    before = COUNTERS.evaluations
    with jask.config(memory_budget="64MB", block_bytes=2**14):
        got, times = reads(FORMS[form](on_disk), PARAMS, *files)
    same(got, want)
    assert times == pytest.approx(READS[form], abs=0.01)
    assert COUNTERS.evaluations == before + READS[form]


def normal_equations(np: Any, p: Any, x: Any, y: Any) -> Any:
    """Ridge regression, solved in memory: its loss for the best coefficients."""
    parts = jask.materialize((x.T @ x, x.T @ y, np.sum(y * y)))
    gram, moment, energy = parts
    w = jnp.linalg.solve(gram + p["b"] * jnp.eye(COLUMNS, dtype=F32), moment)
    residual = w @ gram @ w - F32(2) * w @ moment + energy
    return (residual + p["b"] * w @ w) / F32(ROWS)


def weighted_normal_equations(np: Any, p: Any, x: Any, y: Any) -> Any:
    """The same for scaled columns: cotangents that only the solution knows."""
    return normal_equations(np, p, x * p["w"], y + p["b"])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("loss", "right"),
    [(normal_equations, 1), (weighted_normal_equations, 2)],
    ids=["ridge by normal equations", "cotangents that wait for the solution"],
)
def test_what_is_materialized_together_is_one_read_and_what_waits_for_it_another(
    loss, right, form, files
):
    want = jax.value_and_grad(loss, 1)(jnp, PARAMS, X, Y)
    f = FORMS[form](lambda p, x, y: loss(dnp, p, x, y))
    before = COUNTERS.evaluations
    with jask.config(memory_budget="64MB", block_bytes=2**14):
        got, times = reads(f, PARAMS, *files)
    same(got, want)
    assert times == pytest.approx(right, abs=0.01)
    assert COUNTERS.evaluations == before + right


def test_what_waits_for_a_value_does_not_keep_other_gradients_from_its_read(files):
    """What the first evaluation can have is in it, the others are in a second one."""
    x, y = files

    def loss(np: Any, p: Any, x: Any, y: Any) -> Any:
        first = jask.materialize(np.mean(np.square(x @ p["w"])))
        second = jask.materialize(np.mean(y[: ROWS // 2] * p["b"]))
        return first + second * second

    want = jax.value_and_grad(loss, 1)(jnp, PARAMS, X, Y)
    with jask.config(memory_budget="64MB", block_bytes=2**11):
        f = jask.value_and_grad(lambda p, x, y: loss(dnp, p, x, y))
        got, times = reads(f, PARAMS, x, y)
    same(got, want)
    # the second half of y is never read, the first twice
    assert times == pytest.approx(1, abs=0.01)


def test_what_the_function_makes_in_memory_is_one_more_read_for_eager_jax(files):
    x, _ = files

    def loss(p: Any) -> Any:
        codes = dnp.tanh(x @ p["v"])
        return jask.materialize(dnp.mean(dnp.square(codes @ p["v"].T - x)))

    found, times = reads(jax.grad(loss), PARAMS)
    assert times == pytest.approx(3 * X.nbytes / (X.nbytes + Y.nbytes), abs=0.01)

    def plain(p: Any) -> Any:
        return jnp.mean(jnp.square(jnp.tanh(X @ p["v"]) @ p["v"].T - X))

    same(found, jax.grad(plain)(PARAMS))


def test_gradients_that_do_not_fit_memory_together_are_brought_one_by_one(files):
    x, _ = files
    width = 2**15
    params = [jnp.full((COLUMNS, width), k, F32) for k in range(3)]  # 2 MiB each

    def loss(np: Any, params: Any, x: Any) -> Any:
        return sum(np.mean(np.tanh(x[:64] @ p)) for p in params)

    with jask.config(memory_budget="5MB"):
        found = jax.grad(lambda p: jask.materialize(loss(dnp, p, x)))(params)
    same(found, jax.grad(lambda p: loss(jnp, p, X))(params))


def test_forward_and_backward_can_be_explained_together(files):
    x, y = files
    text = jask.explain(jax.value_and_grad(linear_of))(PARAMS["w"], x, y)
    first = text.splitlines()[0]
    assert first.startswith("1 pass: reads")
    assert jask.explain(linear_of)(PARAMS["w"], x, y).startswith("1 pass: reads")


def linear_of(w: Any, x: Any, y: Any) -> Any:
    return jask.materialize(dnp.mean(dnp.square(x @ w - y)))
