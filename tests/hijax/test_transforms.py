"""JAX's transformations of functions of disk arrays agree with those of jax.numpy."""

import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from jask import materialize
from jask.trace.counters import COUNTERS

F32 = np.float32
RNG = np.random.default_rng(0)
A = RNG.normal(size=(6, 3)).astype(F32)
B = RNG.normal(size=6).astype(F32)
W = jnp.asarray([1.0, -2.0, 0.5], F32)
STEP = F32(0.1)


class Case(NamedTuple):
    x: Any
    y: Any
    np: Any

    def loss(self, w: Any, x: Any, y: Any) -> Any:
        return materialize(self.np.mean(self.np.square(self.np.matmul(x, w) - y)))

    def of_w(self, w: Any) -> Any:
        return self.loss(w, self.x, self.y)

    def of_x(self, x: Any) -> Any:
        return materialize(self.np.sum(self.np.sin(x) * x))

    def operators(self, x: Any) -> Any:
        return materialize(((x + F32(1)) @ x.T)[0].sum())

    def sin(self, x: Any) -> Any:
        return self.np.sin(x)

    def descend(self, w: Any) -> Any:
        def step(c: Any, _: None) -> Any:
            value, g = jax.value_and_grad(self.of_w)(c)
            return c - STEP * g, value

        return jax.lax.scan(step, w, None, length=3)


DISK = Case(jask.from_numpy(A), jask.from_numpy(B), dnp)
MEMORY = Case(jnp.asarray(A), jnp.asarray(B), jnp)

