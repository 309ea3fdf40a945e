"""Evaluation: what is reused, what is held, what is left behind."""

import errno
import gc
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
from jask.config import current
from jask.errors import (
    JaskError,
    MemoryBudgetError,
    ScratchFullError,
    SourceChangedError,
)
from jask.execute import heap, run
from jask.execute.kernel import QUICK_BELOW
from jask.execute.ledger import LEDGER
from jask.execute.run import InMemory, ToFile, ToScratch, _enough, evaluate
from jask.geometry.box import Box
from jask.stores.open import open_store
from jask.stores.raw import RawStore
from jask.stores.scratch import scratch_in_use
from jask.testing.stores import FailingStore
from jask.trace.counters import COUNTERS
from jask.trace.graph import Node, Source
from tests.plan.programs import call


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((300, 40)).astype("f4")


def disk(folder: Path, array: np.ndarray, name: str = "x.npy") -> Source:
    np.save(folder / name, array)
    store = open_store(folder / name).store
    return Source(store.shape, store.dtype, store)


def standardise(x):
    return (x - jnp.mean(x, 0)) / jnp.std(x, 0)


def total(x):
    return jnp.sum(jnp.sqrt(x * x + 1) * jnp.sin(x))


def test_a_second_file_of_the_same_shape_compiles_nothing(
    tmp_path: Path, x: np.ndarray
):
    with jask.config(block_bytes=1000):
        evaluate(call(standardise, disk(tmp_path, x)), [InMemory()])
        before = COUNTERS.snapshot()
        (out,) = evaluate(
            call(standardise, disk(tmp_path, 2 * x, "y.npy")), [InMemory()]
        )
        after = COUNTERS.snapshot()
    for stage in ("traces", "plans", "compiles"):
        assert after[stage] == before[stage], stage
    # float32 sums, added up in another order
    np.testing.assert_allclose(out, standardise(2 * x), rtol=1e-4, atol=1e-5)


def test_a_changed_source_is_an_error_at_the_next_read(tmp_path: Path, x: np.ndarray):
    node = disk(tmp_path, x)
    np.save(tmp_path / "x.npy", np.zeros((3, 3)))
    with pytest.raises(SourceChangedError, match=r"x\.npy"):
        evaluate(call(total, node), [InMemory()])


def test_results_have_the_same_bits_on_every_run(tmp_path: Path, x: np.ndarray):
    node = disk(tmp_path, x)
    with jask.config(block_bytes=500, workers=3):
        runs = [evaluate(call(total, node), [InMemory()])[0] for _ in range(8)]
    assert len({r.tobytes() for r in runs}) == 1


def test_saving_over_the_source_gives_the_right_file(tmp_path: Path, x: np.ndarray):
    node = disk(tmp_path, x)
    with jask.config(block_bytes=1000):
        evaluate(call(jnp.transpose, node), [ToFile(tmp_path / "x.npy")])
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x.T)


def test_a_scratch_result_can_be_read_back(tmp_path: Path, x: np.ndarray):
    (store,) = evaluate(call(jnp.transpose, disk(tmp_path, x)), [ToScratch()])
    block = np.empty((5, 300), "f4")
    store.read(Box((2, 0), (7, 300)), block)
    np.testing.assert_array_equal(block, x.T[2:7])


def failing(folder: Path, x: np.ndarray, after: int) -> Node:
    """A file whose reads fail with ENOSPC after some blocks."""
    inner = disk(folder, x).store
    store = FailingStore(inner, OSError(errno.EIO, "broken"), reads=after)  # type: ignore[arg-type]
    return Source(inner.shape, inner.dtype, store)


def test_a_failing_read_leaves_nothing_behind(tmp_path: Path, x: np.ndarray):
    node = failing(tmp_path, x, after=3)
    held, scratch = LEDGER.held, scratch_in_use()
    with jask.config(block_bytes=1000), pytest.raises(OSError, match="broken"):
        evaluate(call(standardise, node), [ToFile(tmp_path / "out.npy")])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.npy"]
    assert (LEDGER.held, scratch_in_use()) == (held, scratch)


