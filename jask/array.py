"""DiskArray: what a user holds.

An array is a node of a lazy graph with a shape and a dtype. Building expressions reads
nothing; `jask.materialize`, `jask.save`, `persist` and the implicit conversions
(`float`, `numpy.asarray`, iteration) evaluate. Its arithmetic is attached by
`jask.numpy.operators`.
"""

import operator
import os
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import jax
import numpy as np

from jask.config import current
from jask.execute.run import InMemory, ToFile, ToScratch
from jask.hijax.binding import settled
from jask.hijax.diverted import DIVERTED  # noqa: F401 - it tells JAX what they mean
from jask.hijax.gradients import gradient_path
from jask.hijax.materialize import evaluate
from jask.hijax.operand import as_operands, from_memmap
from jask.hijax.type import is_disk, make_value, refuse_jax, register_value
from jask.stores._dtypes import is_computable
from jask.stores.mapped import is_lent, require_small
from jask.stores.memory import MemoryStore
from jask.stores.open import open_store
from jask.trace.graph import Dense, Node, Source, hold

__all__ = ["DiskArray", "from_numpy", "persist_all"]

SMALL = 2**20
"""Bytes up to which `persist` keeps a value in memory instead of in scratch, where
that is at most an eighth of the memory budget."""


INSTEAD = {
    "chunks": "tiles follow from the memory budget; jask.explain(x) shows them",
    "compute": "jask.materialize(x) loads it; x.persist() computes and stays on disk",
    "numpy": "numpy.asarray(x) loads it",
    "rechunk": "tiles follow from the memory budget; jask.explain(x) shows them",
}
"""What other libraries' arrays have, and what to do here."""


class _Binary(Protocol):
    """An operator with one operand."""

    def __call__(self, other: Any, /) -> Any: ...


