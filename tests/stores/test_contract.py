"""Every store keeps the contract of stores."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jask.geometry.box import Box
from jask.stores.base import Store
from jask.stores.mapped import MappedStore
from jask.stores.memory import MemoryStore
from jask.stores.open import open_store
from jask.stores.output import create_output
from jask.stores.raw import open_raw
from jask.stores.row import RowStore
from jask.stores.scratch import create_scratch
from jask.testing.stores import (
    CountingStore,
    FailingStore,
    SlowStore,
    StoreMachine,
    StoreTests,
)

type Array = np.ndarray[Any, Any]


def npy(array: Array, directory: Path, stored: Any = None) -> Path:
    path = directory / "x.npy"
    np.save(path, np.asarray(array, stored or array.dtype))
    return path


class TestMemoryStore(StoreTests):
    writable = False

    def make(self, array: Array, directory: Path) -> Store:  # noqa: ARG002 (it needs no file)
        return MemoryStore(array)


class TestMappedStore(StoreTests):
    writable = False

    def make(self, array: Array, directory: Path) -> Store:
        path = directory / "x.raw"
        path.write_bytes(array.tobytes() or b"#")  # nothing cannot be mapped
        pages: Any = np.memmap(path, array.dtype, "r", shape=array.shape)
        return MappedStore(pages)


class TestRowStore(StoreTests):
    writable = False

    def make(self, array: Array, directory: Path) -> Store:
        whole = np.stack([array, np.zeros_like(array), array])
        (directory / "x.raw").write_bytes(whole.tobytes())
        return RowStore(open_raw(directory / "x.raw", whole.shape, whole.dtype), 2)


class TestRawStore(StoreTests):
    offset = 0

    def make(self, array: Array, directory: Path) -> Store:
        path = directory / "x.raw"
        path.write_bytes(b"#" * self.offset + array.tobytes())
        return open_raw(path, array.shape, array.dtype, self.offset, writable=True)


class TestRawStoreAtAnOddOffset(TestRawStore):
    offset = 13


class TestRawStoreInTheOtherByteOrder(StoreTests):
    def make(self, array: Array, directory: Path) -> Store:
        path = directory / "x.raw"
        stored = array.dtype.newbyteorder(">")
        path.write_bytes(array.astype(stored).tobytes())
        return open_raw(path, array.shape, stored, writable=True)


class TestNpyStore(StoreTests):
    writable = False

    def make(self, array: Array, directory: Path) -> Store:
        return open_store(npy(array, directory), dtype=array.dtype).store


class TestNpyStoreInTheOtherByteOrder(StoreTests):
    def make(self, array: Array, directory: Path) -> Store:
        stored = array.dtype.newbyteorder(">")
        path = npy(array, directory, stored)
        return open_store(path, dtype=array.dtype, mode="r+").store


class TestNpyStoreInFortranOrder(StoreTests):
    """A file in Fortran order is a store of the transpose."""

    def make(self, array: Array, directory: Path) -> Store:
        path = directory / "x.npy"
        descr = np.lib.format.dtype_to_descr(array.dtype)
        fields = {"descr": descr, "fortran_order": True, "shape": array.T.shape}
        with path.open("wb") as file:
            np.lib.format.write_array_header_2_0(file, fields)
            file.write(array.tobytes())
        opened = open_store(path, dtype=array.dtype, mode="r+")
        assert opened.fortran == (array.ndim > 1)
        return opened.store


class TestScratchStore(StoreTests):
    def make(self, array: Array, directory: Path) -> Store:
        store = create_scratch(array.shape, array.dtype, directory=directory)
        store.write(Box.whole(array.shape), array)
        return store


class TestOutputStore(StoreTests):
    def make(self, array: Array, directory: Path) -> Store:
        output = create_output(directory / "out.npy", array.shape, array.dtype)
        output.write(Box.whole(array.shape), array)
        return output


class TestCommittedOutput(StoreTests):
    writable = False

    def make(self, array: Array, directory: Path) -> Store:
        output = create_output(directory / "out.npy", array.shape, array.dtype)
        for k in range(array.shape[0] if array.ndim else 1):
            row = Box.of(
                (k, k + 1) if j == 0 else (0, n) for j, n in enumerate(array.shape)
            )
            output.write(row, array[row.slices])
        return output.commit()


class TestWrappedStores(StoreTests):
    def make(self, array: Array, directory: Path) -> Store:
        store = create_scratch(array.shape, array.dtype, directory=directory)
        store.write(Box.whole(array.shape), array)
        return CountingStore(SlowStore(FailingStore(store, OSError()), 0.0))


class ScratchMachine(StoreMachine):
    def make(self, array: Array, directory: Path) -> Store:
        store = create_scratch(array.shape, array.dtype, directory=directory)
        store.write(Box.whole(array.shape), array)
        return store


class OutputMachine(StoreMachine):
    def make(self, array: Array, directory: Path) -> Store:
        self.path = directory / "out.npy"
        output = create_output(self.path, array.shape, array.dtype)
        output.write(Box.whole(array.shape), array)
        output.commit().close()
        return open_store(self.path, mode="r+").store

    def reopen(self, store: Store) -> Store:
        store.close()
        return open_store(self.path, mode="r+").store


TestScratchMachine = ScratchMachine.TestCase
TestOutputMachine = OutputMachine.TestCase


def test_a_failing_store_fails_after_the_given_number_of_writes(tmp_path: Path):
    store = FailingStore(create_scratch((4,), "f8"), OSError(28, "full"), writes=2)
    box = Box((0,), (4,))
    store.write(box, np.zeros(4))
    store.write(box, np.ones(4))
    with pytest.raises(OSError, match="full"):
        store.write(box, np.zeros(4))


def test_a_counting_store_counts_bytes_and_boxes():
    store = CountingStore(create_scratch((4,), "f8"))
    store.write(Box((0,), (4,)), np.arange(4.0))
    store.prefetch(Box((0,), (3,)))
    store.read(Box((1,), (3,)), np.empty(2))
    assert store.bytes_written == 32
    assert store.bytes_read == 16
    assert store.boxes_prefetched == [Box((0,), (3,))]
