"""The type: what it says, and what is attached to it."""

import jax
import ml_dtypes
import numpy as np
import pytest

import jask
from jask.hijax import type as hitype
from jask.hijax.apply import apply
from jask.hijax.type import DiskArrayType

X = jask.from_numpy(np.arange(6, dtype="float32").reshape(2, 3))


def test_the_type_is_shape_and_dtype_only():
    other = jask.from_numpy(np.zeros((2, 3), "float32"))
    assert jax.typeof(X) == jax.typeof(other) == DiskArrayType((2, 3), np.dtype("f"))
    assert hash(jax.typeof(X)) == hash(jax.typeof(other))


@pytest.mark.parametrize(
    ("dtype", "shown"),
    [("bool", "bool"), ("uint8", "u8"), ("int64", "i64"), ("complex64", "c64")],
)
def test_types_are_shown_as_jax_shows_them(dtype, shown):
    assert str(DiskArrayType((2,), np.dtype(dtype))) == f"disk_{shown}[2]"


def test_small_floats_have_their_names():
    assert str(DiskArrayType((), np.dtype(ml_dtypes.bfloat16))) == "disk_bf16[]"


def test_facts_are_there_on_tracers():
    def f(x):
        assert (x.shape, x.dtype, x.ndim, x.size) == ((2, 3), np.float32, 2, 6)
        assert (x.nbytes, len(x.shape)) == (24, 2)
        return x

    jax.eval_shape(lambda: None)
    jax.jit(f)(X)


@pytest.fixture
def attached():
    names = []

    def attach(kind, name, fn):
        names.append((kind, name))
        getattr(hitype, f"attach_{kind}")(name, fn)

    yield attach
    for kind, name in names:
        delattr(type(X), name)
        delattr(DiskArrayType, "_" + name.strip("_") if kind == "operator" else name)


def test_what_is_attached_works_on_arrays_and_tracers(attached):
    def triple(x):
        return apply(lambda x: x + x + x, x, name="triple")

    attached("method", "triple", triple)
    attached("property", "tripled", triple)
    for f in (lambda x: x.triple(), lambda x: x.tripled):
        np.testing.assert_array_equal(f(X), 3 * np.asarray(X))
        np.testing.assert_array_equal(jax.jit(f)(X), 3 * np.asarray(X))
        g = jax.grad(lambda x, f=f: jask.materialize(f(x).sum()))(X)
        np.testing.assert_array_equal(g, np.full((2, 3), 3))


def test_integers_have_no_tangents():
    t = DiskArrayType((2,), np.dtype("int32"))
    assert t.to_tangent_aval().dtype == jax.dtypes.float0


def test_mapped_axes_come_and_go():
    t = DiskArrayType((2, 3), np.dtype("f"))
    assert t.dec_rank(3, 1) == DiskArrayType((2,), np.dtype("f"))
    assert t.inc_rank(5, t.leading_axis_spec()).shape == (5, 2, 3)
    assert t.dec_rank(None, None) is t


def test_a_traced_array_has_a_length_and_rows():
    x = jask.from_numpy(np.arange(6.0).reshape(3, 2))
    total = jax.jit(lambda x: jask.materialize(sum(len(x) * row.sum() for row in x)))
    assert total(x) == 45
    with pytest.raises(TypeError, match="0-d"):
        jax.jit(lambda x: len(x.sum()))(x)


@pytest.mark.parametrize("name", ["persist", "to_memmap", "item"])
def test_what_needs_values_is_refused_under_a_trace_by_name(name):
    f = jax.jit(lambda x: getattr(x, name)())
    with pytest.raises(jax.errors.ConcretizationTypeError, match=rf"{name}\(\) needs"):
        f(jask.from_numpy(np.ones(3)))


def test_a_tracer_has_no_filename_and_says_why():
    f = jax.jit(lambda x: x.filename)
    with pytest.raises(AttributeError, match=r"no filename: .*disk_f64\[3\]"):
        f(jask.from_numpy(np.ones(3)))