CASES = {
    "eager": lambda c: c.loss(W, c.x, c.y),
    "jit": lambda c: jax.jit(c.loss)(W, c.x, c.y),
    "grad of a parameter": lambda c: jax.grad(c.loss)(W, c.x, c.y),
    "grad of the data": lambda c: jax.grad(c.loss, 1)(W, c.x, c.y),
    "value and grad of all": lambda c: jax.value_and_grad(c.loss, (0, 1, 2))(
        W, c.x, c.y
    ),
    "jit of grad": lambda c: jax.jit(jax.grad(c.loss, 1))(W, c.x, c.y),
    "grad of jit": lambda c: jax.grad(jax.jit(c.loss), 1)(W, c.x, c.y),
    "jit of value and grad": lambda c: jax.jit(jax.value_and_grad(c.loss, (0, 1)))(
        W, c.x, c.y
    ),
    "jvp": lambda c: jax.jvp(c.of_w, (W,), (W,)),
    "jvp of the data": lambda c: jax.jvp(c.of_x, (c.x,), (c.x,)),
    "jvp of disk to disk": lambda c: jax.jvp(c.sin, (c.x,), (c.x,)),
    "vjp of disk to disk": lambda c: jax.vjp(c.sin, c.x)[1](c.x),
    "linearize": lambda c: jax.linearize(c.of_w, W)[1](W),
    "linear transpose": lambda c: jax.linear_transpose(lambda x: x * F32(2), c.x)(c.x),
    "jvp of grad": lambda c: jax.jvp(jax.grad(c.of_w), (W,), (W,))[1],
    "hessian": lambda c: jax.hessian(c.of_w)(W),
    "jacrev of grad": lambda c: jax.jacrev(jax.grad(c.of_w))(W),
    "jacfwd": lambda c: jax.jacfwd(c.of_w)(W),
    "vmap over a parameter": lambda c: jax.vmap(c.of_w)(jnp.stack([W, W * W])),
    "vmap over rows": lambda c: jax.vmap(lambda r: materialize(c.np.sum(r)))(c.x),
    "vmap over columns to disk": lambda c: jax.vmap(c.sin, in_axes=1)(c.x),
    "vmap with out_axes": lambda c: jax.vmap(c.sin, out_axes=1)(c.x),
    "vmap with one operand mapped": lambda c: jax.vmap(c.np.multiply, (0, None))(
        c.x, c.x[0]
    ),
    "vmap of grad": lambda c: jax.vmap(jax.grad(c.of_w))(jnp.stack([W, W * W])),
    "jit of vmap": lambda c: jax.jit(jax.vmap(c.of_x))(c.x),
    "grad of vmap": lambda c: jax.grad(lambda x: jax.vmap(c.of_x)(x).sum())(c.x),
    "checkpoint": lambda c: jax.grad(jax.checkpoint(c.of_w))(W),
    "checkpoint to disk": lambda c: jax.checkpoint(c.sin)(c.x),
    "gradient of checkpoint on disk": lambda c: jax.grad(jax.checkpoint(c.of_x))(c.x),
    "jitted gradient of checkpoint on disk": lambda c: jax.jit(
        jax.grad(jax.checkpoint(c.of_x))
    )(c.x),
    "vmap of what is not mapped": lambda c: jax.vmap(lambda _: c.sin(c.x))(W),
    "vmap of a gradient that is not mapped": lambda c: jax.vmap(
        lambda w: jax.grad(lambda x: c.of_x(x) + w[0])(c.x)
    )(jnp.stack([W, W])),
    "vmap of cond on a mapped predicate": lambda c: jax.vmap(
        lambda p, r: jax.lax.cond(p, c.sin, lambda r: r, r)
    )(jnp.arange(6) < jnp.asarray(2), c.x),
    "jit of vmap of what is not mapped": lambda c: jax.jit(
        jax.vmap(lambda x, _: c.sin(x), (None, 0), 1)
    )(c.x, W),
    "scan with a carry in memory": lambda c: c.descend(W),
    "jit of scan": lambda c: jax.jit(c.descend)(W),
    "scan with a disk carry": lambda c: jax.lax.scan(
        lambda x, _: (c.sin(x), None), c.x, None, length=3
    )[0],
    "loop with a disk carry": lambda c: jax.jit(
        lambda x: jax.lax.fori_loop(0, 5, lambda i, x: c.sin(x) * i.astype(F32), x)
    )(c.x),
    "while with a disk carry": lambda c: jax.lax.while_loop(
        lambda x: materialize(c.np.sum(x * x)) > F32(0.5), lambda x: x * F32(0.5), c.x
    ),
    "cond": lambda c: jax.lax.cond(True, c.of_x, c.operators, c.x),
    "cond to disk": lambda c: jax.jit(
        lambda p, x: jax.lax.cond(p, c.sin, lambda x: x, x)
    )(False, c.x),
    "grad of cond": lambda c: jax.grad(
        lambda x: materialize(c.np.sum(jax.lax.cond(True, c.sin, lambda x: x, x)))
    )(c.x),
    "jitted gradient of cond": lambda c: jax.jit(
        jax.grad(
            lambda x, p: materialize(
                c.np.sum(jax.lax.cond(p, c.sin, lambda x: x * F32(2), x))
            )
        )
    )(c.x, False),
    "jitted gradient of cond to memory": lambda c: jax.jit(
        jax.grad(lambda x: jax.lax.cond(True, c.of_x, c.operators, x))
    )(c.x),
    "a constant out of a jit within another": lambda c: jax.jit(jax.jit(lambda _: c.x))(
        W
    ),
    "a disk array out of jit": lambda c: jax.jit(c.sin)(c.x),
    "a constant out of jit": lambda c: jax.jit(lambda _: c.sin(c.x))(W),
    "an argument out of jit": lambda c: jax.jit(lambda x: x)(c.x),
    "jit after jit": lambda c: jax.jit(c.of_x)(jax.jit(c.sin)(c.x)),
    "operators": lambda c: c.operators(c.x),
    "operators under jit": lambda c: jax.jit(c.operators)(c.x),
    "operators under grad": lambda c: jax.grad(c.operators)(c.x),
    "Hessian-vector product on disk": lambda c: jax.jvp(
        lambda x: materialize(jax.grad(c.of_x)(x)), (c.x,), (c.x,)
    )[1],
    "grad inside scan": lambda c: jax.lax.scan(
        lambda s, _: (s + materialize(c.np.sum(jax.grad(c.of_x)(c.x))), None),
        jnp.zeros((), F32),
        None,
        length=2,
    )[0],
    "integers": lambda c: jax.grad(
        lambda x: materialize(c.np.sum(x * c.np.argmax(x, axis=0).astype(F32)))
    )(c.x),
    "several results": lambda c: jax.vjp(lambda x: (c.sin(x), x * x), c.x)[1](
        (c.x, c.x)
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_transformation_agrees_with_jax_numpy(name):
    got = jax.tree.map(np.asarray, CASES[name](DISK))
    want = jax.tree.map(np.asarray, CASES[name](MEMORY))
    got_tree: Any = jax.tree.structure(got)
    assert got_tree == jax.tree.structure(want)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert g.dtype == w.dtype
        # float32 gradients, summed in another order
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(
    "name", ["add", "sub", "mul", "truediv", "pow", "lt", "ge", "ne"]
)
def test_an_array_in_memory_may_stand_on_the_left(name, transform):
    f = getattr(operator, name)
    w = jnp.abs(W)
    got = [
        transform(f)(w, DISK.x),
        jax.vmap(lambda row: f(w, row))(DISK.x),
        jax.vmap(lambda w: f(w, DISK.x[0]))(jnp.stack([w, w])),
    ]
    want = [f(w, MEMORY.x), f(w, MEMORY.x), jnp.stack([f(w, MEMORY.x[0])] * 2)]
    for g, right in zip(got, want, strict=True):
        assert isinstance(g, jask.DiskArray)
        # float32 gradients, summed in another order
        np.testing.assert_allclose(np.asarray(g), right, rtol=1e-5)


def test_a_gradient_with_an_array_in_memory_on_the_left():
    def loss(w: Any, x: Any) -> Any:
        return (w * x + w @ x.T.sum(axis=1)).sum()

    got = jax.jit(jax.grad(loss, (0, 1)))(W, DISK.x)
    for g, right in zip(got, jax.grad(loss, (0, 1))(W, MEMORY.x), strict=True):
        # float32 gradients, summed in another order
        np.testing.assert_allclose(np.asarray(g), right, rtol=1e-4)


def evaluations(f, *args):
    jax.block_until_ready(f(*args))  # compiles
    before = COUNTERS.evaluations
    jax.block_until_ready(f(*args))
    return COUNTERS.evaluations - before


def test_a_jitted_value_and_gradient_is_one_evaluation():
    f = jax.jit(jax.value_and_grad(DISK.loss))
    assert evaluations(f, W, DISK.x, DISK.y) == 1
    f = jax.jit(jax.value_and_grad(DISK.of_w))
    assert evaluations(f, W) == 1


def test_two_calls_on_other_files_compile_once():
    traces = []

    @jax.jit
    def f(x):
        traces.append(1)
        return materialize(dnp.sum(x))

    assert float(f(DISK.x)) == pytest.approx(A.sum(), rel=1e-5)
    assert float(f(jask.from_numpy(A + F32(1)))) == pytest.approx(
        A.sum() + 18, rel=1e-5
    )
    assert len(traces) == 1


def test_a_gradient_is_the_same_operation_in_every_step():
    def gradient():
        g = jax.grad(DISK.of_x)(DISK.x)
        return g.node.call.operation

    assert gradient() == gradient()
    assert hash(gradient()) == hash(gradient())


def test_jaxprs_are_readable():
    text = str(jax.make_jaxpr(DISK.loss)(W, DISK.x, DISK.y))
    assert "a:f32[3] b:disk_f32[6,3] c:disk_f32[6]" in text
    assert "d:disk_f32[3] = Dematerialize a" in text
    assert "= square " in text
    assert "f32[] = Materialize " in text
    assert "0x" not in text


# ---- refusals


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_loss_may_be_on_disk(transform):
    def loss(np, w, x):
        return np.sum(np.sin(x @ w))

    f = transform(jax.value_and_grad(lambda w, x: loss(dnp, w, x), (0, 1)))
    value, grads = f(W, DISK.x)
    want_value, want = jax.value_and_grad(lambda w, x: loss(jnp, w, x), (0, 1))(
        W, MEMORY.x
    )
    assert isinstance(value, jask.DiskArray)
    for g, w in zip((value, *grads), (want_value, *want), strict=True):
        # float32 gradients, summed in another order
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


def test_second_derivatives_of_a_loss_on_disk():
    got = jax.hessian(lambda w: dnp.sum((DISK.x @ w) ** 2))(W)
    # float32 gradients, summed in another order
    np.testing.assert_allclose(got, 2 * A.T @ A, rtol=1e-4)


def test_a_scalar_on_disk_is_not_confused_with_one_in_memory():
    disk, memory = jax.typeof(dnp.sum(DISK.x)), jax.typeof(jnp.zeros((), F32))
    assert disk != memory
    assert memory != disk
    assert len({disk, memory}) == 2
    with pytest.raises((TypeError, ValueError)):
        jax.lax.cond(True, dnp.sum, lambda _: jnp.zeros((), F32), DISK.x)
    with pytest.raises(TypeError, match=r"jask\.materialize"):
        jax.lax.sin(dnp.sum(DISK.x))


def test_a_loss_that_is_no_scalar_is_refused():
    with pytest.raises(TypeError, match="scalar-output"):
        jax.grad(dnp.sin)(DISK.x)


@pytest.mark.parametrize(
    "f",
    [jnp.sin, jnp.sum, jnp.asarray, jax.jit(jnp.cos), lambda x: jnp.add(1.0, x)],
)
def test_jax_numpy_does_not_load_an_array_quietly(f):
    with pytest.raises(TypeError, match=r"jask\.materialize"):
        f(DISK.x)


@pytest.mark.parametrize(
    "transform",
    [
        jax.jacrev(lambda x: materialize(dnp.sum(x * x, axis=0))),
        jax.hessian(lambda x: materialize(dnp.sum(x * x))),
    ],
    ids=["jacrev", "hessian"],
)
def test_a_jacobian_of_a_disk_array_is_refused_by_name(transform):
    with pytest.raises(NotImplementedError, match=r"jask\.jacrev"):
        transform(DISK.x)


def test_values_are_not_there_while_tracing():
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(lambda x: bool(dnp.any(x > F32(0))))(DISK.x)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda x: float(dnp.sum(x)))(DISK.x)


def test_values_are_there_in_an_eager_gradient():
    def f(x):
        return (
            materialize(dnp.sum(x))
            if float(dnp.sum(x)) > 1e6
            else F32(2) * DISK.of_x(x)
        )

    got = jax.grad(f)(DISK.x)
    np.testing.assert_allclose(
        np.asarray(got), 2 * (np.sin(A) + A * np.cos(A)), rtol=1e-4, atol=1e-5
    )
