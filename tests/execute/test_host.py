"""What NumPy does in XLA's place has XLA's bits."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from jax import lax

from jask.execute.host import is_exact, run_exactly
from tests.rules.helpers import equation, operands, whole

type Function = Callable[..., Any]

ODD = np.resize(np.array([1e-40, -0.0, np.nan, np.inf, -3.5], "f4"), (3, 4))
"""With a subnormal number: XLA's arithmetic flushes it to zero, moving must not."""

ONE = np.asarray(1e-40, "f4")


def check(fn: Function, *arrays: Any) -> None:
    eqn = equation(fn, *arrays)
    assert is_exact(eqn), eqn
    found = run_exactly(eqn, operands(eqn, arrays))
    for value, want, var in zip(found, whole(eqn, arrays), eqn.outputs, strict=True):
        assert (value.shape, value.dtype) == (var.shape, var.dtype)
        assert np.array(value, order="C").tobytes() == want.tobytes(), (value, want)


MOVES: dict[str, tuple[Function, np.ndarray]] = {
    "reshape": (lambda x: lax.reshape(x, (2, 6)), ODD),
    "reshape in another order": (lambda x: lax.reshape(x, (2, 6), (1, 0)), ODD),
    "reshape of a scalar": (lambda x: lax.reshape(x, (1, 1)), ONE),
    "squeeze": (lambda x: lax.squeeze(x, (1,)), ODD[:, :1]),
    "transpose": (lambda x: lax.transpose(x, (1, 0)), ODD),
    "broadcast": (lambda x: lax.broadcast_in_dim(x, (2, 3, 4), (1, 2)), ODD),
    "broadcast of a row": (lambda x: lax.broadcast_in_dim(x, (3, 4), (0, 1)), ODD[:1]),
    "broadcast of a scalar": (lambda x: lax.broadcast_in_dim(x, (2, 3), ()), ONE),
    "slice": (lambda x: lax.slice(x, (0, 1), (3, 4), (2, 1)), ODD),
    "slice without strides": (lambda x: lax.slice(x, (0, 1), (3, 4)), ODD),
    "rev": (lambda x: lax.rev(x, (1,)), ODD),
    "concatenate": (lambda x: lax.concatenate([x, x], 1), ODD),
    "stack": (lambda x: jnp.stack([x, x], 1), ODD),
    "unstack": (lambda x: jnp.unstack(x, axis=1), ODD),
    "tile": (lambda x: jnp.tile(x, (2, 3)), ODD),
    "slice pushed inside": (lambda x: lax.dynamic_slice(x, (-1, 3), (2, 2)), ODD),
}


@pytest.mark.parametrize("name", MOVES)
def test_moves_copy_the_bits(name: str) -> None:
    check(*MOVES[name])


@pytest.mark.parametrize("start", [-2, 0, 1, 9])
def test_an_update_is_pushed_inside(start: int) -> None:
    check(
        lambda x, u, i: lax.dynamic_update_slice(
            x, u, (i, i), allow_negative_indices=False
        ),
        ODD,
        ODD[:1, 1:3],
        np.int32(start),
    )


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", "float32", "bfloat16"])
def test_counting_is_converted_as_by_xla(dtype: str) -> None:
    check(lambda: lax.broadcasted_iota(jnp.dtype(dtype), (2, 300), 1))


@settings(max_examples=15)
@given(data=st.data(), n=st.integers(0, 5))
def test_padding_and_cropping_are_those_of_xla(data: st.DataObject, n: int) -> None:
    low, high = data.draw(st.integers(-6, 6)), data.draw(st.integers(-6, 6))
    between = data.draw(st.integers(0, 2))
    assume(low + high + n + between * max(n - 1, 0) >= 0)
    config = [(low, high, between), (0, 1, 0)]
    x = np.arange(2 * n, dtype="f4").reshape(n, 2)
    check(lambda x, v: lax.pad(x, v, config), x, np.float32(-1))


def numbers(
    windows: tuple[int, ...],
    dropped: tuple[int, ...],
    axes: tuple[int, ...],
    **more: Any,
) -> lax.GatherDimensionNumbers:
    return lax.GatherDimensionNumbers(windows, dropped, axes, **more)


PICKS: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {
    "rows": (numbers((1,), (0,), (0,)), (1, 4), (5, 1)),
    "columns, in front": (numbers((0,), (1,), (1,)), (3, 1), (5, 1)),
    "elements": (numbers((), (0, 1), (1, 0)), (1, 1), (2, 3, 2)),
    "windows": (numbers((1, 2), (), (0, 1)), (2, 3), (4, 2)),
    "windows around": (numbers((0, 2), (), (1, 0)), (2, 3), (4, 2)),
    "one row per batch": (
        numbers(
            (), (1,), (1,), operand_batching_dims=(0,), start_indices_batching_dims=(1,)
        ),
        (1, 1),
        (2, 3, 1),
    ),
}


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("name", PICKS)
def test_elements_are_picked_as_by_xla(name: str, mode: str) -> None:
    places, sizes, shape = PICKS[name]
    low, high = (0, 2) if mode == "promise_in_bounds" else (-3, 7)
    indices = np.random.default_rng(0).integers(low, high, shape, "i4")
    for x in (ODD, ODD.astype("c8"), np.arange(12, dtype="i2").reshape(3, 4), ODD > 0):
        check(lambda x, i: lax.gather(x, i, places, sizes, mode=mode), x, indices)


def test_what_is_missing_is_filled_in_as_given() -> None:
    places, sizes, _ = PICKS["rows"]
    check(
        lambda x, i: lax.gather(x, i, places, sizes, mode="fill", fill_value=-1.5),
        ODD,
        np.array([[9], [1], [-1]]),
    )


REDUCTIONS: dict[str, Function] = {
    "sum": lax.reduce_sum,
    "product": lax.reduce_prod,
    "maximum": lax.reduce_max,
    "minimum": lax.reduce_min,
    "and": lax.reduce_and,
    "or": lax.reduce_or,
    "xor": lax.reduce_xor,
}


@pytest.mark.parametrize("dtype", ["int8", "uint64", "bool"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_integers_and_booleans_are_reduced_alike(name: str, dtype: str) -> None:
    if dtype == "bool" and name in {"sum", "product"}:
        pytest.skip("JAX does not add booleans")
    values = np.random.default_rng(0).integers(0, 2**63, (3, 2, 4), "u8").astype(dtype)
    check(lambda x: REDUCTIONS[name](x, (0, 2)), values)
    check(lambda x: REDUCTIONS[name](x, (0,)), values[:0])


@pytest.mark.parametrize("name", ["sum", "product", "maximum", "minimum"])
def test_reductions_of_floats_are_left_to_xla(name: str) -> None:
    assert not is_exact(equation(lambda x: REDUCTIONS[name](x, (0,)), ODD))


def test_arithmetic_is_left_to_xla() -> None:
    """A comparison is not exact either: to XLA a subnormal number is zero."""
    (flushed,) = whole(equation(lambda x: x == 0, ONE), [ONE])
    assert flushed
    assert ONE != 0
    assert not is_exact(equation(lambda x: lax.eq(x, x), ODD))
