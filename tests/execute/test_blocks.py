"""Buffers that XLA reads in place, and views that do not keep arrays from donation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jask._jax import in_place
from jask.execute.blocks import ALIGNMENT, Block, aligned_empty, fresh, host_view

F4 = np.dtype("f4")


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 4097])
def test_bytes_are_aligned(nbytes: int):
    for _ in range(5):
        made = aligned_empty(nbytes)
        assert made.nbytes == nbytes
        assert made.ctypes.data % ALIGNMENT == 0 or nbytes == 0


def test_what_is_written_to_a_block_is_what_jax_reads():
    block = Block(48)
    for k in range(3):
        block.view((3, 4), F4)[...] = k
        np.testing.assert_array_equal(block.array((3, 4), F4), np.full((3, 4), k))


def test_a_block_holds_smaller_arrays_and_other_types_too():
    block = Block(48)
    views = [
        block.view((3, 4), F4),
        block.view((5,), F4),
        block.view((6,), np.dtype("i8")),
    ]
    assert len({v.ctypes.data for v in views}) == 1
    views[1][...] = [1, 2, 3, 4, 5]
    assert block.array((5,), F4).tolist() == [1, 2, 3, 4, 5]


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="elsewhere it is a copy")
def test_on_a_cpu_nothing_is_copied():
    block = Block(4096)
    view = block.view((1024,), F4)
    array = block.array((1024,), F4)
    assert array.unsafe_buffer_pointer() == view.ctypes.data
    assert block.array((1024,), F4) is array


@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (0, 4)])
@pytest.mark.parametrize("dtype", ["f4", "c16", "bool", "bfloat16"])
def test_a_host_view_has_the_values(shape: tuple[int, ...], dtype: str):
    array = jnp.ones(shape, dtype)
    view = host_view(array)
    assert (view.shape, view.dtype) == (shape, array.dtype)
    np.testing.assert_array_equal(view, np.asarray(array))


def test_a_host_view_does_not_keep_an_array_from_being_donated():
    array = jnp.arange(1 << 14, dtype="f4")
    before = array.unsafe_buffer_pointer()
    assert host_view(array)[3] == 3
    doubled = jax.jit(lambda x: x * 2, donate_argnums=0)(array)
    assert array.is_deleted()
    assert doubled.unsafe_buffer_pointer() == before


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize(
    "dtype", ["bool", "i8", "c16", "bfloat16", "float8_e4m3fn", "int4"]
)
def test_an_array_of_any_layout_comes_to_jax_with_its_values(
    dtype: str, device: str | None
):
    grid = np.arange(12).reshape(3, 4).astype(jnp.dtype(dtype))
    layouts = [grid, grid.T, grid[:, ::-2], grid[:0], grid[1, 1, ...], grid[0].copy()]
    with jax.default_device(device):
        for host in layouts:
            array = in_place(host)
            assert (array.shape, array.dtype) == (host.shape, host.dtype)
            assert not array.committed
            np.testing.assert_array_equal(np.asarray(array), host)


def test_a_donation_does_not_change_what_is_read_in_place():
    view = Block(4096).view((1024,), F4)
    view[...] = 3
    array = in_place(view)
    jax.block_until_ready(jax.jit(lambda x: x + 1, donate_argnums=0)(array))
    assert array.is_deleted()
    assert (view == 3).all()


@pytest.mark.parametrize("size", [0, 1, 1 << 16])
def test_storage_for_results_may_be_donated(size: int):
    array = fresh((size,), F4)
    assert (array.shape, array.dtype) == ((size,), F4)
    jax.block_until_ready(jax.jit(lambda x: x + 1, donate_argnums=0)(array))
    assert array.is_deleted()
