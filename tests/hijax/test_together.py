"""Several arrays materialized at once are one equation, whatever JAX does with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

import jask
import jask.numpy as dnp
from jask import materialize
from jask.hijax.materialize import Materialize
from jask.trace.counters import COUNTERS

F32 = np.float32
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4, 2)).astype(F32)
Y = RNG.normal(size=(2,)).astype(F32)
W = jnp.asarray(RNG.normal(size=(3, 2)), F32)

# ---- random mixes

ITEMS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "rows": lambda np, x, y, w: np.sin(x) * w,
    "number": lambda np, x, y, w: np.sum(x * w),
    "of the data": lambda np, x, y, w: np.cos(x),
    "of nothing": lambda np, x, y, w: y * F32(2),
    "of a parameter": lambda np, x, y, w: y * w,
    "integers": lambda np, x, y, w: np.argmax(x * w, axis=0),
    "truths": lambda np, x, y, w: x > F32(0),
    "wide": lambda np, x, y, w: (x * w).astype("float64"),
    "empty": lambda np, x, y, w: (x * w)[:0],
    "in memory": lambda np, x, y, w: jnp.cos(w),
    "a constant in memory": lambda np, x, y, w: jnp.ones(2, F32),
    "none": lambda np, x, y, w: None,
}


@dataclass(frozen=True)
class Mix:
    """Several arrays that are materialized at once, and a loss made of them."""

    names: tuple[str, ...]
    again: bool
    """Whether the arrays are named twice."""
    used: tuple[bool, ...]
    """Which of the values are in the loss."""

    def values(self, side: "Side", x: Any, w: Any) -> Any:
        found = {n: ITEMS[n](side.np, x, side.y, w) for n in self.names}
        return side.bring([found, *(found.values() if self.again else ())])

    def loss(self, side: "Side", x: Any, w: Any) -> Any:
        leaves = jax.tree.leaves(self.values(side, x, w))
        chosen = [v for v, u in zip(leaves, self.used * len(leaves), strict=False) if u]
        parts = (jnp.sum(jnp.sin(v.astype(F32))) for v in chosen)
        return sum(parts, start=jnp.sum(w))


@dataclass(frozen=True)
class Side:
    """Arrays on disk, or in memory."""

    np: Any
    x: Any
    y: Any
    bring: Callable[[Any], Any]
    value_and_grad: Any


DISK = Side(
    dnp, jask.from_numpy(X), jask.from_numpy(Y), materialize, jask.value_and_grad
)
MEMORY = Side(
    jnp, jnp.asarray(X), jnp.asarray(Y), lambda tree: tree, jax.value_and_grad
)


def _descent(m: Mix, s: Side) -> Any:
    def step(w: Any, _: None) -> Any:
        value, slope = jax.value_and_grad(lambda w: m.loss(s, s.x[0], w))(w)
        return w - F32(0.1) * slope, value

    return jax.lax.scan(step, W[0], None, length=2)


def _until(m: Mix, s: Side) -> Any:
    return jax.lax.while_loop(
        lambda c: c[0] < 2,
        lambda c: (c[0] + 1, jnp.cos(m.loss(s, s.x[0], c[1])) * c[1]),
        (jnp.asarray(0), W[0]),
    )


def _branch(m: Mix, s: Side, x: Any, w: Any) -> Any:
    return jax.lax.cond(
        jnp.sum(w) > F32(0),
        lambda x: m.loss(s, x, w),
        lambda x: m.loss(s, x * F32(2), w) * F32(3),
        x,
    )


FORMS: dict[str, Callable[[Mix, Side], Any]] = {
    "eager": lambda m, s: m.values(s, s.x[0], W[0]),
    "jit": lambda m, s: jax.jit(lambda x, w: m.values(s, x, w))(s.x[0], W[0]),
    "grad": lambda m, s: jax.grad(lambda x, w: m.loss(s, x, w), (0, 1))(s.x[0], W[0]),
    "jit of grad": lambda m, s: jax.jit(
        jax.value_and_grad(lambda x, w: m.loss(s, x, w), (0, 1))
    )(s.x[0], W[0]),
    "value and grad": lambda m, s: s.value_and_grad(
        lambda x, w: m.loss(s, x, w), (0, 1)
    )(s.x[0], W[0]),
    "vjp": lambda m, s: jax.vjp(lambda w: m.values(s, s.x[0], w), W[0])[0],
    "jvp": lambda m, s: jax.jvp(
        lambda x, w: m.values(s, x, w), (s.x[0], W[0]), (s.x[1], W[1])
    ),
    "jit of jvp": lambda m, s: jax.jit(
        lambda w, v: jax.jvp(lambda w: m.values(s, s.x[0], w), (w,), (v,))
    )(W[0], W[1]),
    "linearize": lambda m, s: jax.linearize(lambda w: m.loss(s, s.x[0], w), W[0])[1](
        W[1]
    ),
    "hessian": lambda m, s: jax.hessian(lambda w: m.loss(s, s.x[0], w))(W[0]),
    "vmap of data": lambda m, s: jax.vmap(lambda x: m.values(s, x, W[0]))(s.x),
    "vmap of a parameter": lambda m, s: jax.vmap(lambda w: m.values(s, s.x[0], w))(W),
    "vmap of both": lambda m, s: jax.jit(jax.vmap(lambda x, w: m.values(s, x, w)))(
        s.x, W
    ),
    "vmap of grad": lambda m, s: jax.vmap(jax.grad(lambda w: m.loss(s, s.x[0], w)))(W),
    "checkpoint": lambda m, s: jax.jit(
        jax.grad(jax.checkpoint(lambda w: m.loss(s, s.x[0], w)))
    )(W[0]),
    "grad of cond": lambda m, s: jax.jit(
        jax.grad(lambda x, w: _branch(m, s, x, w), (0, 1))
    )(s.x[0], W[0]),
    "scan": _descent,
    "while": _until,
}

mixes = st.builds(
    Mix,
    st.lists(st.sampled_from(sorted(ITEMS)), max_size=5, unique=True).map(tuple),
    st.booleans(),
    st.lists(st.booleans(), min_size=1, max_size=5).map(tuple),
)


@given(mixes, st.sampled_from(sorted(FORMS)))
def test_any_mix_agrees_with_jax_numpy(mix, form):
    got, want = FORMS[form](mix, DISK), FORMS[form](mix, MEMORY)
    tree: Any = jax.tree.structure(got)
    assert tree == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        if w.dtype != jax.dtypes.float0:
            # float32 sums in another order
            np.testing.assert_allclose(np.asarray(g), w, rtol=2e-4, atol=2e-5)


# ---- what is one equation, and what is one evaluation


def equations(f: Callable[..., Any], *args: Any) -> list[int]:
    """Return how many values each Materialize of a function has."""
    eqns = jax.make_jaxpr(f)(*args).eqns
    prims = [eqn.params.get("_prim") for eqn in eqns]
    return [len(p.out_aval) for p in prims if isinstance(p, Materialize)]


def evaluations(f: Callable[..., Any], *args: Any) -> int:
    jax.block_until_ready(f(*args))
    before = COUNTERS.evaluations
    jax.block_until_ready(f(*args))
    return COUNTERS.evaluations - before


def three(x: Any) -> Any:
    return materialize({"a": x, "b": [dnp.sum(x), None], "c": dnp.argmax(x)})


def test_a_jaxpr_shows_one_equation_with_an_operand_for_each():
    text = str(jax.make_jaxpr(three)(DISK.y))
    assert "d:f32[2] e:f32[] f:i64[] = Materialize a b c" in text
    assert equations(three, DISK.y) == [3]


def test_nothing_is_materialized_where_all_is_in_memory():
    assert equations(lambda w: materialize((w, [None, w])), W) == []
    assert materialize(()) == ()
    assert materialize({"none": None}) == {"none": None}


AT_ONCE: dict[str, Callable[[Any], Any]] = {
    "eager": three,
    "jit": jax.jit(three),
    "closed over": lambda x: jax.jit(lambda: three(x))(),
    "with a parameter": lambda x: jax.jit(
        lambda w: materialize((x * w, dnp.sum(x))),
    )(W[0]),
    "grad": jax.grad(lambda x: three(x)["b"][0]),
    "jvp": jax.jit(lambda x: jax.jvp(lambda x: three(x)["b"][0], (x,), (x,))),
    "vmap": jax.vmap(lambda e: materialize((e, e * e))),
}


@pytest.mark.parametrize("form", AT_ONCE)
def test_what_is_materialized_at_once_is_evaluated_at_once(form):
    assert evaluations(AT_ONCE[form], DISK.y) == 1


def test_what_is_materialized_apart_shares_an_evaluation_where_leaves_allow(tmp_path):
    def apart(*arrays: Any) -> list[Any]:
        return [materialize(dnp.sum(x)) for x in arrays]

    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "y.npy", Y)
    x, y = jask.open(tmp_path / "x.npy"), jask.open(tmp_path / "y.npy")
    assert evaluations(jax.jit(lambda x, y: apart(x, x * F32(2))), x, y) == 1
    assert evaluations(jax.jit(lambda: apart(x, y))) == 1  # what has no leaves
    assert evaluations(jax.jit(lambda x, y: apart(dnp.sum(x) * y, x, y)), x, y) == 1
    # the second needs what the first callback was not given
    assert evaluations(jax.jit(apart), x, y) == 2


def test_only_what_cannot_join_is_evaluated_again():
    @jax.jit
    def f(x, y):
        first = materialize(dnp.sum(x))
        return materialize((dnp.max(x), dnp.sum(x / first), dnp.sum(y), dnp.min(x)))

    x, y = jask.from_numpy(Y), DISK.y
    assert evaluations(f, x, y) == 2
    want = Y.max(), np.sum(Y / Y.sum()), Y.sum(), Y.min()
    np.testing.assert_allclose(f(x, y), want, rtol=1e-6)


def test_cotangents_are_materialized_at_once():
    def loss(p: Any, x: Any) -> Any:
        return materialize(dnp.sum(dnp.sin(x * p[0]) * p[1]))

    f = jax.value_and_grad(loss)
    p = [W[0], W[1]]
    assert equations(f, p, DISK.x) == [1, 2]
    assert evaluations(jax.jit(f), p, DISK.x) == 1
    nested = jax.jit(jax.jit(f))
    assert evaluations(nested, p, DISK.x) == 1


def test_cotangents_of_an_outer_pass_do_not_enter_an_inner_trace():
    def loss(np: Any, bring: Any, w: Any, x: Any) -> Any:
        def body(c: Any, _: None) -> Any:
            return bring(np.sum(np.sin(x * c))) * c, None

        last, _ = jax.lax.scan(body, w, None, length=3)
        return bring(np.sum(x * w)) + jnp.sum(last)

    got = jax.jit(jax.grad(lambda w, x: loss(dnp, materialize, w, x)))(W[0], DISK.x)
    want = jax.grad(lambda w, x: loss(jnp, lambda v: v, w, x))(W[0], MEMORY.x)
    np.testing.assert_allclose(got, want, rtol=2e-3)  # float32, three steps


def test_values_that_nobody_uses_are_not_evaluated():
    """An equation keeps what is used of it, where JAX drops what is not."""
    big = jask.from_numpy(np.ones((500, 1000), F32))  # 2 MB

    def total(x: Any) -> Any:
        return materialize((x, dnp.sum(x)))[1]

    with jask.config(memory_budget="1MB"):
        with pytest.raises(jask.errors.MemoryBudgetError):
            total(big)
        assert float(jax.jit(total)(big)) == big.size
        value, slope = jask.value_and_grad(total)(big)
        assert float(value) == big.size
        assert float(jax.jit(dnp.max)(slope)) == 1


def test_what_is_left_of_an_equation_has_its_types():
    types = Materialize.of([DISK.x, DISK.y, DISK.y])
    assert [v.shape for v in types] == [X.shape, Y.shape, Y.shape]
    prim = Materialize(
        (jax.typeof(DISK.x), jax.typeof(DISK.y)), (np.dtype(F32), np.dtype(F32))
    )
    used, made, left = prim.dce((False, True), (True, True))
    assert used == made == (False, True)
    assert left == Materialize((jax.typeof(DISK.y),), (np.dtype(F32),))
    assert prim.dce((False, False), (True, True))[2] is None
    assert prim.dce((True, True), (True, True))[2] is prim


def test_only_the_wanted_cotangents_of_a_transpose_are_made():
    def f(x: Any) -> Any:
        return materialize((x * F32(2), DISK.y))[0]

    (got,) = jax.linear_transpose(f, DISK.y)(jnp.asarray(Y))
    np.testing.assert_array_equal(np.asarray(got), Y * F32(2))


def test_a_pass_that_failed_leaves_nothing_behind():
    @jax.custom_vjp
    def fails(x):
        return x

    def backward(_, ct):
        raise ValueError("no way back")

    fails.defvjp(lambda x: (x, None), backward)

    def loss(w: Any, ok: Any) -> Any:
        inner = fails(w) if not ok else w
        return materialize(dnp.sum(DISK.y * w)) + jnp.sum(inner)

    with pytest.raises(ValueError, match="no way back"):
        jax.jit(jax.grad(lambda w: loss(w, False)))(W[0])
    got = jax.jit(jax.grad(lambda w: loss(w, True)))(W[0])
    np.testing.assert_allclose(got, Y + 1, rtol=1e-6)


def test_values_that_do_not_fit_together_are_evaluated_one_by_one_in_a_program():
    x = jask.from_numpy(np.ones((100, 1000), F32))  # 400 kB
    arrays: Sequence[Any] = [x * F32(k) for k in range(3)]
    with jask.config(memory_budget="900kB"):
        with pytest.raises(jask.errors.MemoryBudgetError):
            materialize(arrays)
        got = jax.jit(lambda x: materialize([x * F32(k) for k in range(3)]))(x)
    for k, values in enumerate(got):
        np.testing.assert_array_equal(values, k)
