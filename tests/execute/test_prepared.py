"""Prepared passes: the order of steps, few kernels, steps kept up to a limit."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jask.errors import MemoryBudgetError
from jask.execute import heap, kernel as kernel_module, prepared as module
from jask.execute.kernel import Kernel, compile_step
from jask.execute.prepared import Prepared, PreparedPass
from jask.plan.ir import Limits
from jask.trace.counters import COUNTERS
from tests.execute.pieces import traced
from tests.plan.programs import call, plan_of, source

X = np.zeros((100, 30), "f4")


def ready(fn, tile, order: tuple[int, ...] | None = None, of: Any = X):
    p = traced(fn, of).tiled(tile)
    p.order = order or p.order
    return PreparedPass(p)


def test_steps_walk_the_grid_in_the_order_of_the_loops():
    rows_first = ready(jnp.sin, (50, 10), (0, 1))
    assert [rows_first.index(i) for i in range(4)] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    columns_first = ready(jnp.sin, (50, 10), (1, 0))
    assert [columns_first.index(i) for i in range(3)] == [(0, 0), (1, 0), (0, 1)]


def test_interior_tiles_share_a_kernel_and_edges_have_their_own():
    p = ready(lambda x: x + 1, (16, 30))
    before = COUNTERS.compiles
    steps = [p.step(i) for i in range(7)]
    assert COUNTERS.compiles - before == 2
    assert len({id(s.kernel) for s in steps[:6]}) == 1
    assert steps[6].kernel is not steps[0].kernel


LONG = source((1009,))


@pytest.mark.parametrize("fn", [jnp.sin, jnp.max], ids=["map", "fold"])
def test_where_the_kernel_is_long_the_last_tile_overlaps_the_one_before(
    monkeypatch: pytest.MonkeyPatch, fn: Any
):
    plan, program = plan_of(
        call(fn, LONG), Limits(memory=10**6, block=256, forced=True)
    )
    monkeypatch.setattr(module, "LARGE_CODE", 0)
    before = COUNTERS.compiles
    (p,) = Prepared(program, plan).passes
    domains = [p.step(i).jobs[0].domain for i in range(p.p.steps)]
    assert COUNTERS.compiles - before <= 1
    assert {d.size for d in domains} == {64}
    assert [d.intervals for d in domains[-2:]] == [((896, 960),), ((945, 1009),)]


@pytest.mark.parametrize("fn", [jnp.sum, jnp.cumsum], ids=["fold", "scan"])
def test_what_is_added_up_does_not_overlap(monkeypatch: pytest.MonkeyPatch, fn: Any):
    plan, program = plan_of(
        call(fn, LONG), Limits(memory=10**6, block=256, forced=True)
    )
    monkeypatch.setattr(module, "LARGE_CODE", 0)
    (p,) = Prepared(program, plan).passes
    assert not p.p.overlaps
    assert p.step(p.p.steps - 1).jobs[0].domain.size == 1009 - 15 * 64


def test_a_step_is_lowered_once_up_to_a_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "KEEP_STEPS", 2)
    p = ready(lambda x: x + 1, (10, 30))
    assert p.step(1) is p.step(1)
    assert p.step(2) is not p.step(2)
    assert p.step(2).kernel is p.step(1).kernel


def test_a_group_is_all_steps_of_one_kept_tile():
    many = np.zeros((3000, 30), "f4")
    p = ready(lambda x: jnp.sum(x, 0), {3000: 700, 30: 10}, of=many)
    (root,) = p.p.roots
    assert p.p.steps == 5 * 3
    assert p.group_size(root) == 5


@pytest.mark.parametrize("fn", [jnp.sum, jnp.cumsum], ids=["fold", "scan"])
def test_what_a_pass_begins_with_is_not_kept_as_large_as_a_tile(fn: Any):
    many = np.zeros((3000, 3000), "f4")
    p = ready(lambda x: fn(x, 0), (1000, 1000), of=many)
    (start,) = p.initial(0, (1000, 1000))
    assert start.size == 1000
    np.testing.assert_array_equal(start, np.zeros(start.shape))
    assert start.flags.c_contiguous
    assert start.flags.writeable
    assert start.ctypes.data % 64 == 0  # XLA reads it in place
    kept = [a for made in p._initial.values() for a in made]
    assert [a.strides for a in kept] == [(0,) * a.ndim for a in kept]


def test_temporaries_that_are_larger_than_guessed_make_smaller_tiles(
    monkeypatch: pytest.MonkeyPatch,
):

    def greedy(p, low, most_code) -> Kernel:
        """XLA takes ten times the bytes of the tile."""
        kernel = compile_step(p, low)
        return Kernel(kernel.call, 10 * sum(x.box.size * 4 for x in low.loads))

    monkeypatch.setattr(module, "compile_step", greedy)
    plan, program = plan_of(
        call(lambda x: jnp.exp(x) + 1, source((1 << 16,))), Limits(memory=1 << 18)
    )
    fitted = Prepared(program, plan)
    assert fitted.plan.projected <= 1 << 18
    assert fitted.plan.passes[0].tile < plan.passes[0].tile

    monkeypatch.setattr(
        module,
        "compile_step",
        lambda p, low, most_code: Kernel(compile_step(p, low).call, 1 << 19),
    )
    with pytest.raises(MemoryBudgetError, match="XLA's temporaries"):
        Prepared(program, plan)


def test_one_worker_is_tried_where_the_temporaries_of_two_do_not_fit():
    node = call(lambda x: jnp.sum(jnp.nan_to_num(x)), source((5000, 32)))
    plan, program = plan_of(node, Limits(memory=300_000, workers=2))
    fitted = Prepared(program, plan)
    assert (plan.passes[0].workers, fitted.plan.passes[0].workers) == (2, 1)
    assert fitted.plan.passes[0].tile == plan.passes[0].tile
    assert fitted.plan.projected <= 300_000


def test_no_tile_is_compiled_twice_to_make_temporaries_fit(
    monkeypatch: pytest.MonkeyPatch,
):
    """XLA takes little in large tiles, and too much in small ones."""
    tried: list[tuple[Any, ...]] = []

    def fickle(p, low, most_code) -> Kernel:
        tried.append((p.tile, p.workers))
        wide = p.tile[0] > 1 << 11
        return Kernel(compile_step(p, low).call, (1 << 17 if wide else 1 << 20))

    monkeypatch.setattr(module, "compile_step", fickle)
    monkeypatch.setattr(module, "REFITS", 100)
    plan, program = plan_of(
        call(lambda x: jnp.exp(x) + 1, source((1 << 16,))), Limits(memory=1 << 17)
    )
    with pytest.raises(MemoryBudgetError, match="XLA's temporaries"):
        Prepared(program, plan)
    assert len(tried) == len(set(tried)) > 1


def test_a_program_knows_whether_it_calls_back():
    def host(x):
        return jax.pure_callback(lambda a: a, jax.typeof(x), x)

    def inside(x):
        return jax.lax.fori_loop(0, 2, lambda _, y: host(y), x)

    def branch(x):
        return jax.lax.cond(x[0, 0] > 0, lambda y: y, inside, x)

    def named_callback(x):
        return jax.lax.fori_loop(0, 2, lambda _, callback: callback + 1, x)

    limits = Limits(memory=1 << 20)
    calling: list[Any] = [host, inside, branch]
    others: list[Any] = [named_callback, jnp.linalg.qr]
    for fn in (*calling, *others):
        plan, program = plan_of(call(fn, source((8, 4))), limits)
        assert Prepared(program, plan).calls_back == (fn in calling)


def long_program() -> tuple[Any, Any]:
    node: Any = source((1 << 20,))
    for _ in range(20):
        (node,) = call(lambda x: jnp.sin(x) * x, node)
    return plan_of([node], Limits(memory=1 << 23, workers=2))


def test_code_of_which_copies_have_no_room_is_run_by_one_worker():
    plan, program = long_program()
    assert plan.passes[0].workers == 2
    size = Prepared(program, plan).passes[0].step(0).kernel.size
    fitted = Prepared(program, plan, 1.5 * size, strict=True)
    assert fitted.plan.passes[0].workers == 1
    wide = Prepared(program, plan, 2.5 * size, strict=True)
    assert wide.plan.passes[0].workers == 2


def test_code_that_has_no_room_is_compiled_where_no_plan_has_less():
    plan, program = long_program()
    compiled = COUNTERS.compiles
    with pytest.raises(MemoryBudgetError, match="code of a kernel"):
        Prepared(program, plan, 1000, strict=True)
    assert COUNTERS.compiles == compiled
    assert Prepared(program, plan, 1000).plan.passes[0].workers == 1


def test_the_heap_is_trimmed_after_compiling_something_long(
    monkeypatch: pytest.MonkeyPatch,
):
    trims: list[int] = []
    monkeypatch.setattr(heap, "_trim", lambda: trims.append)
    plan, program = long_program()
    Prepared(program, plan)
    assert not trims
    monkeypatch.setattr(kernel_module, "LARGE_CODE", 1)
    plan, program = plan_of(
        call(lambda x: jnp.cos(x) + 3, source((1 << 16,))), Limits(memory=1 << 20)
    )
    Prepared(program, plan)
    assert trims
