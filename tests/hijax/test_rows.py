"""What lax.scan walks, stacks and keeps for the way back: a handle for each row."""

import gc
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from jask import materialize
from jask.hijax.handles import TABLE, Table
from jask.hijax.rows import rows, stack
from jask.stores.traffic import snapshot
from jask.trace.counters import COUNTERS
from jask.trace.graph import Dense

F32 = np.float32
A = np.random.default_rng(0).normal(size=(6, 3)).astype(F32)
W = jnp.asarray([1.0, -2.0, 0.5], F32)


def walk(np: Any, x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        return c * materialize(np.sum(np.cos(row))), np.sin(row)

    return jax.lax.scan(step, jnp.ones((), F32), x, length=6)


def loop(np: Any, x: Any) -> Any:
    return np.sum(jax.lax.fori_loop(0, 3, lambda _, c: np.sin(c) * c, x))


def nested(np: Any, x: Any) -> Any:
    def inner(c: Any) -> Any:
        return jax.lax.fori_loop(0, 2, lambda _, d: np.sin(d) * d, c)

    return np.sum(jax.lax.fori_loop(0, 2, lambda _, c: inner(c), x))


def descent(np: Any, x: Any) -> Any:
    def step(c: Any, _: None) -> Any:
        return materialize(np.sum(np.sin(x @ c))) * c, None

    return lambda w: jnp.sum(jax.lax.scan(step, w, None, length=3)[0])


CASES = {
    "rows in, rows out": walk,
    "gradient with respect to the rows": lambda np, x: jax.grad(
        lambda x: walk(np, x)[0]
    )(x),
    "gradient with respect to a carry": lambda np, x: jax.grad(lambda x: loop(np, x))(
        x
    ),
    "gradient through nested loops": lambda np, x: jax.grad(lambda x: nested(np, x))(x),
    "gradient of a parameter beside a constant": lambda np, x: jax.grad(descent(np, x))(
        W
    ),
    "Hessian-vector product": lambda np, x: jax.jvp(
        jax.grad(lambda x: loop(np, x)), (x,), (x,)
    ),
    "second order, both in reverse": lambda np, x: jax.grad(
        lambda x: np.sum(jax.grad(lambda x: loop(np, x))(x) * x)
    )(x),
    "vmap of a walk": lambda np, x: jax.vmap(lambda s: walk(np, x * s))(W),
    "a stack goes through jit": lambda np, x: jax.jit(np.sum)(walk(np, x)[1]),
}


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", CASES)
def test_scan_walks_and_stacks_disk_arrays(name, transform):
    got = transform(lambda x: CASES[name](dnp, x))(jask.from_numpy(A))
    want = CASES[name](jnp, jnp.asarray(A))
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert g.dtype == w.dtype
        # float32 sums, added up in another order
        np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


def test_a_walk_of_no_rows_makes_an_empty_stack():
    x = jask.from_numpy(A[:0])
    _, y = jax.lax.scan(lambda c, r: (c, dnp.sin(r)), 0, x, length=0)
    assert isinstance(y, jask.DiskArray)
    np.testing.assert_array_equal(y, A[:0])


def test_the_rows_of_a_stack_are_what_was_stacked():
    parts = [Dense((3,), np.dtype(F32), row) for row in A]
    whole = stack(parts, (6, 3), np.dtype(F32))
    assert rows(whole) == parts


def test_a_row_is_read_alone_and_planned_once(tmp_path):
    big = np.arange(2**16, dtype=F32).reshape(2**8, 2**8)
    np.save(tmp_path / "x.npy", big)
    x = jask.open(tmp_path / "x.npy")
    run = jax.jit(
        lambda x: jax.lax.scan(
            lambda c, r: (c + materialize(dnp.sum(r)), None), F32(0), x, length=2**8
        )[0]
    )
    before, plans = snapshot().bytes_read, COUNTERS.plans
    assert float(run(x)) == pytest.approx(float(big.sum()), rel=1e-5)
    assert COUNTERS.plans <= plans + 1
    assert snapshot().bytes_read - before <= 2 * big.nbytes


def test_an_expression_that_is_walked_is_computed_once(tmp_path):
    np.save(tmp_path / "x.npy", A)
    x = jask.open(tmp_path / "x.npy")
    before = snapshot().bytes_read
    got = jax.lax.scan(
        lambda c, r: (c + materialize(dnp.sum(r)), None), F32(0), x * x, length=6
    )[0]
    assert float(got) == pytest.approx(float((A * A).sum()), rel=1e-5)
    assert snapshot().bytes_read - before <= 3 * A.nbytes


def test_a_row_that_leaves_a_walk_can_be_mapped(tmp_path):
    np.save(tmp_path / "x.npy", A)
    x = jask.open(tmp_path / "x.npy")
    last = jax.lax.scan(lambda c, r: (r, None), x[0], x, length=6)[0]
    assert last.filename is None
    np.testing.assert_array_equal(last.to_memmap(), A[5])


def test_a_constant_can_be_walked():
    x = jask.from_numpy(A)
    add = jax.jit(lambda s: jax.lax.scan(lambda c, r: (c + r, None), s, x, length=6)[0])
    # float32 sums, added up in another order
    np.testing.assert_allclose(add(x[0]), A[0] + A.sum(0), rtol=1e-5)
    np.testing.assert_allclose(add(x[1]), A[1] + A.sum(0), rtol=1e-5)


def test_handles_of_rows_end_with_the_buffer_that_holds_them():
    table = Table()
    whole = Dense((6, 3), np.dtype(F32), A)
    lent = table.lend(whole, rows(whole))
    pin = table.pin(whole)
    parts = table.parts(pin, rows(whole))
    assert lent.shape == (6,)
    assert len(table) == 14
    assert table.node(int(lent[2])).shape == (3,)
    del lent
    gc.collect()
    table.collect()
    assert len(table) == 7
    assert len(set(parts.tolist())) == 6


def test_nothing_stays_after_a_gradient_through_a_loop():
    x = jask.from_numpy(A)
    gradient = jax.jit(jax.grad(lambda x: loop(dnp, x)))
    jax.block_until_ready(materialize(gradient(x)))
    gc.collect()
    TABLE.collect()
    before = len(TABLE)
    for _ in range(5):
        materialize(gradient(x))
    gc.collect()
    TABLE.collect()
    assert len(TABLE) <= before
