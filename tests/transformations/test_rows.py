"""jask.map and jask.scan over the rows of disk arrays are jax.lax's."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from jask.trace.counters import COUNTERS
from jask.transforms import rows

F32 = np.float32
A = np.random.default_rng(0).normal(size=(50, 3)).astype(F32)
W = jnp.asarray([1.0, -2.0, 0.5], F32)
ZERO = jnp.zeros((), F32)


def step(c: Any, row: Any) -> Any:
    return F32(0.9) * c + jnp.tanh(jnp.sum(row * W)), c * row


def step_on_disk(c: Any, row: Any) -> Any:
    y = F32(0.9) * c + jask.materialize(dnp.tanh(dnp.sum(row * W)))
    return y, dnp.multiply(row, c)


def same(got: Any, want: Any) -> None:
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert g.dtype == w.dtype
        # float32 gradients, summed in another order
        np.testing.assert_allclose(np.asarray(g), w, rtol=1e-4, atol=1e-5)


@pytest.fixture(params=["one block", "many"])
def x(request, monkeypatch):
    if request.param == "many":
        monkeypatch.setattr(rows, "BLOCK", 17 * 28)
    return jask.from_numpy(A)


MAPS = {
    "jax.numpy": lambda r: jnp.sin(r) * W,
    "jask.numpy": lambda r: dnp.sum(dnp.sin(r) * W),
    "both": lambda r: {"a": jnp.cos(jask.materialize(dnp.sum(r))), "b": (r, r[0])},
    "a loop": lambda r: jax.lax.fori_loop(0, 3, lambda _, z: jnp.sin(z), r),
}
WANTED = {**MAPS, "jask.numpy": lambda r: jnp.sum(jnp.sin(r) * W)}
WANTED["both"] = lambda r: {"a": jnp.cos(jnp.sum(r)), "b": (r, r[0])}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_is_that_of_jax(name, x):
    same(jask.map(MAPS[name], x), jax.lax.map(WANTED[name], jnp.asarray(A)))


def test_a_map_reads_nothing_until_it_is_asked(x):
    before = COUNTERS.evaluations
    y = jask.map(MAPS["jax.numpy"], x)
    assert isinstance(y, jask.DiskArray)
    assert COUNTERS.evaluations == before


def test_a_map_walks_several_arrays(x):
    got = jask.map(lambda p: p["a"] * p["b"], {"a": x, "b": W[0] * jnp.asarray(A)})
    same(got, A * A)


def test_a_map_over_what_loops_over_disk_arrays(x):
    def f(r: Any) -> Any:
        return jax.lax.fori_loop(0, 2, lambda _, y: dnp.sin(y), dnp.multiply(r, r))

    same(jask.map(f, x), np.sin(np.sin(A * A)))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("f", [step, step_on_disk])
def test_a_scan_is_that_of_jax(f, reverse, x):
    got = jask.scan(f, ZERO, x, reverse=reverse)
    same(got, jax.lax.scan(step, ZERO, jnp.asarray(A), reverse=reverse))
    assert isinstance(got[0], jax.Array)
    assert isinstance(got[1], jask.DiskArray)


def scan_loss(scan: Any, s: Any, x: Any) -> Any:
    last, ys = scan(lambda c, r: (s * c + jnp.tanh(jnp.sum(r * W)), c * r), ZERO, x)
    return last + jask.materialize(ys.sum())


TRANSFORMS = {
    "jit": lambda scan, x: jax.jit(lambda x: scan(step, ZERO, x))(x),
    "grad of rows": lambda scan, x: jax.grad(lambda x: scan_loss(scan, F32(0.9), x))(x),
    "jit of grad": lambda scan, x: jax.jit(
        jax.grad(lambda s, x: scan_loss(scan, s, x), (0, 1))
    )(jnp.asarray(0.9, F32), x),
    "grad of a constant": lambda scan, x: jax.grad(lambda s: scan_loss(scan, s, x))(
        jnp.asarray(0.9, F32)
    ),
    "hvp": lambda scan, x: jax.jvp(
        jax.grad(lambda x: scan_loss(scan, F32(0.9), x)), (x,), (x,)
    )[1],
    "vmap": lambda scan, x: jax.vmap(lambda s: scan_loss(scan, s, x))(W),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transformations_of_a_scan(name, x):
    got = TRANSFORMS[name](jask.scan, x)
    same(got, TRANSFORMS[name](jax.lax.scan, jnp.asarray(A)))


def test_a_scan_is_one_evaluation(x):
    before = COUNTERS.evaluations
    jask.scan(step, ZERO, x)
    assert COUNTERS.evaluations == before + 1


def test_a_scan_of_the_same_function_is_planned_once():
    x = jask.from_numpy(A)
    jask.scan(step, ZERO, x)
    plans, traces = COUNTERS.plans, COUNTERS.traces
    jask.scan(step, ZERO, jask.from_numpy(A + 1))
    assert (COUNTERS.plans, COUNTERS.traces) == (plans, traces)


@jax.custom_vjp
def twice_the_slope(y: Any) -> Any:
    return y


twice_the_slope.defvjp(lambda y: (y, None), lambda _, ct: (ct * F32(2),))


@pytest.mark.parametrize("rule", [jax.nn.relu, twice_the_slope])
def test_a_function_with_derivative_rules_is_planned_once(rule):
    def f(c: Any, r: Any) -> Any:
        return c + rule(r[0]), None

    x = jask.from_numpy(A)
    jask.scan(f, ZERO, x)
    plans, traces = COUNTERS.plans, COUNTERS.traces
    jask.scan(f, ZERO, x)
    assert (COUNTERS.plans, COUNTERS.traces) == (plans, traces)


def test_a_function_defined_anew_in_each_step_is_planned_once():
    def run(scale: float) -> Any:
        factor = jnp.asarray(scale, F32)
        return jask.scan(lambda c, r: (c + factor * r[0], None), ZERO, x)[0]

    x = jask.from_numpy(A)
    assert float(run(1.0)) == pytest.approx(A[:, 0].sum(), rel=1e-4)
    plans, traces = COUNTERS.plans, COUNTERS.traces
    assert float(run(2.0)) == pytest.approx(2 * A[:, 0].sum(), rel=1e-4)
    assert (COUNTERS.plans, COUNTERS.traces) == (plans, traces)


def test_derivative_rules_that_do_not_show_are_told_apart():
    def reversal(scale: float) -> Any:
        @jax.custom_vjp
        def f(y: Any) -> Any:
            return y

        f.defvjp(lambda y: (y, None), lambda _, ct: (ct * F32(scale),))
        return f

    def gradient(scale: float) -> Any:
        f = reversal(scale)
        g = jask.grad(lambda x: jask.scan(lambda c, r: (c + f(r[0]), None), ZERO, x)[0])
        return np.asarray(g(jask.from_numpy(A)))[0, 0]

    assert (gradient(2.0), gradient(3.0)) == (2, 3)


def lifted(k: Any) -> Any:
    times = jask.lift(lambda r: r * k)
    return lambda r: jask.materialize(times(r))


def with_table(k: Any) -> Any:
    table = np.ones(5000, F32)
    table[2500] = k
    return jax.jit(lambda r: r * jnp.max(table))


def called_back(k: Any) -> Any:
    shape = jax.ShapeDtypeStruct((3,), F32)
    return lambda r: jax.pure_callback(
        lambda r: np.asarray(r) * k, shape, r, vmap_method="sequential"
    )


@pytest.mark.parametrize("times", [lifted, with_table, called_back])
def test_what_a_jaxpr_does_not_show_tells_functions_apart(times):
    x = jask.from_numpy(A)
    for k in (F32(2), F32(3)):
        same(jask.map(times(k), x), A * k)


def test_a_constant_that_every_block_uses_is_one_gradient(x):
    before = COUNTERS.evaluations
    jax.grad(
        lambda w: jask.scan(lambda c, r: (c + jnp.sum(jnp.sin(r * w)), None), ZERO, x)[
            0
        ]
    )(W)
    assert COUNTERS.evaluations <= before + 2


def test_a_scan_closes_over_disk_arrays_and_numbers(x):
    b = jask.from_numpy(A[:4])

    def f(np: Any, b: Any) -> Any:
        return lambda c, r: (c + jask.materialize(np.sum(b @ r)), None)

    got = jask.scan(f(dnp, b), ZERO, x)
    assert got[1] is None
    same(got, jax.lax.scan(f(jnp, jnp.asarray(A[:4])), ZERO, jnp.asarray(A)))


def test_a_weak_carry_becomes_what_a_step_returns(x):
    with jax.numpy_dtype_promotion("standard"):
        got = jask.scan(lambda c, r: (c + r[0], c), 0.0, x)
        walk: Any = jax.lax.scan
        want = walk(lambda c, r: (c + r[0], c), 0.0, jnp.asarray(A))
    assert got[0].dtype == want[0].dtype
    same(got, want)


def test_a_carry_on_disk_stays_there(x):
    got = jask.scan(lambda c, r: (dnp.sin(c) + r, dnp.sum(c)), x[0], x)
    want = jax.lax.scan(
        lambda c, r: (jnp.sin(c) + r, jnp.sum(c)), jnp.asarray(A[0]), jnp.asarray(A)
    )
    assert isinstance(got[0], jask.DiskArray)
    same(got, want)


def test_steps_without_rows(x):
    got = jask.scan(lambda c, _: (c + c, c), jnp.ones(3, F32), length=4)
    same(got, jax.lax.scan(lambda c, _: (c + c, c), jnp.ones(3, F32), length=4))


def test_a_walk_of_no_rows(x):
    got = jask.scan(step, ZERO, x[:0])
    assert (float(got[0]), got[1].shape) == (0.0, (0, 3))
    assert jask.map(MAPS["jax.numpy"], x[:0]).shape == (0, 3)


@pytest.mark.parametrize(
    "walk",
    [
        lambda x: jask.scan(step, ZERO),
        lambda x: jask.scan(step, ZERO, x, length=3),
        lambda x: jask.map(lambda p: p[0], (x, x[:3])),
        lambda x: jask.map(lambda r: r, x[0, 0]),
        lambda x: jask.map(lambda r: r, ()),
    ],
    ids=["nothing", "length", "two lengths", "scalar", "no arrays"],
)
def test_rows_there_must_be(walk, x):
    with pytest.raises(ValueError, match="There must be rows"):
        walk(x)


def test_a_carry_keeps_its_type(x):
    with pytest.raises(TypeError, match="shape and dtype"):
        jask.scan(lambda c, r: (r, None), ZERO, x)
    with pytest.raises(TypeError, match="structure"):
        jask.scan(lambda c, r: ((c, c), None), ZERO, x)


def test_rows_of_a_large_file_are_walked_in_bounded_memory(tmp_path):
    big = np.ones((2**15, 256), F32)
    np.save(tmp_path / "x.npy", big)  # 32 MiB
    x = jask.open(tmp_path / "x.npy")
    with jask.config(memory_budget="24MB"):
        total, _ = jask.scan(lambda c, r: (c + jnp.sum(r), None), ZERO, x)
        mean = jask.materialize(jask.map(jnp.mean, x).mean())
    assert float(total) == big.size
    assert float(mean) == 1


def test_the_blocks_of_a_scan_share_their_kernels(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2**15, 64), F32))  # 8 MiB
    x = jask.open(tmp_path / "x.npy")
    before = COUNTERS.compiles
    with jask.config(memory_budget="3MB"):
        total, _ = jask.scan(lambda c, r: (c + r @ r, None), ZERO, x)
    assert COUNTERS.compiles - before <= 2  # of the first blocks, and of the last
    assert float(total) == 2**21
