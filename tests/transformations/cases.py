"""Every transformation as a function of one case, on disk or in memory.

A case says what `x` and `w` are and which functions stand for JAX's where it has none
for disk arrays; the same lines then run on both sides.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jask
import jask.numpy as dnp
from jask._jax import as_function
from tests.transformations.kinds import F32, KINDS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 4)).astype(F32)
W = jnp.asarray([1.0, -0.5, 2.0, 0.25], F32)
WS = jnp.stack([W, W * W, -W])


@dataclass(frozen=True)
class Case:
    """One function of `x` on disk, or in memory, and `w`."""

    np: Any
    x: Any
    forms: Any
    """`jask` or `jax`: the forms that differ."""

    kind: str

    def f(self, x: Any, w: Any) -> Any:
        """The function; its result is where `x` is."""
        return KINDS[self.kind](self.np, x, w)

    def of_x(self, x: Any) -> Any:
        return self.f(x, W)

    def of_w(self, w: Any) -> Any:
        return self.f(self.x, w)

    def value(self, w: Any) -> Any:
        """The function in memory."""
        return jask.materialize(self.of_w(w))

    def loss(self, x: Any, w: Any) -> Any:
        """A scalar, in memory."""
        return jask.materialize(self.np.mean(self.np.sin(self.f(x, w))))

    def loss_x(self, x: Any) -> Any:
        return self.loss(x, W)

    def loss_w(self, w: Any) -> Any:
        return self.loss(self.x, w)

    def lazy(self, x: Any, w: Any) -> Any:
        """A scalar where `x` is."""
        return self.np.mean(self.np.sin(self.f(x, w)))

    def with_aux(self, x: Any, w: Any) -> Any:
        return self.loss(x, w), {"x": x * F32(2), "w": w}

    def tree(self, p: Any) -> Any:
        return self.loss(p["x"], p["more"][0])

    @property
    def p(self) -> Any:
        return {"x": self.x, "more": [W]}

    def custom(self) -> Any:
        """The loss with a derivative rule of its own: twice the right one."""

        @jax.custom_vjp
        def g(x: Any) -> Any:
            return self.of_x(x)

        def backward(x: Any, ct: Any) -> Any:
            return (jax.vjp(self.of_x, x)[1](ct)[0] * F32(2),)

        g.defvjp(lambda x: (self.of_x(x), x), backward)
        return g

    def custom_forward(self) -> Any:
        """The function with a tangent rule of its own: twice the right one."""

        @jax.custom_jvp
        def g(x: Any) -> Any:
            return self.of_x(x)

        @g.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            y, t = jax.jvp(self.of_x, primals, tangents)
            return y, t * F32(2)

        return g

    def sum(self, x: Any) -> Any:
        return jask.materialize(self.np.sum(x))


def on_disk(kind: str) -> Case:
    """Return the case with `x` on disk."""
    return Case(dnp, jask.from_numpy(X), jask, kind)


def in_memory(kind: str) -> Case:
    """Return the same case in memory, for JAX alone."""
    return Case(jnp, jnp.asarray(X), jax, kind)


def repeat(c: Case, x: Any, times: int = 2) -> Any:
    """Apply a step with a disk carry several times."""

    def step(carry: Any, _: None) -> Any:
        y = c.np.sum(c.f(carry, W))
        return carry * F32(0.5) + c.np.sin(y) * F32(0.1), c.np.tanh(y)

    return jax.lax.scan(step, x, None, length=times)


def descend(c: Case, w: Any) -> Any:
    def step(w: Any, _: None) -> Any:
        value, g = jax.value_and_grad(c.loss_w)(w)
        return w - F32(0.01) * g, value

    return jax.lax.scan(step, w, None, length=2)


def hvp(c: Case, v: Any) -> Any:
    return jax.jvp(jax.grad(c.loss_x), (c.x,), (v,))[1]


type Run = Callable[[Case], Any]

TRANSFORMS: dict[str, Run] = {
    "eager": lambda c: c.f(c.x, W),
    "jit": lambda c: jax.jit(c.f)(c.x, W),
    "nested jit": lambda c: jax.jit(lambda x: jax.jit(c.of_x)(jax.jit(c.np.sin)(x)))(
        c.x
    ),
    "jit with a static argument": lambda c: jax.jit(
        lambda x, k: c.f(x * F32(k), W), static_argnums=1
    )(c.x, 3),
    "jit with a donated argument": lambda c: jax.jit(
        lambda x, w: (c.f(x, w), w + F32(1)), donate_argnums=1
    )(c.x, W + F32(0)),
    "grad of data": lambda c: jax.grad(c.loss)(c.x, W),
    "grad of a parameter": lambda c: jax.grad(c.loss, 1)(c.x, W),
    "grad of several arguments": lambda c: jax.grad(c.loss, (0, 1))(c.x, W),
    "grad of a pytree": lambda c: jax.grad(c.tree)(c.p),
    "grad with aux": lambda c: jax.grad(c.with_aux, has_aux=True)(c.x, W),
    "value and grad": lambda c: jax.value_and_grad(c.loss, (0, 1))(c.x, W),
    "value and grad of a loss on disk": lambda c: jax.value_and_grad(c.lazy, (0, 1))(
        c.x, W
    ),
    "jask.grad": lambda c: c.forms.grad(c.lazy, (0, 1))(c.x, W),
    "jask.value_and_grad": lambda c: c.forms.value_and_grad(
        c.with_aux, (0, 1), has_aux=True
    )(c.x, W),
    "jit of grad": lambda c: jax.jit(jax.grad(c.loss, (0, 1)))(c.x, W),
    "grad of jit": lambda c: jax.grad(jax.jit(c.loss), (0, 1))(c.x, W),
    "jit of value and grad": lambda c: jax.jit(jax.value_and_grad(c.loss, (0, 1)))(
        c.x, W
    ),
    "jit of jask.grad": lambda c: jax.jit(c.forms.grad(c.lazy, (0, 1)))(c.x, W),
    "vjp": lambda c: jax.vjp(c.f, c.x, W)[1](c.np.cos(c.f(c.x, W))),
    "jvp of data": lambda c: jax.jvp(c.of_x, (c.x,), (c.x,)),
    "jvp of a parameter": lambda c: jax.jvp(c.of_w, (W,), (W,)),
    "jit of jvp": lambda c: jax.jit(lambda x: jax.jvp(c.of_x, (x,), (x,)))(c.x),
    "linearize": lambda c: jax.linearize(c.of_x, c.x)[1](c.x),
    "linear transpose": lambda c: jax.linear_transpose(
        jax.linearize(c.of_x, c.x)[1], c.x
    )(c.np.cos(c.of_x(c.x))),
    "jacrev of a parameter": lambda c: jax.jacrev(c.value)(W),
    "jacfwd of a parameter": lambda c: jax.jacfwd(c.value)(W),
    "hessian of a parameter": lambda c: jax.hessian(c.loss_w)(W),
    "jask.jacrev": lambda c: c.forms.jacrev(c.f, (0, 1))(c.x, W),
    "jask.jacfwd": lambda c: c.forms.jacfwd(c.f, (0, 1))(c.x, W),
    "jask.hessian": lambda c: c.forms.hessian(c.lazy)(c.x, W),
    "jit of jask.hessian": lambda c: jax.jit(c.forms.hessian(c.lazy, (0, 1)))(c.x, W),
    "hvp, forward over reverse": lambda c: hvp(c, c.x),
    "hvp, reverse over reverse": lambda c: jax.grad(
        lambda x: c.sum(jax.grad(c.loss_x)(x) * c.x)
    )(c.x),
    "hvp, reverse over forward": lambda c: jax.grad(
        lambda x: jax.jvp(c.loss_x, (x,), (c.x,))[1]
    )(c.x),
    "jit of hvp": lambda c: jax.jit(lambda v: hvp(c, v))(c.x),
    "third derivative": lambda c: jax.jvp(lambda x: hvp(c, x), (c.x,), (c.x,))[1],
    "vmap of a parameter": lambda c: jax.vmap(c.of_w)(WS),
    "vmap of data": lambda c: jax.vmap(c.of_x)(c.np.stack([c.x, c.x * c.x])),
    "vmap of both": lambda c: jax.vmap(c.f, (2, 0), 1)(
        c.np.stack([c.x, -c.x, c.x * c.x], axis=2), WS
    ),
    "nested vmap": lambda c: jax.vmap(jax.vmap(c.f, (None, 0)), (0, None))(
        c.np.stack([c.x, -c.x]), WS
    ),
    "vmap of what is not mapped": lambda c: jax.vmap(
        lambda w: (c.f(c.x, W), w), out_axes=(1, 0)
    )(WS),
    "vmap with out_axes None": lambda c: jax.vmap(
        lambda w: (c.of_x(c.x), w), out_axes=(None, 0)
    )(WS),
    "jit of vmap": lambda c: jax.jit(jax.vmap(c.of_w))(WS),
    "vmap of jit": lambda c: jax.vmap(jax.jit(c.of_w))(WS),
    "vmap of grad": lambda c: jax.vmap(jax.grad(c.loss, (0, 1)), (None, 0))(c.x, WS),
    "jit of vmap of grad": lambda c: jax.jit(
        jax.vmap(jax.grad(c.loss, (0, 1)), (None, 0))
    )(c.x, WS),
    "grad of vmap": lambda c: jax.grad(
        lambda x: c.sum(jax.vmap(c.f, (None, 0))(x, WS))
    )(c.x),
    "checkpoint": lambda c: jax.checkpoint(c.f)(c.x, W),
    "grad of checkpoint": lambda c: jax.grad(jax.checkpoint(c.loss), (0, 1))(c.x, W),
    "jit of grad of checkpoint": lambda c: jax.jit(
        jax.grad(jax.checkpoint(c.loss), (0, 1))
    )(c.x, W),
    "custom_vjp": lambda c: jax.grad(lambda x: c.sum(c.custom()(x)))(c.x),
    "jit of custom_vjp": lambda c: jax.jit(jax.grad(lambda x: c.sum(c.custom()(x))))(
        c.x
    ),
    "custom_jvp": lambda c: jax.jvp(c.custom_forward(), (c.x,), (c.x,)),
    "grad of custom_jvp": lambda c: jax.grad(lambda x: c.sum(c.custom_forward()(x)))(
        c.x
    ),
    "vmap of custom_jvp": lambda c: jax.vmap(c.custom_forward())(
        c.np.stack([c.x, -c.x])
    ),
    "scan over a closed array": lambda c: descend(c, W),
    "jit of scan over a closed array": lambda c: jax.jit(lambda w: descend(c, w))(W),
    "scan with a disk carry": lambda c: repeat(c, c.x),
    "jit of scan with a disk carry": lambda c: jax.jit(lambda x: repeat(c, x))(c.x),
    "grad of scan with a disk carry": lambda c: jax.grad(
        lambda x: c.sum(repeat(c, x)[0])
    )(c.x),
    "jit of grad of scan": lambda c: jax.jit(
        jax.grad(lambda x: c.sum(repeat(c, x)[0]))
    )(c.x),
    "fori_loop": lambda c: jax.jit(
        lambda x: jax.lax.fori_loop(
            0, 3, lambda i, y: y * F32(0.5) + c.np.mean(c.of_x(y)) * i.astype(F32), x
        )
    )(c.x),
    "while_loop": lambda c: jax.lax.while_loop(
        lambda s: s[1] < F32(3),
        lambda s: (s[0] * F32(0.5), s[1] + jnp.cos(c.loss_x(s[0])) * F32(0.1) + F32(1)),
        (c.x, jnp.zeros((), F32)),
    ),
    "cond": lambda c: jax.jit(
        lambda x: jax.lax.cond(c.sum(x) > F32(0), c.of_x, lambda x: -c.of_x(x), x)
    )(c.x),
    "grad of cond": lambda c: jax.grad(
        lambda x: c.sum(
            jax.lax.cond(c.sum(x) > F32(9), c.of_x, lambda x: c.of_x(-x), x)
        )
    )(c.x),
    "vmap of cond": lambda c: jax.vmap(
        lambda w: jax.lax.cond(w[0] > F32(0), c.of_w, lambda w: c.of_w(-w), w)
    )(WS),
    "switch": lambda c: jax.jit(
        lambda i, x: jax.lax.switch(i, [c.of_x, lambda x: c.of_x(-x)], x)
    )(1, c.x),
    "eval_shape": lambda c: jax.tree.map(
        lambda t: jnp.zeros(t.shape, t.dtype), jax.eval_shape(c.f, c.x, W)
    ),
    "make_jaxpr": lambda c: as_function(jax.make_jaxpr(c.f)(c.x, W))(c.x, W),
}
"""By name: what is run."""