def test_a_result_over_the_budget_names_the_remedies(tmp_path: Path, x: np.ndarray):
    with (
        jask.config(memory_budget=10_000),
        pytest.raises(MemoryBudgetError, match=r"48000 bytes.*jask\.save"),
    ):
        evaluate(call(jnp.sin, disk(tmp_path, x)), [InMemory()])


def test_a_full_scratch_limit_is_named_and_cleaned_up(tmp_path: Path, x: np.ndarray):
    node = disk(tmp_path, x)
    before = scratch_in_use()
    with jask.config(scratch_limit=1000), pytest.raises(ScratchFullError, match="1000"):
        evaluate(call(jnp.sin, node), [ToScratch()])
    assert scratch_in_use() == before


def test_evaluations_on_many_threads_agree(tmp_path: Path, x: np.ndarray):
    node = disk(tmp_path, x)
    results: list[float] = []

    def work() -> None:
        with jask.config(block_bytes=2000):
            results.append(float(evaluate(call(total, node), [InMemory()])[0]))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert len(results) == 8
    assert len(set(results)) == 1


def test_every_error_of_ours_has_one_base():
    assert issubclass(MemoryBudgetError, JaskError)
    assert issubclass(MemoryBudgetError, MemoryError)


def test_a_cached_small_evaluation_uses_the_plan_it_has(tmp_path: Path, x: np.ndarray):
    node = disk(tmp_path, x)
    first = evaluate(call(total, node), [InMemory()])[0]
    plans = COUNTERS.plans
    again = evaluate(call(total, node), [InMemory()])[0]
    assert COUNTERS.plans == plans
    assert first.tobytes() == again.tobytes()
    # float32 sums, added up in another order
    np.testing.assert_allclose(first, jax.jit(total)(x), rtol=1e-5)


