"""`hypothesis.extra.array_api` draws disk arrays."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.array_api import make_strategies_namespace

import jask
import jask.numpy as jnp

xps = make_strategies_namespace(jnp)
BLOCKS = st.sampled_from([None, 8, 1 << 20])
FEWER = settings(max_examples=max(1, settings().max_examples // 5))


def test_it_is_the_namespace_of_this_version():
    assert make_strategies_namespace(jnp) is make_strategies_namespace(
        jnp, api_version=xps.api_version
    )


@pytest.mark.parametrize(
    "dtypes",
    [
        xps.boolean_dtypes(),
        xps.integer_dtypes(),
        xps.unsigned_integer_dtypes(),
        xps.floating_dtypes(),
        xps.complex_dtypes(),
    ],
    ids=["bool", "int", "uint", "float", "complex"],
)
@pytest.mark.parametrize("x64", [True, False])
def test_every_kind_of_dtype_is_drawn(dtypes: Any, x64: bool):
    @FEWER
    @given(xps.arrays(dtypes, xps.array_shapes(min_dims=0, max_side=4)))
    def draws_disk_arrays(x: Any) -> None:
        assert type(x) is jask.DiskArray
        assert np.asarray(x).dtype == x.dtype

    with jax.enable_x64(x64):
        draws_disk_arrays()


@FEWER
@given(xps.arrays("float32", (3, 4)), xps.indices((3, 4)), BLOCKS)
def test_indices_select_what_they_select_in_numpy(
    x: Any, index: Any, block: int | None
):
    with jask.config(block_bytes=block):
        found = np.asarray(x[index])
    np.testing.assert_array_equal(found, np.asarray(x)[index])


@FEWER
@given(xps.mutually_broadcastable_shapes(2, max_dims=3, max_side=3))
def test_broadcastable_shapes_broadcast(shapes: Any):
    first, second = (jnp.zeros(s) for s in shapes.input_shapes)
    assert (first + second).shape == shapes.result_shape


@FEWER
@given(xps.arrays("int16", (5,), unique=True))
def test_unique_elements_are_unique(x: Any):
    assert jnp.unique_values(x).shape == (5,)
