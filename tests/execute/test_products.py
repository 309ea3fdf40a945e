"""Products by BLAS: right whatever the operands, with threads that are given back."""

import threading
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits

from jask.execute.kernel import compile_step
from jask.execute.products import Product, blas_threads, products_of
from jask.plan.blas import FEWEST, NARROWEST
from jask.plan.ir import Pass
from jask.plan.lower import lower
from tests.execute.pieces import Counted, prepared, run_pass, traced

RNG = np.random.default_rng(0)
SIDE, DEPTH = 64, 2 * FEWEST // 64**2

type Array = np.ndarray[Any, Any]


def normal(*shape: int, dtype: str = "float32") -> Array:
    return RNG.normal(size=shape).astype(dtype)


def whole(fn: Callable[..., Any], *arrays: Array) -> Pass:
    """Return the pass of a program in one step."""
    sides = {n: n for a in arrays for n in a.shape}
    return traced(fn, *arrays).tiled(sides)


def product(p: Any) -> Product | None:
    return products_of(p, lower(p, (0,) * len(p.grid))).get(0)


def multiplied(fn: Callable[..., Any], *arrays: Array, workers: int = 1) -> list[Array]:
    """Return the results of a program of products, in two steps of the summed axis."""
    found = traced(fn, *arrays)
    p = found.tiled({DEPTH: DEPTH // 2, SIDE: SIDE, SIDE + 8: SIDE + 8})
    assert product(p) is not None
    by_shape = {(a.shape, a.dtype): Counted(a) for a in arrays}
    sources = {v: by_shape[v.shape, v.dtype] for v in p.leaves}
    return run_pass(prepared(p, workers), sources)[0]


def check(found: Array, left: Array, right: Array) -> None:
    exact = left.astype(np.float64) @ right.astype(np.float64)
    # |error| <= n eps sum |x||y| (Higham, Accuracy and Stability, 3.1); n is an upper
    # bound that blocked sums stay far below
    bound = np.abs(left).astype(np.float64) @ np.abs(right).astype(np.float64)
    assert np.all(np.abs(found - exact) <= 50 * np.finfo(found.dtype).eps * bound)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("right_turned", [False, True])
@pytest.mark.parametrize("left_turned", [False, True])
def test_operands_may_lie_either_way(
    left_turned: bool,
    right_turned: bool,
    dtype: str,
) -> None:
    x, y = normal(SIDE, DEPTH, dtype=dtype), normal(DEPTH, SIDE + 8, dtype=dtype)
    axes = ((0 if left_turned else 1,), (1 if right_turned else 0,))

    def dot(x: Any, y: Any) -> Any:
        return jnp.tensordot(x, y, axes)

    (found,) = multiplied(
        dot,
        np.ascontiguousarray(x.T) if left_turned else x,
        np.ascontiguousarray(y.T) if right_turned else y,
    )
    assert found.dtype == dtype
    check(found, x, y)


@pytest.mark.parametrize("workers", [1, 2])
def test_gram_matrices_are_symmetric(workers: int) -> None:
    x = normal(DEPTH, SIDE)
    (found,) = multiplied(lambda x: x.T @ x, x, workers=workers)
    assert np.array_equal(found, found.T)
    check(found, x.T, x)


@pytest.mark.parametrize("workers", [1, 2])
def test_operands_that_are_computed_are_made_by_xla(workers: int) -> None:
    x, y = normal(DEPTH, SIDE), normal(DEPTH, SIDE + 8)
    found = multiplied(
        lambda x, y: ((x - 1).T @ y, (x * 2).T @ (x * 2), jnp.max(x)),
        *(x, y),
        workers=workers,
    )
    check(found[0], (x - 1).T, y)
    check(found[1], 2 * x.T, 2 * x)
    assert np.array_equal(found[1], found[1].T)
    assert found[2] == x.max()


@pytest.mark.parametrize("shift", [0, 3])
def test_parts_of_one_block_are_multiplied(shift: int) -> None:
    """Neighbouring parts of a file are read as one block."""
    x = normal(DEPTH + shift, SIDE)

    def dot(x: Any) -> Any:
        return (x[shift:] + 1).T @ (x[:DEPTH] + 1), x[shift:].T @ x[:DEPTH]

    found = multiplied(dot, x)
    check(found[0], (x[shift:] + 1).T, x[:DEPTH] + 1)
    check(found[1], x[shift:].T, x[:DEPTH])


@pytest.mark.parametrize("tile", [32, 64, 40])
def test_blocks_off_the_diagonal_are_other_columns(tile: int) -> None:
    x = normal(DEPTH, SIDE)
    p = traced(lambda x: (x + 1).T @ (x + 1), x).tiled({DEPTH: DEPTH // 2, SIDE: tile})
    (leaf,) = p.leaves
    ((found,), _) = run_pass(prepared(p), {leaf: Counted(x)})
    check(found, (x + 1).T, x + 1)


def test_a_part_of_what_is_read_is_not_copied() -> None:
    x = normal(DEPTH, SIDE)
    p = traced(lambda x: x.T @ x, x).tiled({DEPTH: DEPTH, SIDE: SIDE})
    p.tile = tuple(32 if a == 0 else n for a, n in enumerate(p.grid))
    low = lower(p, (0,) * len(p.grid))
    assert len(low.loads) == 1
    assert [r.crop is None for r in low.heads[0].refs if r] == [False, True]
    assert compile_step(p, low).temp == 0
    (leaf,) = p.leaves
    ((found,), _) = run_pass(prepared(p), {leaf: Counted(x)})
    check(found, x.T, x)


def test_an_operand_used_twice_is_made_once() -> None:
    p = whole(lambda x: (x + 1).T @ (x + 1), normal(DEPTH, SIDE))
    found = product(p)
    assert found is not None
    assert found.made == DEPTH * SIDE * 4
    assert compile_step(p, lower(p, (0,) * len(p.grid))).temp >= found.made


def test_small_products_beside_a_large_one_need_no_xla() -> None:
    x, v = normal(DEPTH, SIDE), normal(DEPTH)

    def both(x: Any, v: Any) -> Any:
        return x.T @ x, v @ x, x.T @ v

    p = whole(both, x, v)
    assert set(products_of(p, lower(p, (0,) * len(p.grid)))) == {0, 1, 2}
    for found in multiplied(both, x, v)[1:]:
        check(found, v, x)


@pytest.mark.parametrize(
    ("fn", "left", "right"),
    [
        (jnp.matmul, (NARROWEST - 1, FEWEST), (FEWEST, NARROWEST)),
        (jnp.matmul, (NARROWEST, 64), (64, 64)),
        (jnp.matmul, (2, 64, 1024), (2, 1024, 64)),
        (lambda x, y: jnp.tensordot(x, y, 2), (64, 32, 32), (32, 32, 64)),
    ],
    ids=["thin", "small", "stack", "two summed axes"],
)
def test_other_products_are_left_to_xla(
    fn: Callable[..., Any], left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    p = whole(fn, np.zeros(left, "f4"), np.zeros(right, "f4"))
    assert product(p) is None


@pytest.mark.parametrize("dtype", ["float16", "int32", "complex64"])
def test_other_types_are_left_to_xla(dtype: str) -> None:
    x = np.zeros((DEPTH, SIDE), dtype)
    assert product(whole(lambda x: x.T @ x, x)) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("workers", [1, 2])
def test_nan_and_infinity_come_through_without_a_warning(
    workers: int, dtype: str
) -> None:
    x, y = np.ones((DEPTH, SIDE), dtype), np.ones((DEPTH, SIDE + 8), dtype)
    x[-1, 3], x[7, 40], x[-1, 40] = np.nan, np.inf, -np.inf
    x[5, 9] = y[5, 9] = np.finfo(dtype).max / 2
    with np.errstate(all="raise"):
        (found,) = multiplied(lambda x, y: x.T @ y, x, y, workers=workers)
    with np.errstate(all="ignore"):
        assert np.array_equal(found, (x.T @ y), equal_nan=True)
    assert np.isinf(found[9, 9])
    assert np.isnan(found[40]).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_product_with_a_vector_may_be_added_in_place(side: str) -> None:
    """As it is where it takes more than `ROOM` bytes."""
    x, v = normal(8, 20, dtype="float64"), normal(8, dtype="float64")
    left = side == "left"
    operands, turned = ((v, x), (False, False)) if left else ((x, v), (True, False))
    made = Product((None, None), turned, (20, 8), x.dtype, same=False, made=0)
    total = np.zeros(20)
    made.add(operands, total, np.empty(0))
    check(total, v[None], x)


# ---- threads


def threads() -> set[int]:
    return {i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _no_thread_holds_the_limits() -> None:
    """Another test's thread may be the one that set them last, and live still."""
    OpenBLASController.clear_controlling_thread(force=True)


@pytest.fixture
def three_threads() -> Any:
    with threadpool_limits(3, "blas"):
        yield


def gram(workers: int) -> Any:
    p = whole(lambda x: x.T @ x, np.zeros((DEPTH, SIDE), "f4"))
    p.workers = workers
    return p


@pytest.mark.usefixtures("three_threads")
def test_blas_has_one_thread_while_several_workers_run() -> None:
    assert threads() == {3}
    with blas_threads(gram(2)):
        assert threads() == {1}
    assert threads() == {3}


@pytest.mark.usefixtures("three_threads")
def test_the_threads_are_given_back_when_a_pass_fails() -> None:
    with pytest.raises(OSError, match="disk"), blas_threads(gram(2)):
        raise OSError("disk")
    assert threads() == {3}


@pytest.mark.usefixtures("three_threads")
def test_a_pass_without_products_leaves_the_threads_alone() -> None:
    p = whole(jnp.sin, np.zeros(8, "f4"))
    with blas_threads(p):
        assert threads() == {3}


def test_passes_of_other_threads_give_the_threads_back() -> None:
    def enter() -> None:
        for _ in range(50):
            with blas_threads(p):
                seen.append(threads())

    p, seen, before = gram(2), list[set[int]](), threads()
    for _ in range(2):
        other = threading.Thread(target=enter)
        other.start()
        other.join()
    assert seen == [{1}] * 100
    assert threads() == before


def test_passes_that_overlap_give_the_threads_back() -> None:
    """The second one begins with the limit of the first."""

    def first() -> None:
        with blas_threads(gram(2)):
            began.set()
            overlap.wait()

    def second() -> None:
        began.wait()
        with blas_threads(gram(2)):
            overlap.set()
            others[0].join()

    began, overlap, before = threading.Event(), threading.Event(), threads()
    others = [threading.Thread(target=f) for f in (first, second)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert threads() == before
    with threadpool_limits(3, "blas"):  # by this thread, which may
        assert threads() == {3}


@pytest.mark.usefixtures("three_threads")
def test_limits_of_another_thread_stay() -> None:
    def enter() -> None:
        with blas_threads(gram(2)):
            seen.append(threads())

    seen = list[set[int]]()
    other = threading.Thread(target=enter)
    other.start()
    other.join()
    assert seen == [{3}]
    assert threads() == {3}
