"""Tiles of padding are not taken for tiles of what is padded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy
from jask.execute.run import ToFile, prepare
from jask.geometry.box import Box
from jask.hijax.binding import settled
from jask.rules.elsewhere import Elsewhere
from jask.trace.build import build_function
from jask.trace.ir import Equation


def built(function: Any, shape: tuple[int, ...], name: str) -> Equation:
    """Return the last equation of this name in a function of an array."""
    program = build_function(function, [(shape, np.dtype("float32"))])
    return [e for e in program.equations if e.name == name][-1]


def decomposed(x: Any) -> Any:
    return jnp.linalg.cholesky(x + x)


def test_where_padding_is_the_decomposition_beside_it_counts() -> None:
    def padded(x: Any) -> Any:
        return jnp.pad(decomposed(x), ((0, 900), (0, 0), (0, 0)))

    eqn = built(padded, (100, 3, 3), "pad")
    beyond, within = Box((500, 0, 0), (520, 3, 3)), Box((20, 0, 0), (40, 3, 3))
    # of 20 matrices: what is read, what is decomposed, and the factor
    assert Elsewhere().held(eqn, beyond) == 3 * 20 * 9 * 4
    assert Elsewhere().held(eqn, within) == 0


def test_of_a_fused_operand_beside_padding_what_is_read_counts() -> None:
    eqn = built(lambda x: jnp.pad(jnp.sin(x), (0, 900)), (100,), "pad")
    assert Elsewhere().held(eqn, Box((500,), (520,))) == 20 * 4


def many_behind(x: Any) -> Any:
    return jnp.sin(x[:100]) * x[100:200] * x[200:300]


PARTS: dict[str, Callable[[Any], Any]] = {
    "concatenate": lambda x: jnp.concatenate([x, many_behind(x)]),
    "pad": lambda x: jnp.pad(many_behind(x), (0, 900)),
    "scatter": lambda x: x.at[-100:].set(many_behind(x)),
    "dynamic_update_slice": lambda x: jax.lax.dynamic_update_slice(
        x, many_behind(x), (900,)
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_three_parts_of_a_file_that_other_tiles_read_count(name: str) -> None:
    eqn = built(PARTS[name], (1000,), name)
    here = 0 if name == "pad" else 20 * 4
    more = Elsewhere().held(eqn, Box((500,), (520,)))
    assert more == 3 * 20 * 4 - here


def test_three_operands_of_a_stack_lie_side_by_side() -> None:
    def stacked(x: Any) -> Any:
        return jnp.stack([x[:100], many_behind(x), x[100:200]])

    eqn = built(stacked, (1000,), "stack")
    assert Elsewhere().held(eqn, Box((0, 0), (1, 20))) == 2 * 20 * 4
    assert Elsewhere().held(eqn, Box((1, 0), (2, 20))) == 0


@pytest.mark.parametrize("start", [10, 110, 210])
def test_of_joined_operands_the_heaviest_counts_wherever_the_tile_is(
    start: int,
) -> None:
    def joined(x: Any) -> Any:
        return jnp.concatenate([x, decomposed(x), jnp.sin(x)])

    eqn = built(joined, (100, 3, 3), "concatenate")
    more = Elsewhere().held(eqn, Box((start, 0, 0), (start + 20, 3, 3)))
    assert (more > 0) == (start != 110)


def test_operands_as_heavy_as_each_other_do_not_add_up() -> None:
    def joined(x: Any) -> Any:
        return jnp.concatenate([decomposed(x), decomposed(jnp.sin(x))])

    eqn = built(joined, (100, 3, 3), "concatenate")
    assert Elsewhere().held(eqn, Box((10, 0, 0), (30, 3, 3))) == 0


def test_what_looks_at_much_is_stored_by_then() -> None:
    def padded(x: Any) -> Any:
        return jnp.pad(decomposed(x - jnp.mean(x)), ((0, 9000), (0, 0), (0, 0)))

    eqn = built(padded, (1000, 3, 3), "pad")
    assert Elsewhere().held(eqn, Box((5000, 0, 0), (5020, 3, 3))) < 4 * 20 * 9 * 4


def test_no_step_of_a_gradient_through_a_part_takes_more_than_the_plan(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(1_500_000, dtype=np.float32)
    np.save(tmp_path / "x.npy", values)

    def loss(x: Any) -> Any:
        a = jask.numpy.reshape(x[:250_000], (10_000, 5, 5)) + 5 * np.eye(
            5, dtype=np.float32
        )
        b = jask.numpy.reshape(x[:150_000], (10_000, 5, 3))
        return jask.numpy.sum(jask.numpy.sin(jask.numpy.linalg.solve(a, b)))

    with jask.config(memory_budget=2_000_000, workers=2):
        x = jask.open(tmp_path / "x.npy")
        to = [ToFile(tmp_path / "y.npy")]
        prepared = prepare(settled([jax.grad(loss)(x).node]), to)
    passes = [p for p in prepared.passes if not p.p.is_stage]
    # the first steps are of matrices, those in the middle of zeros
    taken = [p.step(i).kernel.temp * p.p.workers for p in passes for i in (0, 1)]
    assert max(taken) <= prepared.plan.projected