def test_a_plan_whose_temporaries_do_not_fit_is_made_again(tmp_path: Path):
    """Locally, XLA holds copies of the array that the budget has no room for."""
    x = np.random.default_rng(0).standard_normal((64, 128)).astype("f4")

    def places(x):
        r = jnp.round(x)
        return jnp.argmax(r), jnp.argmin(r, 0), jnp.argmax(r, 1)

    wanted = call(places, disk(tmp_path, x))
    with jask.config(memory_budget=x.nbytes + 7_000):
        found = evaluate(wanted, [InMemory()] * 3)
    with jax.enable_x64(True):
        for a, b in zip(found, places(jnp.asarray(x)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_source_changed_while_it_is_read_gives_no_result(
    tmp_path: Path, x: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    source = disk(tmp_path, x)
    fetch = RawStore._fetch

    def fetch_and_change(*args: Any) -> None:
        fetch(*args)
        os.utime(tmp_path / "x.npy", ns=(1, 1))

    monkeypatch.setattr(RawStore, "_fetch", fetch_and_change)
    with pytest.raises(SourceChangedError, match="written to"):
        evaluate(call(standardise, source), [ToFile(tmp_path / "y.npy")])
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


GREEDY = {
    "sum": jnp.sum,
    "sort": lambda x: jnp.sort(x.ravel())[-3:],
    "sort and sum": lambda x: jnp.sum(jnp.sort(x, 1) * x),
    "product": lambda x: jnp.sum(x @ x.T),
    "softmax": lambda x: jnp.max(jax.nn.softmax(x)),
    "everything": lambda x: x.astype("float64") + 1,
    "opaque": lambda x: jnp.linalg.qr(x)[1],
}


def needing(least: float) -> Callable[[int], None]:
    """Plans that need a budget, and guess badly how much."""

    def make(budget: int) -> None:
        if budget < least:
            raise MemoryBudgetError("too small", budget + 1)

    return make


@pytest.mark.parametrize("least", [2, 999, 123_456, 10**9])
@pytest.mark.parametrize("first", [0, 1, 500, 10**6])
def test_a_named_budget_is_close_to_the_least(first: int, least: int):
    failed = min(1000, least - 1)
    budget = _enough(first, needing(least), failed)
    assert budget is not None
    assert least <= budget
    assert budget <= max(1.35 * least, max(first, failed + 1) / 8)


def test_no_budget_is_named_where_none_was_found():
    assert _enough(10, needing(float("inf")), 1) is None


@pytest.mark.parametrize("name", GREEDY)
def test_the_budget_that_an_error_names_would_do(tmp_path: Path, name: str):
    x = np.random.default_rng(0).standard_normal((7, 5)).astype("f4")
    nodes = call(GREEDY[name], disk(tmp_path, x))
    with jask.config(memory_budget=1), pytest.raises(MemoryBudgetError) as caught:
        evaluate(nodes, [InMemory()])
    budget = int(str(caught.value).split("jask.set_memory_budget(")[1].split(")")[0])
    assert caught.value.budget == budget
    with jask.config(memory_budget=budget):
        (found,) = evaluate(nodes, [InMemory()])
    right = GREEDY[name](jnp.asarray(x))
    # float32 sums, added up in another order
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


def test_a_budget_of_a_few_bytes_for_a_large_product_is_refused_with_one_that_does(
    tmp_path: Path,
):
    """It was accepted, and each of millions of steps made one element."""
    x = np.random.default_rng(0).standard_normal((300, 300)).astype("f4")
    product = call(lambda a: jnp.sum(a @ a), disk(tmp_path, x))
    refused = pytest.raises(MemoryBudgetError, match=r"would take \d+ steps")
    with jask.config(memory_budget=64), refused as caught:
        evaluate(product, [InMemory()])
    assert caught.value.budget is not None
    with jask.config(memory_budget=caught.value.budget):
        (found,) = evaluate(product, [InMemory()])
    # float32 sums of 27 million products, added up in another order
    np.testing.assert_allclose(found, np.sum(np.float64(x) @ x), rtol=1e-3)


def test_a_callback_within_a_kernel_that_is_kept_sees_the_settings_of_each_call(
    tmp_path: Path,
):
    seen: list[tuple[Any, bool | None]] = []

    def called(value: Any) -> Any:
        seen.append((current().scratch_dir, current().durable))
        return np.asarray(value)

    def total(x: jask.DiskArray) -> Any:
        inside = jask.lift(lambda a: jax.pure_callback(called, jax.typeof(a), a))
        return jask.materialize(jask.numpy.sum(inside(x)))

    x = jask.from_numpy(np.ones(5000, "f4"))
    with jask.config(scratch_dir=tmp_path, durable=False):
        total(x)
    with jask.config(durable=False):
        assert total(x) == 5000
    total(x)
    thread = threading.Thread(target=lambda: total(x))
    thread.start()
    thread.join()
    default = current()
    rest = (default.scratch_dir, default.durable)
    assert seen == [(tmp_path, False), (default.scratch_dir, False), rest, rest]


@pytest.fixture
def no_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_plans", OrderedDict())


def powers(source: Source, count: int) -> list[Node]:
    """Return that many programs, which share no kernel."""
    made = [call(lambda v, k=k: jnp.sum(v * k), source) for k in range(2, 2 + count)]
    return [node for (node,) in made]


@pytest.mark.usefixtures("no_plans")
def test_a_plan_that_is_dropped_frees_its_executables(tmp_path: Path):
    rows = QUICK_BELOW // 8 + 1  # JAX itself keeps only what is compiled as usual
    large = disk(tmp_path, np.ones((rows, 8), "f4"))
    evaluate(powers(large, 1), [InMemory()])
    (prepared,) = run._plans.values()
    kernels = [k for p in prepared.passes for k, _ in p._kernels.values()]
    calls: list[Any] = [k.call for k in kernels]
    executables = [weakref.ref(call._executable) for call in calls]
    assert executables
    run._plans.clear()
    del prepared, kernels, calls
    gc.collect()
    assert [r() for r in executables] == [None] * len(executables)


@pytest.mark.usefixtures("no_plans")
def test_kept_plans_take_a_bounded_number_of_bytes(
    tmp_path: Path, x: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    nodes = powers(disk(tmp_path, x), 6)
    monkeypatch.setattr(run, "CODE_SHARE", 1 << 60)
    evaluate(nodes[:1], [InMemory()])
    (first,) = run._plans.values()
    each = first.nbytes(set())
    assert 50_000 < each < 2_000_000
    monkeypatch.setattr(run, "KEEP_CODE", int(3.5 * each))
    for node in nodes[1:]:
        evaluate([node], [InMemory()])
    assert len(run._plans) == 3
    assert first not in run._plans.values()


@pytest.mark.usefixtures("no_plans")
def test_a_plan_larger_than_what_may_be_kept_is_kept_until_the_next(
    tmp_path: Path, x: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run, "CODE_SHARE", 1 << 60)
    monkeypatch.setattr(run, "KEEP_CODE", 1)
    for node in powers(disk(tmp_path, x), 3):
        evaluate([node], [InMemory()])
        before = COUNTERS.snapshot()
        evaluate([node], [InMemory()])
        assert COUNTERS.snapshot()["plans"] == before["plans"]
        assert len(run._plans) == 1


@pytest.mark.usefixtures("no_plans")
def test_kernels_that_plans_share_count_once(tmp_path: Path, x: np.ndarray):
    (node,) = powers(disk(tmp_path, x), 1)
    evaluate([node], [InMemory()])
    (prepared,) = run._plans.values()
    counted: set[int] = set()
    assert prepared.nbytes(counted) > 10 * prepared.nbytes(counted)


def test_what_compiling_leaves_behind_is_given_back_before_the_first_step(
    tmp_path: Path, x: np.ndarray, monkeypatch: pytest.MonkeyPatch
):
    size, events = [0], []
    fit, start = run._fit, run._run

    def trim(_: int) -> None:
        events.append("trim")
        size[0] = 0

    def compiling(*args: Any, **kwargs: Any) -> Any:
        found = fit(*args, **kwargs)
        size[0] += 2 * heap.KEPT
        return found

    def running(*args: Any) -> None:
        events.append("run")
        start(*args)

    monkeypatch.setattr(heap, "anonymous_bytes", lambda: size[0])
    monkeypatch.setattr(heap, "_trim", lambda: trim)
    monkeypatch.setattr(heap.HeapGuard, "floor", inf)
    monkeypatch.setattr(run, "_fit", compiling)
    monkeypatch.setattr(run, "_run", running)
    evaluate(call(lambda x: jnp.sin(x) - 7, disk(tmp_path, x)), [ToScratch()])
    assert events == ["trim", "run"]


@pytest.mark.usefixtures("no_plans")
@pytest.mark.parametrize(
    ("code", "again"), [(run.KEEP_CODE, False), (1, True)], ids=["fit", "do not"]
)
def test_kernels_that_do_not_fit_are_dropped_when_their_pass_has_run(
    tmp_path: Path,
    x: np.ndarray,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    *,
    again: bool,
):
    monkeypatch.setattr(run, "CODE_SHARE", 1 << 60)
    monkeypatch.setattr(run, "KEEP_CODE", code)
    nodes = call(lambda v: jnp.sum(v - jnp.max(v)), disk(tmp_path, x))
    with jask.config(memory_budget=100_000):
        evaluate(nodes, [InMemory()])
        before = COUNTERS.snapshot()
        (found,) = evaluate(nodes, [InMemory()])
    after = COUNTERS.snapshot()
    assert after["plans"] == before["plans"]
    assert (after["compiles"] > before["compiles"]) == again
    assert found == pytest.approx(np.sum(x - x.max(), dtype="f8"), rel=1e-5)  # float32
    (prepared,) = run._plans.values()
    assert any(p._kernels for p in prepared.passes) != again


def test_code_beyond_what_is_kept_in_any_case_is_set_aside_from_the_budget(
    tmp_path: Path, x: np.ndarray
):
    nodes = powers(disk(tmp_path, x), 1)
    for budget in (10**8, 10**10):
        with jask.config(memory_budget=budget):
            plan = run.prepare(nodes, [InMemory()]).plan
        kept = max(run.KEEP_CODE, budget // run.CODE_SHARE)
        assert plan.limits.memory + kept == budget + run.KEEP_CODE


def test_a_refusal_does_not_take_long_to_name_a_budget(monkeypatch: pytest.MonkeyPatch):
    seconds = iter(range(1000))
    monkeypatch.setattr(run, "thread_time", lambda: next(seconds))
    tried: list[int] = []

    def make(budget: int) -> None:
        tried.append(budget)
        needing(10**9)(budget)

    budget = _enough(65, make, 64)
    assert budget is not None
    assert budget >= 10**9
    assert len(tried) <= 6
