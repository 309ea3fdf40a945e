"""Operators, methods and properties, on values and on tracers."""

import operator
from typing import Any

import jax
import jax.numpy as real
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from tests.numpy.samples import assert_equal, disk

I = np.asarray([7, -3, 2], np.int32)  # noqa: E741 (indices)
F = np.asarray([0.5, -2.0, 4.0])

ARITHMETIC = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv,
    operator.mod, operator.eq, operator.ne, operator.lt, operator.le, operator.gt,
    operator.ge,
]  # fmt: skip
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
SECOND = np.asarray([2, 3, 1], np.int32)


@pytest.mark.parametrize("op", ARITHMETIC + BITS, ids=lambda f: f.__name__)
def test_an_operator_works_both_ways_round(op: Any):
    x, y = disk(I), disk(SECOND)
    a, b = real.asarray(I), real.asarray(SECOND)
    assert_equal(op(x, y), op(a, b))
    assert_equal(op(x, SECOND), op(a, b))
    assert_equal(op(SECOND, y), op(b, b))
    assert_equal(op(y, 2), op(b, 2))
    assert_equal(op(2, y), op(2, b))


@pytest.mark.parametrize(
    "op", [operator.neg, operator.pos, operator.invert, abs], ids=lambda f: f.__name__
)
def test_a_unary_operator_is_numpys(op: Any):
    assert_equal(op(disk(I)), op(I))


def test_divmod_and_round():
    q, r = divmod(disk(I), 2)
    assert_equal(q, I // np.int32(2))
    assert_equal(r, I % np.int32(2))
    assert_equal(round(disk(F)), np.round(F))


def test_an_in_place_operator_rebinds_the_name():
    x = y = disk(F)
    x += 1
    x *= 2
    assert_equal(x, (F + 1) * 2)
    assert_equal(y, F)


def test_unknown_operands_are_left_to_python():
    with pytest.raises(TypeError, match="unsupported operand"):
        disk(F) + "text"
    with pytest.raises(TypeError):
        [1, 2] * disk(F)


def test_methods_take_what_jax_arrays_take():
    x = disk(F.reshape(1, 3))
    assert x.reshape(3).shape == x.reshape((3,)).shape == (3,)
    assert x.transpose(1, 0).shape == x.transpose((1, 0)).shape == (3, 1)
    assert_equal(x.astype("int8"), F.reshape(1, 3).astype("int8"))
    assert_equal(x.clip(0, 1), F.reshape(1, 3).clip(0, 1))
    assert_equal(x.squeeze(), F)
    assert_equal(x.flatten(), F)


def test_the_namespace_and_the_device_are_jasks():
    x = disk(F)
    assert x.__array_namespace__(api_version="2025.12") is jnp
    assert x.device == "disk"
    assert x.to_device("disk") is x
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(ValueError, match="must be"):
        x.to_device("gpu")
    with pytest.raises(ValueError, match="must be one of"):
        x.__array_namespace__(api_version="1")
    info = jnp.__array_namespace_info__()
    assert info.devices() == ("disk",)
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes(kind="unsigned integer")) == {
        "uint8", "uint16", "uint32", "uint64",
    }  # fmt: skip


def test_everything_works_on_tracers():
    def f(x: Any, y: Any) -> Any:
        z = (x + y * 2 - 1) / (abs(x) + 1)
        z = z.at[0].set(5.0)[::-1].reshape(1, -1).T
        return jask.materialize(z.sum() + z[-1, 0] + (x @ y) + x.mean() ** 2)

    y = F[::-1].copy()
    z = (F + y * 2 - 1) / (np.abs(F) + 1)
    z[0] = 5.0
    expected = z.sum() + z[0] + F @ y + F.mean() ** 2
    operands = disk(F), disk(y)
    # float64 functions of XLA and NumPy differ in the last bits
    np.testing.assert_allclose(f(*operands), expected, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(f)(*operands), expected, rtol=1e-12)
    grad = jax.grad(f)(*operands)
    assert (grad.shape, grad.dtype) == ((3,), np.float64)


def test_array_api_compat_knows_the_arrays():
    compat = pytest.importorskip("array_api_compat")
    x = disk(F)
    assert compat.is_array_api_obj(x)
    assert compat.array_namespace(x) is jnp
    assert compat.device(x) == "disk"
    assert compat.size(x) == 3
