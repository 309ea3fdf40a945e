"""What every store must do, as tests, and stores that count, wait and fail.

To test a store, subclass `StoreTests` in a test module and say how one is made.
`StoreMachine` compares a writable store with NumPy over long random histories.
`CountingStore`, `SlowStore` and `FailingStore` wrap a store to make laziness, overlap
and crash safety visible.
"""

import copy
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from jask.geometry.box import Box
from jask.stores._dtypes import checked_dtype
from jask.stores.base import Store

__all__ = [
    "DTYPES",
    "CountingStore",
    "FailingStore",
    "SlowStore",
    "StoreMachine",
    "StoreTests",
    "WrappedStore",
    "arrays",
    "boxes",
    "read_all",
]

type Array = np.ndarray[Any, Any]

DTYPES = (
    "?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16",
    "bfloat16", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
"""Names of element types that a store must hold."""

_MOST_ELEMENTS = 40_000


def read_all(store: Store) -> Array:
    """Return a store's whole array.

    Examples
    --------
    >>> from jask.stores.memory import MemoryStore
    >>> read_all(MemoryStore(np.arange(3))).tolist()
    [0, 1, 2]
    """
    buffer = np.empty(store.shape, store.dtype)
    store.read(Box.whole(store.shape), buffer)
    return buffer


def _random(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> Array:
    """Return an array of random bits (NaNs with payloads, negative zeros and all)."""
    random = np.random.default_rng(seed)
    raw = random.integers(0, 256, prod(shape) * dtype.itemsize, np.uint8)
    if dtype.kind == "b":
        raw &= 1
    return raw.view(dtype).reshape(shape)


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, ...]:
    """Draw a shape of zero to four axes, some of them empty, one, or long."""
    sizes = st.sampled_from((0, 1, 1, 2, 3, 5, 17, 130, 1100, 9000))
    shape: list[int] = []
    for size in draw(st.lists(sizes, max_size=4)):
        fits = prod(max(n, 1) for n in shape) * size <= _MOST_ELEMENTS
        shape.append(size if fits else 3)
    return tuple(shape)


@st.composite
def arrays(draw: st.DrawFn) -> Array:
    """Draw an array of any type in `DTYPES` with random bits."""
    dtype = checked_dtype(draw(st.sampled_from(DTYPES)))
    return _random(draw(shapes()), dtype, draw(st.integers(0, 2**32)))


@st.composite
def boxes(draw: st.DrawFn, shape: tuple[int, ...]) -> Box:
    """Draw a box inside an array of this shape, sometimes empty."""
    intervals = []
    for size in shape:
        ends = draw(st.tuples(st.integers(0, size), st.integers(0, size)))
        whole = draw(st.booleans())
        intervals.append((0, size) if whole else (min(ends), max(ends)))
    return Box.of(intervals)


def _assert_bits(got: Array, right: Array) -> None:
    assert got.shape == right.shape
    assert got.dtype == right.dtype
    assert got.tobytes() == right.tobytes()


# A failing example is replayed by the subclass it came from, so this is safe.
_inherited = settings(
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow]
)


