"""Every public name of jax.numpy is here, or refused with a reason."""

import inspect
from typing import Any

import jax
import jax.numpy as real
import numpy as np
import pytest

import jask.numpy as jnp
from jask.numpy._lift import REFUSED
from tests.numpy.samples import disk, on_disk

NAMES = [n for n in dir(real) if not n.startswith("_")]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_of_jax_numpy_has_a_place(name: str):
    assert (name in jnp.__all__) != (name in REFUSED)


@pytest.mark.parametrize("module", ["linalg", "fft"])
def test_every_name_of_the_extensions_is_there(module: str):
    theirs = [n for n in dir(getattr(real, module)) if not n.startswith("_")]
    assert set(theirs) <= set(getattr(jnp, module).__all__)


def test_all_names_exist_once():
    assert [n for n in jnp.__all__ if not hasattr(jnp, n)] == []
    assert len(set(jnp.__all__)) == len(jnp.__all__)


def test_a_reason_says_what_to_do():
    assert all(len(reason) > 20 for reason in REFUSED.values())


A = np.asarray([[1.5, -2.0, 0.25], [4.0, 0.5, -1.0]], np.float32)
V = np.asarray([3, 1, 2], np.int32)

INDICES = {"digitize", "lexsort"}
"""Results of these are indices, int64 always."""

CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "allclose": ((A, A), {"rtol": 1e-3}),
    "angle": ((A,), {}),
    "append": ((A, A), {"axis": 0}),
    "array_equal": ((A, A + 1), {}),
    "atleast_2d": ((V,), {}),
    "average": ((A,), {"axis": 1}),
    "block": (([[A, A]],), {}),
    "cbrt": ((A,), {}),
    "column_stack": (([V, V],), {}),
    "convolve": ((V, V), {"mode": "same"}),
    "cov": ((A,), {}),
    "cumprod": ((A,), {"axis": 1}),
    "cumsum": ((A,), {"axis": 0}),
    "delete": ((V, np.asarray([1])), {}),
    "diag": ((V,), {"k": 1}),
    "digitize": ((A, np.asarray([0.0, 1.0], np.float32)), {}),
    "dot": ((A, V), {}),
    "einsum": (("ij,j->i", A, V), {}),
    "fmax": ((A, 0.0), {}),
    "gradient": ((A,), {"axis": 1}),
    "histogram": ((A,), {"bins": 4}),
    "hstack": (([A, A],), {}),
    "inner": ((A, A), {}),
    "interp": ((A, V, V), {}),
    "isclose": ((A, 1.5), {}),
    "kron": ((A, V), {}),
    "lexsort": (((V, V[::-1]),), {}),
    "median": ((A,), {"axis": 1}),
    "nan_to_num": ((A,), {"nan": 1.0}),
    "nanmean": ((A,), {"axis": 0}),
    "nansum": ((A,), {}),
    "outer": ((V, V), {}),
    "pad": ((A, ((1, 0), (0, 2))), {"constant_values": 7.0}),
    "percentile": ((A, 30.0), {"axis": 1}),
    "polyval": ((V, A), {}),
    "ptp": ((A,), {"axis": 0}),
    "quantile": ((A, 0.5), {}),
    "rot90": ((A,), {}),
    "select": (([A > 1, A < 0], [A, -A]), {"default": 9.0}),
    "sinc": ((A,), {}),
    "split": ((V, 3), {}),
    "trace": ((A,), {}),
    "trapezoid": ((A,), {"dx": 0.5}),
    "tri": ((3,), {"k": -1}),
    "vander": ((V,), {"N": 3}),
    "vdot": ((A, A), {}),
    "vstack": (([A, A],), {}),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_lifted_function_gives_what_jax_numpy_gives(name: str):
    args, kwargs = CALLS[name]
    expected = jax.tree.leaves(getattr(real, name)(*args, **kwargs))
    found = jax.tree.leaves(getattr(jnp, name)(*on_disk(args), **kwargs))
    assert len(found) == len(expected)
    for f, e in zip(found, expected, strict=True):
        dtype = np.int64 if name in INDICES else e.dtype
        assert (f.shape, f.dtype) == (e.shape, dtype)
        np.testing.assert_allclose(np.asarray(f), np.asarray(e), rtol=2e-5, atol=1e-5)


EVALUATED: dict[str, tuple[Any, Any]] = {
    "argwhere": (np.argwhere, (A > 0,)),
    "flatnonzero": (np.flatnonzero, (A > 0,)),
    "union1d": (np.union1d, (V, V + 1)),
    "unique": (np.unique, (np.asarray([3, 1, 3]),)),
    "setdiff1d": (np.setdiff1d, (V, np.asarray([1]))),
    "trim_zeros": (np.trim_zeros, (np.asarray([0, 1, 2, 0]),)),
}


@pytest.mark.parametrize("name", sorted(EVALUATED))
def test_a_shape_that_depends_on_values_is_evaluated_at_the_call(name: str):
    model, args = EVALUATED[name]
    found = getattr(jnp, name)(*on_disk(args))
    assert np.asarray(found).tolist() == model(*args).tolist()


def test_a_shape_that_depends_on_values_is_refused_under_a_trace():
    with pytest.raises(jax.errors.ConcretizationTypeError, match="depends on values"):
        jax.jit(jnp.unique)(disk(V))


def test_with_a_size_it_is_lazy():
    found = jnp.flatnonzero(disk(V) > 1, size=3, fill_value=-1)
    assert np.asarray(found).tolist() == [0, 2, -1]


def test_a_lifted_function_has_the_signature_of_its_model():
    ours, theirs = inspect.signature(jnp.pad), inspect.signature(real.pad)
    assert list(ours.parameters) == list(theirs.parameters)


def test_index_makers_make_arrays():
    assert np.asarray(jnp.r_[0:3, 7]).tolist() == [0, 1, 2, 7]
    assert np.asarray(jnp.mgrid[0:2, 0:3][1]).tolist() == [[0, 1, 2], [0, 1, 2]]


def test_facts_do_not_read_values():
    x = jnp.zeros((1000000, 1000000))
    assert (jnp.ndim(x), jnp.shape(x)[0], jnp.size(x)) == (2, 10**6, 10**12)
    assert jnp.isrealobj(x)
