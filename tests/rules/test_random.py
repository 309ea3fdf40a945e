"""Rules of random bits: a block has the bits of that block of the whole array."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from jask._jax import primitives
from jask._primitives import keyed_gamma
from jask.geometry.box import Box
from jask.rules._table import RULES
from jask.trace.ir import Equation, Var
from jask.trace.keys import numbers_of
from tests.rules.helpers import boxes, check_map, emit, equation, numbers, shapes


def positions(shape: tuple[int, ...]) -> Equation:
    """Return the equation that numbers the elements of an array."""
    eqn = Equation(None, "iota_2x32_shape", {"shape": shape}, ())
    word = np.dtype(np.uint32)
    eqn.outputs = tuple(Var(shape, word, eqn, i) for i in range(2))
    return eqn


def expected(shape: tuple[int, ...], box: Box) -> tuple[Any, Any]:
    """Return the two words of each element's number, by NumPy."""
    axes = [np.arange(a, b, dtype=np.uint64) for a, b in box.intervals]
    number = np.zeros(box.shape, np.uint64)
    for axis, values in enumerate(axes):
        stride = np.prod(shape[axis + 1 :], dtype=np.uint64)
        number += (values * stride).reshape([-1] + [1] * (len(shape) - axis - 1))
    low = number & np.uint64(0xFFFFFFFF)
    return (number >> np.uint64(32)).astype(np.uint32), low.astype(np.uint32)


@settings(max_examples=15)
@given(data=st.data(), shape=shapes(1, 3))
def test_a_block_of_positions_counts_from_its_first_element(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    box = data.draw(boxes(shape))
    for got, want in zip(
        emit(positions(shape), box, []), expected(shape, box), strict=True
    ):
        np.testing.assert_array_equal(got, want, strict=True)


def test_positions_beyond_32_bits_have_a_high_word() -> None:
    shape = (5_000, 3_000_000)
    box = Box((1_430, 1_967_294), (1_433, 1_967_299))  # around 2**32
    high, low = emit(positions(shape), box, [])
    wanted = expected(shape, box)
    assert set(wanted[0].ravel().tolist()) == {0, 1}
    np.testing.assert_array_equal(high, wanted[0], strict=True)
    np.testing.assert_array_equal(low, wanted[1], strict=True)


def test_tiles_of_positions_share_a_kernel() -> None:
    eqn = positions((100, 7))
    needs = [
        RULES[eqn.name].need(eqn, Box((a, 0), (a + 10, 7))) for a in range(0, 100, 10)
    ]
    assert len({(n.key, len(n.offsets)) for n in needs}) == 1


@settings(max_examples=15)
@given(data=st.data(), shape=shapes(1, 3))
def test_threefry_has_the_bits_of_jax_for_keys_that_broadcast(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    thin = tuple(data.draw(st.sampled_from([1, n])) for n in shape)
    thin = data.draw(st.sampled_from([(), thin]))
    parts = [
        numbers(thin, np.uint32),
        numbers(thin, np.uint32, seed=1) * np.uint32(700_000_001),
        numbers(shape, np.uint32, seed=2) * np.uint32(600_000_001),
        numbers(shape, np.uint32, seed=3),
    ]
    eqn = equation(primitives.threefry2x32_p.bind, *parts)
    check_map(eqn, data.draw(boxes(shape)), *parts)


def gammas(keys: Any, a: Any, *, log_space: bool) -> Equation:
    """Return the equation that draws from gamma distributions."""
    params = {"log_space": log_space, "generator": "threefry2x32"}
    inputs = (Var(keys.shape, keys.dtype, index=0), Var(a.shape, a.dtype, index=1))
    eqn = Equation(keyed_gamma, "keyed_gamma", params, inputs)
    eqn.outputs = (Var(a.shape, a.dtype, eqn, 0),)
    return eqn


@pytest.mark.parametrize("log_space", [False, True])
def test_a_block_of_gamma_draws_is_that_of_jax(*, log_space: bool) -> None:
    key, a = jax.random.key(3), np.linspace(0.3, 4, 20, dtype=np.float32).reshape(4, 5)
    keys = np.asarray(numbers_of(jax.random.split(key, (4, 5))))
    eqn = gammas(keys, a, log_space=log_space)
    draw = jax.random.loggamma if log_space else jax.random.gamma
    (got,) = emit(eqn, Box((1, 2), (3, 5)), [keys, a])
    with jax.enable_x64(False):
        want = np.asarray(draw(key, a, dtype=np.float32))[1:3, 2:5]
    # rounding differs by how XLA fuses: a few units in the last place
    np.testing.assert_allclose(got, want, rtol=3e-6)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="accelerators draw at once")
def test_gamma_draws_take_no_temporaries_of_their_number() -> None:
    keys = jax.ShapeDtypeStruct((1 << 16, 2), np.uint32)
    a = jax.ShapeDtypeStruct((1 << 16,), np.float32)
    eqn = gammas(keys, a, log_space=False)
    rule, box = RULES["keyed_gamma"], Box.whole(a.shape)
    need = rule.need(eqn, box)
    draw = jax.jit(lambda *blocks: rule.emit(eqn, box.shape, need, [], blocks))
    with jax.enable_x64(True):
        analysis = draw.lower(keys, a).compile().memory_analysis()
    assert analysis is not None
    assert analysis.temp_size_in_bytes < a.size  # all at once: 144 for each