class StoreTests:
    """The contract of a store; subclass it and define `make`.

    Examples
    --------
    >>> from jask.stores.memory import MemoryStore
    >>> class TestMemoryStore(StoreTests):
    ...     writable = False
    ...
    ...     def make(self, array, directory):
    ...         return MemoryStore(array)
    """

    writable: ClassVar[bool] = True
    """Whether stores that `make` returns can be written to."""

    def make(self, array: Array, directory: Path) -> Store:
        """Return a store that holds the values of `array`; files go to `directory`."""
        raise NotImplementedError

    @_inherited
    @given(array=arrays(), data=st.data())
    def test_a_box_reads_as_numpy_slices(
        self, array: Array, data: st.DataObject
    ) -> None:
        with tempfile.TemporaryDirectory() as directory:
            store = self.make(array, Path(directory))
            assert isinstance(store, Store)
            assert store.shape == array.shape
            assert store.dtype == array.dtype
            for _ in range(3):
                box = data.draw(boxes(array.shape))
                buffer = np.empty(box.shape, array.dtype)
                store.prefetch(box)
                store.read(box, buffer)
                _assert_bits(buffer, array[box.slices])
            store.check()
            store.close()

    @_inherited
    @given(array=arrays(), data=st.data())
    def test_a_written_box_changes_itself_only(
        self, array: Array, data: st.DataObject
    ) -> None:
        if not self.writable:
            return
        with tempfile.TemporaryDirectory() as directory:
            store = self.make(array, Path(directory))
            box = data.draw(boxes(array.shape))
            order = data.draw(st.permutations(range(array.ndim)))
            block = _random(box.shape, array.dtype, 7)
            store.write(box, _in_order(block, order))
            right = array.copy()
            right[box.slices] = block
            _assert_bits(read_all(store), right)
            store.close()

    @_inherited
    @given(array=arrays())
    def test_a_reshaped_store_has_the_same_elements(self, array: Array) -> None:
        with tempfile.TemporaryDirectory() as directory:
            store = self.make(array, Path(directory))
            flat = store.reshaped((array.size,))
            assert flat.shape == (array.size,)
            _assert_bits(read_all(flat), array.reshape(-1))
            store.close()

    def test_a_read_only_store_refuses_to_be_written(self, tmp_path: Path) -> None:
        if self.writable:
            return
        array = np.arange(6.0)
        store = self.make(array, tmp_path)
        with pytest.raises(PermissionError, match="must"):
            store.write(Box((0,), (2,)), np.zeros(2))
        _assert_bits(read_all(store), array)

    @pytest.mark.parametrize(
        "box", [Box((0, 0), (3, 5)), Box((-1, 0), (1, 1)), Box((0,), (2,))], ids=repr
    )
    def test_a_box_that_sticks_out_is_refused(self, box: Box, tmp_path: Path) -> None:
        store = self.make(np.arange(8.0).reshape(2, 4), tmp_path)
        with pytest.raises(ValueError, match="box must lie inside"):
            store.read(box, np.empty(box.shape))

    @pytest.mark.parametrize(
        "buffer",
        [np.empty((2, 2)), np.empty((2, 3), "f4"), np.empty((2, 3), "i8")],
        ids=["shape", "size", "kind"],
    )
    def test_a_buffer_of_wrong_shape_or_type_is_refused(
        self, buffer: Array, tmp_path: Path
    ) -> None:
        store = self.make(np.arange(8.0).reshape(2, 4), tmp_path)
        with pytest.raises(ValueError, match="must have shape"):
            store.read(Box((0, 0), (2, 3)), buffer)

    def test_threads_read_at_once(self, tmp_path: Path) -> None:
        array = np.arange(40_000.0).reshape(200, 200)
        store = self.make(array, tmp_path)

        def read(k: int) -> Array:
            box = Box((k, k), (k + 50, k + 100))
            buffer = np.empty(box.shape)
            store.read(box, buffer)
            return buffer

        with ThreadPoolExecutor(4) as pool:
            for k, buffer in enumerate(pool.map(read, range(100))):
                _assert_bits(buffer, array[k : k + 50, k : k + 100])

    def test_threads_write_boxes_that_do_not_overlap(self, tmp_path: Path) -> None:
        if not self.writable:
            return
        store = self.make(np.zeros((200, 200)), tmp_path)
        right = np.arange(40_000.0).reshape(200, 200)

        def write(k: int) -> None:
            box = Box((0, 2 * k), (200, 2 * k + 2))
            store.write(box, right[box.slices])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(100)))
        _assert_bits(read_all(store), right)

    def test_a_closed_file_is_not_read(self, tmp_path: Path) -> None:
        store = self.make(np.arange(3.0), tmp_path)
        if not store.on_disk:
            return
        store.close()
        store.close()
        with pytest.raises(ValueError, match="closed"):
            store.read(Box((0,), (1,)), np.empty(1))


def _in_order(block: Array, order: list[int]) -> Array:
    """Return the same block with its axes in another order in memory."""
    back = tuple(np.argsort(order)) if order else ()
    return np.array(block.transpose(order), order="C").transpose(back)


class StoreMachine(RuleBasedStateMachine):
    """A writable store beside a NumPy array; subclass it and define `make`.

    Examples
    --------
    >>> from jask.stores.scratch import create_scratch
    >>> class ScratchMachine(StoreMachine):
    ...     def make(self, array, directory):
    ...         store = create_scratch(array.shape, array.dtype, directory=directory)
    ...         store.write(Box.whole(array.shape), array)
    ...         return store
    >>> TestScratch = ScratchMachine.TestCase
    """

    def make(self, array: Array, directory: Path) -> Store:
        """Return a store that holds the values of `array`."""
        raise NotImplementedError

    def reopen(self, store: Store) -> Store:
        """Return the same values in another store; the default is the same store."""
        return store

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory()

    @initialize(array=arrays())
    def start(self, array: Array) -> None:
        self.array = array.copy()
        self.store = self.make(array, Path(self._directory.name))

    @rule(data=st.data(), seed=st.integers(0, 99))
    def write(self, data: st.DataObject, seed: int) -> None:
        box = data.draw(boxes(self.array.shape))
        block = _random(box.shape, self.array.dtype, seed)
        self.array[box.slices] = block
        self.store.write(box, block)

    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        box = data.draw(boxes(self.array.shape))
        buffer = np.empty(box.shape, self.array.dtype)
        self.store.read(box, buffer)
        _assert_bits(buffer, self.array[box.slices])

    @rule()
    def change_the_store(self) -> None:
        self.store = self.reopen(self.store)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            _assert_bits(read_all(self.store), self.array)
            self.store.close()
        self._directory.cleanup()


