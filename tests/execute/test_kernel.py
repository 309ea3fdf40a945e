"""Kernels: one tile computed as jax.numpy computes the whole."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jask._jax import kernel_device
from jask.execute.kernel import (
    BARRIER_EVERY,
    _compile,
    accumulator_specs,
    compile_close,
    compile_step,
    initial,
    spare_specs,
)
from jask.plan.ir import Pass
from jask.plan.lower import lower
from jask.trace.counters import COUNTERS
from tests.execute.pieces import traced

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 8)).astype("f4")


def computed(p: Pass, arrays: Any, index: tuple[int, ...]) -> list[Any]:
    """Return what each root makes of the tile at this index, from nothing."""
    low = lower(p, index)
    files = dict(zip(p.leaves, arrays, strict=True))
    with kernel_device(), jax.enable_x64(True):
        kernel = compile_step(p, low)
        carried = [
            [jnp.asarray(a) for a in initial(p.roots[h.root], h.shape)]
            if p.roots[h.root].kind in {"reduce", "scan"}
            else []
            for h in low.heads
        ]
        spares = [
            [jnp.zeros(s.shape, s.dtype) for s in spare_specs(p.roots[h.root], h.shape)]
            for h in low.heads
        ]
        blocks = [jnp.asarray(files[x.leaf][x.box.slices]) for x in low.loads]
        offsets = np.asarray(low.offsets, "i8")
        assert kernel.temp >= 0
        made = kernel.call(offsets, carried, spares, *blocks)
    return [[np.asarray(a) for a in arrays] for arrays in made]


def test_a_map_makes_the_block_of_its_tile():
    p = traced(lambda x: jnp.exp(x[1:]) - x[:-1], X).tiled((100, 8))
    ((block,),) = computed(p, [X], (2, 0))
    # float32 functions of XLA and NumPy differ in the last bits
    np.testing.assert_allclose(block, np.exp(X[201:301]) - X[200:300], atol=1e-6)


def test_a_fold_adds_its_tile_to_what_it_was_given():
    p = traced(lambda x: jnp.sum(x, 0), X).tiled({3000: 500, 8: 8})
    ((total,),) = computed(p, [X], tuple(5 if n == 3000 else 0 for n in p.grid))
    # float32 sums, added up in another order
    np.testing.assert_allclose(total, X[2500:].sum(0, dtype="f8"), rtol=1e-6)
    (root,) = p.roots
    domain = tuple(500 if n == 3000 else n for n in root.domain)
    (spec,) = accumulator_specs(root, domain)
    assert spec.shape == (8,)
    assert total.dtype == spec.dtype


def test_accumulators_are_joined_in_order_and_finished():
    p = traced(lambda x: jnp.max(x, 0), X).tiled({3000: 500, 8: 8})
    (root,) = p.roots
    parts = [[X[:9].max(0)], [X[9:70].max(0)], [X[70:].max(0)]]
    with kernel_device(), jax.enable_x64(True):
        (out,) = compile_close(root, (8,), 3).call(parts)
    np.testing.assert_array_equal(np.asarray(out), X.max(0))


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="elsewhere all share one")
def test_each_worker_has_a_kernel_of_its_own_compiled_once():
    p = traced(lambda x: jnp.max(x, 0), X).tiled({3000: 500, 8: 8})
    parts = [[X[:9].max(0)], [X[9:].max(0)]]
    found = []
    with kernel_device(workers=3), jax.enable_x64(True):
        kernel = compile_close(p.roots[0], (8,), 2, workers=3)
        before = COUNTERS.compiles
        found += [kernel.call_of(worker)(parts)[0] for worker in (0, 1, 2, 1)]
    assert COUNTERS.compiles == before
    assert len({a.device.client for a in found}) == 3
    for array in found:
        np.testing.assert_array_equal(np.asarray(array), X.max(0))


def test_passes_that_compute_the_same_share_a_kernel_whatever_part_they_read():
    passes = [
        traced(lambda x, a=a: jnp.exp(x[a : a + 700]), X).tiled((700, 8))
        for a in (0, 900)
    ]
    with kernel_device(), jax.enable_x64(True):
        first, second = (compile_step(p, lower(p, (0, 0))) for p in passes)
    assert first is second


def called(add: int, x: Any) -> Any:
    """Add a number in Python."""
    like = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.pure_callback(lambda y: np.asarray(y) + np.float32(add), like, x)


CALLERS: dict[str, Callable[[int], Callable[[Any], Any]]] = {
    "plain": lambda add: partial(called, add),
    "jit": lambda add: jax.jit(partial(called, add)),
    "cond": lambda add: (
        lambda x: jax.lax.cond(x[0, 0] < 9, partial(called, add), jnp.sin, x)
    ),
    "checkpoint": lambda add: jax.checkpoint(jax.jit(partial(called, add))),
}


@pytest.mark.parametrize("name", CALLERS)
def test_kernels_that_call_other_functions_are_apart(name: str):
    passes = [traced(CALLERS[name](add), X).tiled(()) for add in (1, 2)]
    with kernel_device(), jax.enable_x64(True):
        kept = [compile_step(p, lower(p, ())) for p in passes]
    for add, p in zip((1, 2), passes, strict=True):
        ((block,),) = computed(p, [X], ())
        np.testing.assert_array_equal(block, X + np.float32(add))
    assert kept[0] is not kept[1]


def test_a_function_that_is_only_named_callback_is_shared():
    @jax.jit
    def callback(x: Any) -> Any:
        return jnp.exp(x)

    def fn(x: Any) -> Any:
        return jax.lax.cond(x[0, 0] < 9, callback, jnp.sin, x)

    passes = [traced(fn, X).tiled(()) for _ in range(2)]
    with kernel_device(), jax.enable_x64(True):
        first, second = (compile_step(p, lower(p, ())) for p in passes)
    assert first is second


@pytest.mark.parametrize("outside", [False, True])
def test_a_kernel_with_constants_is_loaded_wherever_jax_would_keep_them(
    *, outside: bool
):
    before = jax.config.jax_use_simplified_jaxpr_constants
    jax.config.update("jax_use_simplified_jaxpr_constants", outside)
    try:
        with kernel_device(workers=2):
            spec = jax.ShapeDtypeStruct(X.shape, X.dtype)
            kernel = _compile(
                lambda x: x + X, (spec,), donate=(), quick=False, workers=2
            )
        with kernel_device(workers=2, worker=1):
            found = kernel.call_of(1)(X)
    finally:
        jax.config.update("jax_use_simplified_jaxpr_constants", before)
    np.testing.assert_array_equal(np.asarray(found), X + X)


def test_a_kernel_that_sorts_is_loaded_for_others_after_it_has_run():
    spec = jax.ShapeDtypeStruct(X.shape, X.dtype)
    with kernel_device(workers=2):
        kernel = _compile(jnp.sort, (spec,), donate=(), quick=True, workers=2)
        kernel.call_of(0)(X)
    with kernel_device(workers=2, worker=1):
        found = kernel.call_of(1)(X)
    np.testing.assert_array_equal(np.asarray(found), np.sort(X))


@pytest.mark.parametrize(
    ("fn", "neutral"),
    [(jnp.sum, 0), (jnp.max, -np.inf), (jnp.min, np.inf), (jnp.prod, 1)],
)
def test_a_fold_starts_from_what_changes_nothing(fn: Any, neutral: float):
    (root,) = traced(lambda x: fn(x, 0), X).roots()
    shape = tuple(7 if n == 3000 else n for n in root.domain)
    (start,) = initial(root, shape)
    np.testing.assert_array_equal(start, np.full(8, neutral))


def test_a_scan_hands_on_its_carry():
    p = traced(lambda x: jnp.cumsum(x, 0), X).tiled((1000, 8))
    ((block, carry, *_),) = computed(p, [X], (1, 0))
    right = X[1000:2000].cumsum(0, dtype="f8")
    # float32 running sums beside double precision
    np.testing.assert_allclose(block, right, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(carry.reshape(-1), right[-1], rtol=1e-4, atol=1e-4)


def test_dividing_by_a_number_has_the_bits_of_jax_numpy():
    p = traced(lambda x: x / 3, X).tiled((3000, 8))
    ((block,),) = computed(p, [X], (0, 0))
    np.testing.assert_array_equal(block, np.asarray(jnp.asarray(X) / 3))


@pytest.mark.parametrize("length", [BARRIER_EVERY - 1, 5 * BARRIER_EVERY])
def test_a_long_chain_with_barriers_has_the_values_of_one_without(length: int):
    def chain(x: Any) -> Any:
        for k in range(length):
            x = x * 0.5 + k
        return x

    p = traced(chain, X).tiled((3000, 8))
    ((block,),) = computed(p, [X], (0, 0))
    # float32 beside double precision, in a contracting chain
    np.testing.assert_allclose(block, chain(X.astype("f8")), rtol=1e-6)


def test_only_maps_and_scans_have_spare_blocks():
    def three(x: Any) -> Any:
        return jnp.sum(x, 0), jnp.cumsum(x, 0), x + 1

    roots = {r.kind: r for r in traced(three, X).roots()}
    assert [s.shape for s in spare_specs(roots["map"], (5, 8))] == [(5, 8)]
    assert [s.shape for s in spare_specs(roots["scan"], (5, 8))] == [(5, 8)]
    assert spare_specs(roots["reduce"], (5, 8)) == []
    assert accumulator_specs(roots["map"], (5, 8)) == []


def test_what_has_no_rule_is_computed_whole():
    p = traced(lambda x: jnp.linalg.qr(x)[1], X).tiled(())
    whole = next(r for r in p.roots if r.kind == "opaque")
    k = p.roots.index(whole)
    made = computed(p, [X], ())[k]
    # a float32 factorisation, by another algorithm
    np.testing.assert_allclose(np.abs(made[-1]), np.abs(np.linalg.qr(X)[1]), rtol=1e-3)
