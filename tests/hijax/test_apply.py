"""`apply`: operands, promotion, laziness and the cache of abstract results."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
from jask.hijax.apply import apply
from jask.trace.graph import Result

F32 = np.float32


def disk(values, dtype=F32):
    return jask.from_numpy(np.asarray(values, dtype))


def value(x):
    return np.asarray(x)


def test_nothing_is_read(monkeypatch):
    def read(*_):
        raise AssertionError("read")

    x = disk([1, 2])
    monkeypatch.setattr(type(x.node.store), "read", read)
    y = apply(jnp.add, x, x, name="add")
    assert (y.shape, y.dtype) == ((2,), F32)
    assert isinstance(y.node, Result)


def test_results_keep_the_structure_of_the_function():
    got = apply(lambda x: {"a": x, "b": (x.sum(), None)}, disk([1, 2]), name="f")
    assert set(got) == {"a", "b"}
    assert got["b"][1] is None
    assert value(got["b"][0]) == 3


def test_operands_may_be_trees_of_any_kind_of_array():
    tree = {"np": np.asarray([1, 2], F32), "jax": jnp.asarray([3, 4], F32)}
    got = apply(
        lambda t, x, s: t["np"] + t["jax"] + x + s, tree, disk([5, 6]), F32(1), name="f"
    )
    np.testing.assert_array_equal(value(got), [10, 13])


@pytest.mark.parametrize("flag", [False, True], ids=["32 bit", "64 bit"])
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int32", "int64", "float32", "float64"]
)
@pytest.mark.parametrize("scalar", [True, 2, 2.5, 1j], ids=repr)
def test_python_scalars_promote_as_in_jax(flag, dtype, scalar):
    a = np.asarray([0, 1], dtype)
    wide = flag or np.dtype(dtype).itemsize == 8
    with jax.numpy_dtype_promotion("standard"), jax.enable_x64(flag):
        got = apply(jnp.multiply, disk(a, dtype), scalar, name="multiply")
        with jax.enable_x64(wide):
            want = jnp.multiply(jnp.asarray(a), scalar)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(value(got), want)


def test_another_scalar_is_the_same_operation():
    x = disk([1, 2])
    first, second = (apply(jnp.multiply, x, s, name="multiply") for s in (2.0, 3.0))
    assert first.node.call.operation == second.node.call.operation
    assert value(second).tolist() == [3, 6]


def test_a_64_bit_operand_stays_so_with_the_flag_off():
    with jax.enable_x64(False):
        big = apply(jnp.add, disk([2**40], "int64"), 1, name="add")
        fine = apply(jnp.add, disk([1], F32), np.asarray([2.0]), name="add")
    assert big.dtype == np.int64
    assert value(big).tolist() == [2**40 + 1]
    assert fine.dtype == F32


def test_x64_can_be_asked_for():
    with jax.enable_x64(False):
        got = apply(lambda x: x.astype("float64"), disk([1]), name="astype", x64=True)
    assert got.dtype == np.float64


def test_an_array_that_changes_later_is_not_seen():
    a = np.ones(3, F32)
    y = apply(jnp.add, disk([0, 0, 0]), a, name="add")
    a[:] = 7
    assert value(y).tolist() == [1, 1, 1]


def test_errors_of_shapes_come_from_jax_at_the_call():
    with pytest.raises(TypeError, match="incompatible shapes"):
        apply(jnp.add, disk([1, 2]), disk([1, 2, 3]), name="add")


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="must be a DiskArray, an array or a number"):
        apply(jnp.add, disk([1]), "text", name="add")


def test_the_same_operation_on_other_arrays_is_traced_once():
    traces = []

    def f(x, *, k):
        traces.append(k)
        return x * k

    for i in range(3):
        apply(f, disk([i]), name="f", static={"k": [1][0]})
    assert traces == [1]
    apply(f, disk([0]), name="f", static={"k": 1.0})
    assert traces == [1, 1.0]
    apply(f, disk([0, 0]), name="f", static={"k": 1})
    assert len(traces) == 3


def test_a_traced_parameter_becomes_an_operand():
    x = disk([1, 2])

    @jax.jit
    def f(w):
        return jask.materialize(apply(jnp.multiply, x, w, name="multiply"))

    np.testing.assert_array_equal(f(F32(3)), [3, 6])
    np.testing.assert_array_equal(f(F32(4)), [4, 8])