class WrappedStore:
    """A store that passes everything on to another; base of the wrappers.

    Parameters
    ----------
    store
        The store that does the work.

    Examples
    --------
    >>> from jask.stores.memory import MemoryStore
    >>> WrappedStore(MemoryStore(np.arange(4.0))).shape
    (4,)
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis."""
        return self.store.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type, in native byte order."""
        return self.store.dtype

    @property
    def on_disk(self) -> bool:
        """Whether reading costs I/O."""
        return self.store.on_disk

    @property
    def path(self) -> Path | None:
        """The file that holds the bytes, if one does."""
        return self.store.path

    def read(self, box: Box, buffer: Array) -> None:
        """Read from the wrapped store."""
        self.store.read(box, buffer)

    def write(self, box: Box, block: Array) -> None:
        """Write to the wrapped store."""
        self.store.write(box, block)

    def reshaped(self, shape: tuple[int, ...]) -> "WrappedStore":
        """Return the same store around another shape of the same elements."""
        view = copy.copy(self)
        view.store = self.store.reshaped(shape)
        return view

    def prefetch(self, box: Box) -> None:
        """Pass the hint on."""
        self.store.prefetch(box)

    def check(self) -> None:
        """Check the wrapped store."""
        self.store.check()

    def close(self) -> None:
        """Close the wrapped store."""
        self.store.close()


class CountingStore(WrappedStore):
    """A store that remembers what was asked of it.

    Examples
    --------
    >>> from jask.stores.memory import MemoryStore
    >>> store = CountingStore(MemoryStore(np.arange(4.0)))
    >>> _ = read_all(store)
    >>> store.boxes_read, store.bytes_read
    ([Box(start=(0,), stop=(4,))], 32)
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._lock = threading.Lock()
        self.boxes_read: list[Box] = []
        """Every box that was read, in order."""
        self.boxes_written: list[Box] = []
        """Every box that was written, in order."""
        self.boxes_prefetched: list[Box] = []
        """Every box that was announced, in order."""

    @property
    def bytes_read(self) -> int:
        """Bytes of all boxes that were read."""
        return sum(box.size for box in self.boxes_read) * self.dtype.itemsize

    @property
    def bytes_written(self) -> int:
        """Bytes of all boxes that were written."""
        return sum(box.size for box in self.boxes_written) * self.dtype.itemsize

    def read(self, box: Box, buffer: Array) -> None:
        """Note the box and read it."""
        with self._lock:
            self.boxes_read.append(box)
        super().read(box, buffer)

    def write(self, box: Box, block: Array) -> None:
        """Note the box and write it."""
        with self._lock:
            self.boxes_written.append(box)
        super().write(box, block)

    def prefetch(self, box: Box) -> None:
        """Note the box and pass the hint on."""
        with self._lock:
            self.boxes_prefetched.append(box)
        super().prefetch(box)


class SlowStore(WrappedStore):
    """A store each of whose reads and writes takes some time longer.

    Parameters
    ----------
    store
        The store that does the work.
    seconds
        How much longer.

    Examples
    --------
    >>> from jask.stores.memory import MemoryStore
    >>> read_all(SlowStore(MemoryStore(np.arange(2)), 0.001)).tolist()
    [0, 1]
    """

    def __init__(self, store: Store, seconds: float) -> None:
        super().__init__(store)
        self.seconds = seconds

    def read(self, box: Box, buffer: Array) -> None:
        """Wait and read."""
        time.sleep(self.seconds)
        super().read(box, buffer)

    def write(self, box: Box, block: Array) -> None:
        """Wait and write."""
        time.sleep(self.seconds)
        super().write(box, block)


class FailingStore(WrappedStore):
    """A store whose reads or writes fail after some that succeed.

    Parameters
    ----------
    store
        The store that does the work.
    error
        What is raised.
    reads, writes
        How many succeed; None for all.

    Examples
    --------
    >>> from jask.stores.memory import MemoryStore
    >>> store = FailingStore(MemoryStore(np.arange(2)), OSError("broken"), reads=0)
    >>> read_all(store)
    Traceback (most recent call last):
    ...
    OSError: broken
    """

    def __init__(
        self,
        store: Store,
        error: BaseException,
        *,
        reads: int | None = None,
        writes: int | None = None,
    ) -> None:
        super().__init__(store)
        self.error = error
        self._left = {"read": reads, "write": writes}
        self._lock = threading.Lock()

    def _spend(self, kind: str) -> None:
        with self._lock:
            left = self._left[kind]
            if left is None:
                return
            self._left[kind] = max(left - 1, 0)
        if left == 0:
            raise self.error

    def read(self, box: Box, buffer: Array) -> None:
        """Read, or fail."""
        self._spend("read")
        super().read(box, buffer)

    def write(self, box: Box, block: Array) -> None:
        """Write, or fail."""
        self._spend("write")
        super().write(box, block)