class DiskArray:
    """An array on disk, or an expression of such arrays.

    Parameters
    ----------
    filename
        A raw file in row-major order.
    shape
        Number of elements along each axis.
    dtype
        Element type, in native byte order unless it says otherwise.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If its size is not that of the array.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     np.arange(6.0).tofile(file.name)
    ...     x = DiskArray(file.name, (2, 3), "float64")
    ...     x, float(x[1, 2])
    (DiskArray(shape=(2, 3), dtype=float64, file='...'), 5.0)
    """

    __slots__ = ("__weakref__", "_origin", "_turned", "node")

    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]  # so Python says "unhashable"

    node: Node
    """What computes it; not part of the public API."""

    if TYPE_CHECKING:  # attached by jask.numpy.operators

        def __getattr__(self, name: str) -> Any: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...
        def __neg__(self) -> Any: ...
        def __pos__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __invert__(self) -> Any: ...

        __add__: _Binary
        __radd__: _Binary
        __sub__: _Binary
        __rsub__: _Binary
        __mul__: _Binary
        __rmul__: _Binary
        __truediv__: _Binary
        __rtruediv__: _Binary
        __floordiv__: _Binary
        __rfloordiv__: _Binary
        __mod__: _Binary
        __rmod__: _Binary
        __pow__: _Binary
        __rpow__: _Binary
        __matmul__: _Binary
        __rmatmul__: _Binary
        __and__: _Binary
        __rand__: _Binary
        __or__: _Binary
        __ror__: _Binary
        __xor__: _Binary
        __rxor__: _Binary
        __lshift__: _Binary
        __rlshift__: _Binary
        __rshift__: _Binary
        __rrshift__: _Binary
        __lt__: _Binary
        __le__: _Binary
        __gt__: _Binary
        __ge__: _Binary
        __getitem__: _Binary

    def __init__(
        self,
        filename: str | os.PathLike[str],
        shape: int | Sequence[int],
        dtype: Any,
    ) -> None:
        sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
        opened = open_store(filename, dtype=dtype, shape=sizes)
        self._init(_source(opened.store))

    def _init(self, node: Node) -> None:
        self.node = node
        hold(node, self)
        self._origin: Path | None = getattr(_store(node), "path", None)
        self._turned: Any = None

    @classmethod
    def from_numpy(cls, array: Any) -> "DiskArray":
        """Return a disk array with a copy of in-memory values.

        Examples
        --------
        >>> DiskArray.from_numpy(np.zeros((2, 3)))
        DiskArray(shape=(2, 3), dtype=float64, in memory)
        """
        return from_numpy(array)

    # ---- facts, which never evaluate

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of elements along each axis."""
        return self.node.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self.node.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.node.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.node.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes of the whole array."""
        return self.node.nbytes

    @property
    def filename(self) -> str | None:
        """The file that holds the array, or that `persist` will write; else None."""
        place = self._place()
        return None if place is None else str(place)

    def _place(self) -> Path | None:
        return gradient_path(self.node) if self._origin is None else self._origin

    @property
    def _stored(self) -> Node:
        """The node with the file that holds this."""
        return self.node if self._turned is None else _source(self._turned)

    def __repr__(self) -> str:
        """Return shape, dtype and state; never evaluates."""
        return f"DiskArray(shape={self.shape}, dtype={self.dtype}, {self._state()})"

    def _state(self) -> str:
        store = self._turned or _store(self.node)
        if store is None:
            return "in memory" if isinstance(self.node, Dense) else "lazy"
        path = getattr(store, "path", None)
        if path is None and store.on_disk:
            return "mapped"
        return "in memory" if path is None else f"file={str(path)!r}"

    def _turn(self, store: Any) -> None:
        """Say that a file in Fortran order holds this."""
        self._turned, self._origin = store, store.path

    def _put(self, path: Path | None) -> None:
        """Say where `persist` writes this expression."""
        self._origin = self._origin if path is None else path

    # ---- evaluation

    def block_until_ready(self) -> "DiskArray":
        """Wait for calls under way, of a jitted function, that return this; return it.

        A lazy array stays lazy: nothing is computed that nobody asked for.

        Examples
        --------
        >>> from_numpy(np.ones(3)).block_until_ready()
        DiskArray(shape=(3,), dtype=float64, in memory)
        """
        settled([self.node])
        return self

    def persist(self) -> "DiskArray":
        """Evaluate now and keep the result: in its file, in scratch or in memory.

        Returns
        -------
        DiskArray
            This array, which from now on reads the result.

        Examples
        --------
        >>> x = from_numpy(np.ones(3)) + 1
        >>> x.persist()
        DiskArray(shape=(3,), dtype=float64, in memory)
        """
        persist_all([self])
        return self

    def to_memmap(self) -> np.memmap[Any, Any]:
        """Return the values as a read-only NumPy memory map of the file.

        An array without a file is persisted first; its scratch file lives as long as
        this array. A file in the other byte order is mapped as it is.

        Examples
        --------
        >>> from_numpy(np.arange(3)).to_memmap()
        memmap([0, 1, 2])
        """
        if not self.size:
            return np.empty(self.shape, self.dtype).view(np.memmap)
        if self._turned is not None:
            turned: np.memmap[Any, Any] = self._turned.mapped(self.shape, order="F")
            return turned
        if getattr(_store(self.node), "path", None) is None:
            persist_all([self], small=0)
        found: np.memmap[Any, Any] = _store(self.node).mapped(self.shape)
        return found

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Say what does here what a method of other libraries does there."""
            if name in INSTEAD:
                msg = f"A DiskArray has no {name!r}: {INSTEAD[name]}."
                raise AttributeError(msg, name=name, obj=self)
            object.__getattribute__(self, name)  # raises, as it did

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # noqa: FBT001 (NumPy's signature)
        """Evaluate for NumPy; MemoryBudgetError if it does not fit the budget."""
        if copy is False:
            msg = "A DiskArray cannot become a NumPy array without a copy."
            raise ValueError(msg)
        (value,) = evaluate([self.node])
        return value if dtype is None else value.astype(dtype, copy=False)

    def __jax_array__(self) -> Any:
        """Refuse: jax.numpy must not load an array quietly."""
        return refuse_jax(self)

    def _item(self, kind: str) -> Any:
        if self.size != 1:
            msg = (
                f"{kind}() needs an array of exactly one element; got shape "
                f"{self.shape}."
            )
            error = ValueError if kind == "bool" else TypeError
            raise error(msg)
        (value,) = evaluate([self.node])
        return value.reshape(())[()]

    def item(self, *place: int) -> Any:
        """Return the element at a place, or the only one, as a Python scalar."""
        if len(place) == 1:  # counted through all axes, as in NumPy
            place = self._unraveled(operator.index(*place))
        return (self[place] if place else self)._item("item").item()

    def _unraveled(self, place: int) -> tuple[int, ...]:
        if not -self.size <= place < self.size:
            msg = f"item: index {place} is out of bounds for {self.size} elements."
            raise IndexError(msg)
        return tuple(map(int, np.unravel_index(place % self.size, self.shape)))

    def __bool__(self) -> bool:
        """Return the truth of an array of one element."""
        return bool(self._item("bool"))

    def __int__(self) -> int:
        """Return the value of an array of one element."""
        return int(self._item("int"))

    def __float__(self) -> float:
        """Return the value of an array of one element."""
        return float(self._item("float"))

    def __complex__(self) -> complex:
        """Return the value of an array of one element."""
        return complex(self._item("complex"))

    def __format__(self, spec: str) -> str:
        """Return the value of an array of one element, formatted; `repr` if no spec."""
        return format(self._item("format").item(), spec) if spec else repr(self)

    def __index__(self) -> int:
        """Return the value of an integer scalar."""
        if self.ndim or self.dtype.kind not in "iu":
            msg = f"Only integer scalars can be an index; got {self!r}."
            raise TypeError(msg)
        return int(self._item("index"))

    def __copy__(self) -> "DiskArray":
        """Return another object for the same array; item assignment leaves it alone."""
        other = _from_node(type(self), self.node)
        other._origin, other._turned = self._origin, self._turned
        return other

    def __deepcopy__(self, memo: Any) -> "DiskArray":
        """Return the same as `__copy__`: the values never change."""
        return self.__copy__()

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: open files and expressions stay in their process."""
        msg = (
            "A DiskArray must not be pickled. Save it with jask.save(path, x) and "
            "open the file in the other process, or pickle numpy.asarray(x)."
        )
        raise TypeError(msg)

    def __len__(self) -> int:
        """Return the length of the first axis."""
        if not self.ndim:
            raise TypeError("len() of a 0-d array")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over rows, which are lazy."""
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))


def _from_node(cls: type[DiskArray], node: Node) -> DiskArray:
    array = cls.__new__(cls)
    array._init(node)
    return array


def _source(store: Any) -> Source:
    return Source(tuple(store.shape), np.dtype(store.dtype), store)


def _store(node: Node) -> Any:
    return node.store if isinstance(node, Source) else None


def from_numpy(array: Any) -> DiskArray:
    """Return a disk array with a copy of in-memory values.

    Parameters
    ----------
    array
        Anything that NumPy takes as an array; later changes of it are not seen. A
        read-only `numpy.memmap` in row-major order is not copied but read where it is.

    Returns
    -------
    DiskArray
        Of the same shape and dtype: 64-bit values stay so.

    Raises
    ------
    TypeError
        If it is not numeric or boolean.
    MemoryBudgetError
        If it is a larger `numpy.memmap` that would have to be copied.

    Examples
    --------
    >>> from_numpy([[1.0, 2.0]])
    DiskArray(shape=(1, 2), dtype=float64, in memory)
    """
    if is_lent(array):
        mapped: DiskArray = from_memmap(array)
        return mapped
    require_small(array, current().memory_budget)
    values = np.asarray(array)
    if not is_computable(values.dtype):
        msg = f"An array must be numeric or boolean; got dtype {values.dtype}."
        raise TypeError(msg)
    result: DiskArray = make_value(_source(MemoryStore(values)))
    return result


def to_disk(x: Any) -> DiskArray:
    """Return an array-like as a DiskArray; refuse tracers, which have no value yet."""
    if isinstance(x, jax.core.Tracer):
        raise jax.errors.ConcretizationTypeError(
            x, "Writing an array to disk is not possible under a JAX transformation."
        )
    if is_disk(x):
        disk: DiskArray = x
        return disk
    if isinstance(x, np.ndarray | np.generic):  # 64-bit values stay so
        return from_numpy(x)
    (operand,), _ = as_operands([x])
    made: DiskArray = operand.value
    return made


def persist_all(
    arrays: Sequence[DiskArray],
    *,
    small: int = SMALL,
    besides: Sequence[Node] = (),
) -> list[np.ndarray[Any, Any]]:
    """Evaluate arrays as one program, and let them read the results from now on.

    Returns the values of other nodes, evaluated in the same program.
    """
    small = min(small, current().memory_budget // 8)
    lazy = [x for x in arrays if not _is_kept(x, small)]
    to = [*(_destination(x, small) for x in lazy), *(InMemory() for _ in besides)]
    results = evaluate([*(x.node for x in lazy), *besides], to)
    for x, result in zip(lazy, results, strict=False):
        in_memory = isinstance(result, np.ndarray)
        store = MemoryStore(result, copy=False) if in_memory else result
        x._init(_source(store))
    return results[len(lazy) :]


def _is_kept(x: DiskArray, small: int) -> bool:
    if x._turned is not None:
        return True
    if isinstance(x.node, Source):
        return x.nbytes <= small or x.node.store.on_disk
    return isinstance(x.node, Dense) and x.nbytes <= small


def _destination(x: DiskArray, small: int) -> InMemory | ToScratch | ToFile:
    place = x._place()
    if place is not None and not isinstance(x.node, Source):
        return ToFile(place)
    return InMemory() if x.nbytes <= small else ToScratch()


DiskArray.__module__ = "jask"
register_value(DiskArray, _from_node)
