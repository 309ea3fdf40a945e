"""What jask assumes of JAX without JAX promising it; see jask/hijax/README.md."""

import contextlib
import gc
import threading
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
from jask._jax import (
    ShapedArray,
    in_place,
    io_callback,
    is_lowering,
    kernel_device,
    remat_p,
)
from jask.hijax import diverted, type as hitype
from jask.hijax.apply import Op, apply
from jask.hijax.handles import _aligned_int32
from jask.hijax.type import DiskArrayType
from jask.trace.graph import Handle, Source

F32 = np.float32
INT = jax.ShapeDtypeStruct((), np.int32)


class Gate:
    """An int32 argument whose death is seen, and a callback that waits."""

    def __init__(self) -> None:
        self.open, self.entered = threading.Event(), threading.Event()
        buffer, scalar = _aligned_int32()
        scalar[...] = 7
        self.dead = weakref.ref(buffer)
        self.argument = in_place(scalar)

    def wait(self, handle):
        self.entered.set()
        assert self.open.wait(30)
        return np.asarray(handle)


@pytest.fixture(scope="module")
def late():
    big = jnp.ones((1200, 1200), F32) * F32(1e-3)
    product = jax.jit(lambda w: (w @ w @ w @ w)[0, 0])
    product(big).block_until_ready()
    return lambda: product(big)


@pytest.mark.parametrize("end", ["result kept", "result dropped", "failure"])
def test_an_aliased_argument_lives_as_long_as_its_call(late, end, caplog):
    gate = Gate()

    def callback(handle, _):
        gate.wait(handle)
        if end == "failure":
            raise ValueError("no")
        return np.asarray(handle)

    f = jax.jit(lambda h, w: io_callback(callback, INT, h, w))
    result = f(gate.argument, late())
    del gate.argument
    if end == "result dropped":
        del result
    assert gate.entered.wait(30)
    gc.collect()
    assert gate.dead() is not None
    gate.open.set()
    with contextlib.suppress(jax.errors.JaxRuntimeError):
        jax.effects_barrier()
    for _ in range(100):
        gc.collect()
        jnp.zeros(()).block_until_ready()
        if gate.dead() is None:
            break
    assert gate.dead() is None


def test_a_callback_lives_as_long_as_its_program():
    class Thing:
        value = np.int32(3)

    thing = Thing()
    seen = weakref.ref(thing)
    f = jax.jit(lambda thing=thing: jax.pure_callback(lambda: thing.value, INT))
    assert int(f()) == 3
    del thing
    gc.collect()
    assert seen() is not None
    assert int(f()) == 3


def test_an_unused_pure_callback_does_not_run():
    ran = []

    def callback(x):
        ran.append(1)
        return x

    @jax.jit
    def f(x):
        jax.pure_callback(callback, INT, x)
        return x + np.int32(1)

    assert int(f(np.int32(1))) == 2
    assert not ran


def test_kernels_run_on_a_client_of_their_own():
    with kernel_device():
        x = jnp.ones(3)
        y = jax.jit(lambda x: x + x)(x)
    [device] = y.devices()
    assert device.client is not jax.devices("cpu")[0].client
    assert jnp.ones(3).devices() == {jax.devices("cpu")[0]}
    assert y.tolist() == [2, 2, 2]


def test_expand_sees_arrays_eagerly_and_symbols_while_lowering(monkeypatch):
    seen = []
    real = Op.expand

    def spy(self, *args):
        seen.append((is_lowering(), type(args[0].node)))
        return real(self, *args)

    monkeypatch.setattr(Op, "expand", spy)
    x = jask.from_numpy(np.ones(3, F32))

    def f(x):
        return apply(jnp.sin, x, name="sin")

    f(x)
    assert seen == [(False, Source)]
    seen.clear()
    jax.jit(f)(x)
    assert seen == [(True, Handle)]


def test_jax_grad_tells_a_scalar_loss_by_isinstance():
    """And makes the cotangent itself, in memory."""
    t: Any = jax.typeof(jask.from_numpy(F32(1)))
    assert type(t) is DiskArrayType
    assert [isinstance(t, kind) for kind in (ShapedArray, DiskArrayType)] == [True] * 2
    assert not isinstance(jax.typeof(jask.from_numpy([F32(1)])), ShapedArray)
    g = jax.grad(lambda x: apply(jnp.sum, x, name="sum"))(jask.from_numpy([1.0, 2.0]))
    assert np.asarray(g).tolist() == [1, 1]


@pytest.mark.parametrize("argument", [np.arange(3), np.arange(6).reshape(2, 3) > 2])
def test_jax_grad_says_that_integers_have_no_gradient(argument):
    """The functions in which it checks have the names that `_jax.py` knows."""
    x = jask.from_numpy(argument)
    for f in (jax.grad, jax.value_and_grad):
        with pytest.raises(TypeError, match="requires real- or complex-valued inputs"):
            f(lambda x: apply(jnp.sum, x, name="sum"))(x)


