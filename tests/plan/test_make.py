"""Which passes a program takes, and what a plan always keeps."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jask.errors import MemoryBudgetError
from jask.plan import footprint, search
from jask.plan.check import PlanError, check
from jask.plan.ir import Limits
from jask.trace.graph import Source
from tests.plan.programs import call, plan_of, source

MB = 10**6
BIG = Limits(memory=256 * MB)


def logistic(w, x, y):
    return jax.value_and_grad(lambda w: jnp.mean(jnp.logaddexp(0, -(x @ w) * y)))(w)


def standardise(x):
    return (x - jnp.mean(x, 0)) / jnp.std(x, 0)


def perceptron(w1, w2, w3, x, y):
    def loss(*ws):
        h = jnp.tanh(jnp.tanh(x @ ws[0]) @ ws[1])
        return jnp.mean((h @ ws[2] - y) ** 2)

    return jax.value_and_grad(loss, argnums=(0, 1, 2))(w1, w2, w3)


def adam(p, g, m, v):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 0.1 * m / (jnp.sqrt(v) + 1e-8), m, v


N, D = 1 << 22, 64
X, Y = source((N, D)), source((N,))

PLANS: dict[str, tuple[Callable[..., Any], list[Source], int, float]] = {
    # name: function, operands, passes that read a file, reads of the files at most
    "fused sum": (
        lambda x: jnp.sum(jnp.sqrt(x * x + 1) * jnp.sin(x)),
        [source((1 << 28,))],
        1,
        1.0,
    ),
    "mean and variance": (lambda x: (jnp.mean(x, 0), jnp.var(x, 0)), [X], 1, 1.0),
    "standardise": (standardise, [X], 2, 2.0),
    "softmax of short rows": (jax.nn.softmax, [source((1 << 18, 1024))], 1, 1.0),
    "gram": (lambda x: x.T @ x, [X], 1, 1.0),
    "logistic": (logistic, [source((D,)), X, Y], 1, 1.0),
    "adam": (adam, [source((1 << 24,)) for _ in range(4)], 1, 1.0),
    "transpose": (jnp.transpose, [source((1 << 14, 1 << 14))], 1, 1.0),
    "stencil": (
        lambda x: jnp.max(jnp.abs(x[2:] - 2 * x[1:-1] + x[:-2])),
        [source((1 << 28,))],
        1,
        1.01,
    ),
    "cumsum": (lambda x: jnp.cumsum(x, 0), [X], 1, 1.0),
    "x + x.T": (lambda x: x + x.T, [source((1 << 13, 1 << 13))], 1, 2.0),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_known_program_takes_the_fewest_passes(name: str):
    fn, operands, passes, reads = PLANS[name]
    plan, program = plan_of(call(fn, *operands), BIG)
    files = {v for v in program.leaves if v.nbytes > MB}
    reading = [p for p in plan.passes if files & set(p.leaves)]
    assert len(reading) == passes
    once = sum(v.nbytes for v in files)
    assert sum(p.reads for p in plan.passes) <= reads * once * 1.05
    assert plan.projected <= BIG.memory


def test_the_gradients_of_a_perceptron_share_one_pass():
    weights = [source(s) for s in ((D, 32), (32, 16), (16,))]
    plan, program = plan_of(call(perceptron, *weights, X, Y), BIG)
    reading = [p for p in plan.passes if program.leaves[3] in p.leaves]
    assert len(reading) == 1


def test_a_large_product_has_square_tiles_and_one_worker():
    n = 1 << 13
    plan, _ = plan_of(call(jnp.matmul, source((n, n)), source((n, n))), BIG)
    (p,) = plan.passes
    assert p.workers == 1
    assert min(p.tile) >= 512
    # least traffic when two operands and the accumulators share the budget
    bound = 2 * 4 * n**3 / (BIG.memory / 4) ** 0.5
    assert p.reads <= 1.5 * max(bound, 2 * 4 * n * n)


def test_a_long_chain_is_cut_into_several_kernels():
    def chain(x):
        for k in range(600):
            x = jnp.sin(x) + k
        return x

    plan, _ = plan_of(call(chain, source((1 << 20,))), BIG)
    assert len(plan.passes) > 1
    assert max(len(p.equations) for p in plan.passes) <= 600


def test_an_impossible_budget_names_one_that_would_do():
    nodes = call(jnp.fft.fft, source((1 << 22,)))
    with pytest.raises(MemoryBudgetError, match="needs at least") as e:
        plan_of(nodes, Limits(memory=1 * MB))
    plan, _ = plan_of(nodes, Limits(memory=e.value.budget))
    assert plan.projected <= e.value.budget


@pytest.mark.parametrize(
    ("fn", "shape", "said"),
    [
        (jnp.linalg.svd, (2048, 2048), r"computing svd of shape \(2048, 2048\) needs"),
        (
            jnp.linalg.slogdet,
            (2048, 2048),
            r"computing lu of shape \(2048, 2048\) needs",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_the_shape_it_takes(fn, shape, said):
    with pytest.raises(MemoryBudgetError, match=said):
        plan_of(call(fn, source(shape)), Limits(memory=1 * MB))


SMALL: dict[str, tuple[Callable[..., Any], list[Source]]] = {
    "softmax": (jax.nn.softmax, [source((40, 24))]),
    "standardise": (standardise, [source((40, 24))]),
    "logistic": (logistic, [source((24,)), source((40, 24)), source((40,))]),
    "flipped transpose": (lambda x: jnp.flip(x, 0).T + 1, [source((13, 7))]),
    "reshape": (lambda x: x.reshape(6, 35)[::2], [source((7, 30))]),
    "two matmuls": (lambda x: (x @ x.T) @ x, [source((12, 9))]),
}


@pytest.mark.parametrize("block", [64, 300, 4096])
@pytest.mark.parametrize("name", SMALL)
def test_every_plan_writes_each_box_once_and_reads_after_writes(name: str, block: int):
    fn, operands = SMALL[name]
    limits = Limits(memory=MB, block=block, forced=True)
    plan, program = plan_of(call(fn, *operands), limits)
    check(plan, program)


def test_a_plan_without_its_last_pass_is_found_out():
    limits = Limits(memory=MB, block=64, forced=True)
    plan, program = plan_of(call(standardise, source((40, 24))), limits)
    broken = type(plan)(
        passes=plan.passes[:-1], places=plan.places, kept=0, limits=limits
    )
    with pytest.raises(PlanError, match="never written"):
        check(broken, program)


def test_the_parts_of_a_softmax_over_long_rows_are_one_fold():
    plan, program = plan_of(call(jax.nn.softmax, source((8, 1 << 26))), BIG)
    assert [e.name for e in program.equations][:1] == ["logsumexp_parts"]
    assert len(plan.passes) == 2


@pytest.mark.parametrize("workers", [1, 2, 4, 16])
@pytest.mark.parametrize("name", ["transpose", "strided cumsum", "x + x.T"])
def test_a_budget_of_a_fraction_of_the_array_is_enough(name: str, workers: int):
    """Halving a tile of a plan with one step first makes room for one more worker."""
    programs: dict[str, Callable[..., Any]] = {
        "transpose": jnp.transpose,
        "strided cumsum": lambda x: jnp.cumsum(x, 0)[::3],
        "x + x.T": lambda x: x + x.T,
    }
    x = source((1024, 1024))
    limits = Limits(memory=x.nbytes // 4, workers=workers)
    plan, program = plan_of(call(programs[name], x), limits)
    check(plan, program)


def test_one_worker_is_used_where_two_do_not_fit():
    row = source((8, 1 << 16))
    limits = Limits(memory=7 << 18, workers=2)  # of which a worker takes six
    whole = lambda x: jax.lax.top_k(x, row.shape[1])[0]
    plan, program = plan_of(call(whole, row), limits)
    check(plan, program)
    assert plan.passes[0].workers == 1


def test_a_sum_of_few_numbers_made_of_many_is_taken_tile_by_tile():
    n = 625_000  # the sum's operand fits a block, what it is made of does not
    operands = [source((D,)), source((n, D)), source((n,))]
    plan, program = plan_of(call(logistic, *operands), BIG)
    (p,) = [p for p in plan.passes if program.leaves[1] in p.leaves]
    assert p.steps > 10


def test_roots_without_a_common_axis_do_not_share_a_walk():
    """One grid for both would have a step for every pair of their tiles."""
    x = source((1 << 12, 1 << 12))
    rows, flat = call(lambda x: (jnp.sum(x, 1), jnp.cumsum(x)[::2]), x)
    plan, program = plan_of([rows, flat], Limits(memory=16 * MB, block=1 << 18))
    check(plan, program)
    assert sum(p.steps for p in plan.passes) < 4 * x.nbytes // (1 << 18)


def test_the_gradient_of_a_chain_of_products_is_planned_with_few_looks_at_tiles(
    monkeypatch: pytest.MonkeyPatch,
):
    """Of nine seconds, planning it took eight to lower 14000 tiles and neighbours."""
    looks: Counter[str] = Counter()

    def counted(module: Any, name: str) -> None:
        plain = getattr(module, name)

        def count(*operands: Any) -> Any:
            looks[name] += 1
            return plain(*operands)

        monkeypatch.setattr(module, name, count)

    counted(search, "survey")
    counted(footprint, "needed")
    gradient = jax.grad(lambda a, b, c: jnp.sum((a @ b) @ c), argnums=(0, 1, 2))
    nodes = call(gradient, *(source((2003, 2003)) for _ in range(3)))
    plan, _ = plan_of(nodes, Limits(memory=10_000_000))
    assert all(p.memory <= 10_000_000 for p in plan.passes)
    assert 0 < looks["survey"] < 6000
    assert looks["needed"] < looks["survey"]


SIDE = 2003


def product_chain(a: Any, b: Any, c: Any) -> Any:
    return jnp.sum((a @ b) @ c)


@pytest.mark.parametrize("memory", [1, 7, 64, 1000])
def test_a_budget_under_which_a_pass_would_never_end_is_refused(memory: int):
    """One of 64 bytes was accepted: thousands of millions of one-element tiles."""
    squares = [source((SIDE, SIDE)) for _ in range(3)]
    with pytest.raises(MemoryBudgetError) as caught:
        plan_of(call(product_chain, *squares), Limits(memory=memory))
    assert caught.value.budget > memory
    if memory >= 64:  # less is not enough for one element of each operand
        said = re.search(r"would take (\d+) steps", str(caught.value))
        assert said is not None
        # no tile of so many bytes has more products of numbers of 4 bytes
        assert int(said[1]) * (memory / 4 / 3) ** 1.5 >= SIDE**3
        plan, _ = plan_of(
            call(product_chain, *squares), Limits(memory=2 * caught.value.budget)
        )
        assert plan.projected <= 2 * caught.value.budget


def test_a_file_of_a_hundred_terabytes_is_read_in_blocks_of_4_megabytes():
    limits = Limits(memory=100 * MB, block=4 * MB, forced=True)
    plan, _ = plan_of(call(jnp.sum, source((25 * 10**12,))), limits)
    assert 10**14 // (4 * MB) <= plan.passes[0].steps <= 10**14 // (2 * MB)


def test_a_hundred_axes_side_by_side_are_planned():
    def means(x: Any) -> Any:
        return jnp.stack([jnp.mean(x[: 7000 + i], 0) for i in range(100)])

    limits = Limits(memory=40 * MB)
    plan, _ = plan_of(call(means, source((20_000, 3))), limits)
    assert plan.projected <= limits.memory


@pytest.mark.parametrize("memory", [1000, 3000])
def test_small_arrays_do_with_small_budgets(memory: int):
    squares = [source((40, 40)) for _ in range(3)]
    plan, _ = plan_of(call(product_chain, *squares), Limits(memory=memory))
    assert plan.projected <= memory