def test_jax_grad_says_that_a_loss_must_be_a_real_scalar():
    w, x = jnp.ones(3), jask.from_numpy(np.arange(3))
    with pytest.raises(TypeError, match=r"real-valued outputs .* got int"):
        jax.grad(lambda _: apply(jnp.sum, x, name="sum"))(w)
    with pytest.raises(TypeError, match=r"had shape: \(3,\).*reduce the output"):
        jax.grad(lambda w: apply(jnp.sin, w, name="sin"))(
            jask.from_numpy(np.ones(3, F32))
        )


LAX: dict[str, Any] = {
    "add": lambda x: jax.lax.add(x, x),
    "mul": lambda x: jax.lax.mul(2, x),
    "exp": jax.lax.exp,
    "reshape": lambda x: jax.lax.reshape(x, (3, 2)),
    "sum": lambda x: jax.lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None),
    "sort": jax.lax.sort,
    "top_k": lambda x: jax.lax.top_k(x, 2),
    "jitted exp": jax.jit(jax.lax.exp),
    "index": lambda x: jnp.ones(9)[x],
    "jitted index": jax.jit(lambda x: jnp.ones((9, 9))[:, x]),
    "index of an update": lambda x: jnp.ones(9).at[x].set(1),
}


@pytest.mark.parametrize("name", LAX)
def test_jax_lax_says_what_to_use_instead(name):
    x = jask.from_numpy(np.ones((2, 3), "float32"))
    with pytest.raises(TypeError, match=r"jask\.lift\(fn\), or jask\.materialize"):
        LAX[name](x)


REMEDIES: dict[str, tuple[Any, str]] = {
    "device_put": (jax.device_put, r"Use jask\.materialize"),
    "device_put of a pytree": (lambda x: jax.device_put([1, x]), r"jask\.materialize"),
    "jitted device_put": (jax.jit(jax.device_put), r"Use jask\.materialize"),
    "map": (lambda x: jax.lax.map(jnp.sin, x), r"Use jask\.map or jask\.scan"),
    "map of two": (
        lambda x: jax.lax.map(lambda rows: rows[0], (x, x)),
        r"Use jask\.map or jask\.scan",
    ),
    "scan": (
        lambda x: jax.lax.scan(lambda c, row: (c, row), 0.0, x),
        r"Use jask\.map or jask\.scan",
    ),
    "jitted map": (jax.jit(lambda x: jax.lax.map(jnp.sin, x)), "provide `length`"),
}
"""Calls, and what their errors name; of a traced array `lax.map` asks nothing."""


@pytest.mark.parametrize("name", REMEDIES)
def test_what_jax_cannot_do_names_the_remedy(name):
    call, remedy = REMEDIES[name]
    x = jask.from_numpy(np.ones((2, 3), "float32"))
    with pytest.raises((NotImplementedError, ValueError), match=remedy):
        call(x)


def test_a_scan_that_knows_its_length_is_not_refused():
    x, rows = jask.from_numpy(np.ones((2, 3), "float32")), jnp.ones(2)

    def step(carry, row):
        return carry, row

    for found in (
        jax.lax.scan(step, 0.0, x, length=2)[1],
        jax.lax.scan(step, 0.0, (x, rows))[1][0],
        jax.lax.scan(step, x, rows)[0],
        jax.lax.scan(step, x, None, length=2)[0],
    ):
        assert np.asarray(found).tolist() == [[1.0] * 3] * 2


def test_a_result_of_an_inner_jaxpr_is_lowered_in_the_outer_trace(monkeypatch):
    """Else `inside_lowered` is not needed any more."""
    x = jask.from_numpy(np.ones(2, F32))
    f = jax.jit(jax.jit(lambda _: x))
    np.testing.assert_array_equal(np.asarray(f(1.0)), 1)
    monkeypatch.setattr(hitype, "inside_lowered", contextlib.nullcontext)
    with pytest.raises(TypeError, match="No constant handler"):
        jax.jit(jax.jit(lambda _: x))(1.0)


def test_jax_checkpoint_forgets_to_raise_its_results():
    """`_jax.py` does it; when JAX does, that can go."""
    lowered = remat_p.to_lojax
    [forgetful] = [
        cell.cell_contents
        for cell in lowered.__closure__ or ()
        if callable(cell.cell_contents)
    ]
    x = jask.from_numpy(np.ones(3, F32))
    closed = jax.make_jaxpr(jax.checkpoint(lambda x: apply(jnp.sin, x, name="sin")))(x)
    [eqn] = closed.eqns
    [out] = forgetful(x, **eqn.params)
    assert out.dtype == np.int32
    [out] = lowered(x, **eqn.params)
    assert isinstance(out, jask.DiskArray)


def test_what_a_map_does_not_map_is_broadcast_by_a_primitive(monkeypatch):
    bound = []
    real = apply

    def spy(fn, *args, name, **options):
        bound.append(name)
        return real(fn, *args, name=name, **options)

    monkeypatch.setattr(diverted, "apply", spy)
    x = jask.from_numpy(np.ones(3, F32))
    assert jax.vmap(lambda _: x)(jnp.zeros(2)).shape == (2, 3)
    assert bound == ["broadcast_in_dim"]
