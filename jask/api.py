"""Opening, saving, evaluating and lifting: the functions of the `jask` namespace."""

import errno
import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, Literal, overload

import jax
import jax.numpy as jnp
import numpy as np

from jask.array import DiskArray, _source, persist_all, to_disk
from jask.execute import run
from jask.gradient import first_nodes
from jask.hijax.apply import apply
from jask.hijax.binding import settled
from jask.hijax.function import Frozen, freeze, thaw
from jask.hijax.materialize import evaluate
from jask.hijax.type import is_disk, make_value
from jask.stores.open import open_store
from jask.trace.graph import TURNED
from jask.trace.keys import is_key

__all__ = ["explain", "lift", "open", "persist", "save"]


def open(  # noqa: A001 - the name that users expect
    path: str | os.PathLike[str],
    mode: Literal["r", "r+"] = "r",
    *,
    dtype: Any = None,
    shape: int | tuple[int, ...] | None = None,
    offset: int = 0,
) -> DiskArray:
    """Open a file as a disk array; nothing is read but its header.

    Parameters
    ----------
    path
        A `.npy` file, or with `shape` a raw file in row-major order.
    mode
        `"r"`, or `"r+"` to insist that the file can be written.
    dtype
        Element type of a raw file, or of bfloat16 and float8 arrays in `.npy` files.
    shape
        Shape of a raw file.
    offset
        Where the elements of a raw file start, in bytes.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the file is not what it claims to be or what the arguments say.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/a.npy", np.zeros((2, 3), order="F"))
    ...     open(f"{folder}/a.npy")
    DiskArray(shape=(2, 3), dtype=float64, file='...a.npy')
    """
    sizes = (shape,) if isinstance(shape, int) else shape
    opened = open_store(path, dtype=dtype, shape=sizes, offset=offset, mode=mode)
    array: DiskArray = make_value(_source(opened.store))
    if not opened.fortran:
        return array
    turned: DiskArray = apply(jnp.transpose, array, name=TURNED)
    turned._turn(opened.store)
    return turned


@overload
def save(path: str | os.PathLike[str], x: Any) -> None: ...
@overload
def save(path: Mapping[Any, Any]) -> None: ...
def save(path: Any, x: Any = None) -> None:
    """Write arrays to `.npy` files, several as one program.

    A file appears under its name when all of it is written; an array may be saved over
    a file that it reads.

    Parameters
    ----------
    path
        Where to write `x`, or a mapping of paths to arrays. Any name but one that ends
        as a file of another format does, such as `.npz` or `.csv`.
    x
        A DiskArray or an in-memory array, of any shape and dtype; written in row-major
        order and native byte order.

    Raises
    ------
    ValueError
        If the name is that of another format.
    MemoryBudgetError
        If no plan fits the memory budget.
    OSError
        If a file cannot be written, or the disk has no room for it; found out before
        anything is computed.

    Examples
    --------
    >>> import tempfile
    >>> import jask
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(f"{folder}/a.npy", jask.from_numpy(np.arange(3.0)))
    ...     np.load(f"{folder}/a.npy")
    array([0., 1., 2.])
    """
    arrays = _by_path(path, x)
    nodes = [to_disk(a).node for a in arrays.values()]
    evaluate(nodes, [run.ToFile(p) for p in arrays])


def _by_path(path: Any, x: Any) -> dict[Path, Any]:
    """Return the arrays by the file that each goes to, which must all differ."""
    if not isinstance(path, Mapping):
        return {_path(path): x}
    if x is not None:
        raise TypeError("save takes a path and an array, or a mapping of paths only.")
    arrays: dict[Path, Any] = {}
    for given, array in path.items():
        if _path(given) in arrays:
            msg = f"Each array must have a file of its own; got twice: {_path(given)}"
            raise ValueError(msg)
        arrays[_path(given)] = array
    return arrays


def _path(path: Any) -> Path:
    """Return the file that a path leads to."""
    if not isinstance(path, str | bytes | os.PathLike):
        msg = f"save takes the path first and then the array; got {path!r:.80}."
        raise TypeError(msg)
    _check_suffix(Path(os.fsdecode(path)))
    try:
        return Path(os.fsdecode(path)).resolve()
    except RuntimeError as error:  # a loop of links
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error


OTHER_FORMATS = frozenset(
    (".arrow", ".bmp", ".bz2", ".csv", ".feather", ".fits", ".gif", ".gz", ".h5",
     ".hdf", ".hdf5", ".joblib", ".jpeg", ".jpg", ".json", ".jsonl", ".mat", ".msgpack",
     ".n5", ".nc", ".nii", ".npz", ".orc", ".parquet", ".pickle", ".pkl", ".png", ".pt",
     ".pth", ".safetensors", ".tar", ".tif", ".tiff", ".tsv", ".txt", ".wav", ".webp",
     ".xls", ".xlsx", ".xml", ".xz", ".yaml", ".yml", ".zarr", ".zip", ".zst")
)  # fmt: skip
"""Names of files that hold something else than what `save` writes."""


def _check_suffix(path: Path) -> None:
    """Raise ValueError for the name of a file in another format."""
    if path.suffix.lower() in OTHER_FORMATS:
        msg = (
            f"save writes the format of numpy.save, whatever the name; {path.name!r} "
            f"names another format. Save to {path.with_suffix('.npy').name!r}."
        )
        raise ValueError(msg)


def persist(*arrays: Any) -> Any:
    """Evaluate disk arrays as one program and keep the results.

    Arrays over 1 MiB go to scratch files that live as long as the arrays, smaller ones
    stay in memory. A gradient that belongs in a file is written there.

    Parameters
    ----------
    arrays
        DiskArrays of any shape and dtype, or pytrees of them; random keys in these
        stay as they are.

    Returns
    -------
    DiskArray, pytree, or tuple of these
        The same arrays, which from now on read the results; a tuple for several.

    Raises
    ------
    MemoryBudgetError
        If no plan fits the memory budget.
    ScratchFullError
        If the results do not fit the scratch directory or its limit.

    Examples
    --------
    >>> import jask
    >>> persist(jask.from_numpy(np.ones(3)) * 2)
    DiskArray(shape=(3,), dtype=float64, in memory)
    """
    leaves, tree = jax.tree.flatten(arrays)
    kept = [x if is_key(getattr(x, "dtype", None)) else to_disk(x) for x in leaves]
    persist_all([x for x in kept if not is_key(x.dtype)])
    found: tuple[Any, ...] = jax.tree.unflatten(tree, kept)
    return found[0] if len(found) == 1 else found


@overload
def explain(function: Callable[..., Any], /) -> Callable[..., str]: ...
@overload
def explain(*arrays: Any) -> str: ...
def explain(*arrays: Any) -> Any:
    """Return the plan of evaluating arrays as one program, in words; reads nothing.

    `explain(function)(*args)` is the plan of what a call of a function evaluates first:
    of `jask.value_and_grad(f)`, forward and backward together.

    Parameters
    ----------
    arrays
        DiskArrays or in-memory arrays of any shape and dtype; or one function of them.

    Returns
    -------
    str
        A line for the whole: passes, bytes to be read and written (each beside the
        least possible), projected memory and scratch; then the passes, with tiles.

    Raises
    ------
    MemoryBudgetError
        If no plan fits the memory budget; the message says which budget would do.

    Examples
    --------
    >>> import jask
    >>> with jask.config(memory_budget="64MB"):
    ...     print(explain(jask.from_numpy(np.ones(3)) * 2).splitlines()[0])
    1 pass: reads 0 B (least possible 0 B), writes 0 B (least possible 0 B), ...
    """
    if len(arrays) == 1 and not is_disk(arrays[0]) and callable(arrays[0]):
        return _explained(arrays[0])
    return run.explain(settled([to_disk(x).node for x in arrays]))


def _explained(function: Callable[..., Any]) -> Callable[..., str]:
    """Return a function that explains what a call of another evaluates."""

    @wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> str:
        leaves, tree = jax.tree.flatten((args, kwargs))
        mask = [isinstance(x, _OPERANDS) for x in leaves]

        def call(*given: Any) -> Any:
            values = iter(given)
            pairs = zip(leaves, mask, strict=True)
            full = [next(values) if m else x for x, m in pairs]
            positional, named = jax.tree.unflatten(tree, full)
            found = function(*positional, **named)
            return [x for x in jax.tree.leaves(found) if isinstance(x, _OPERANDS)]

        given = [x for x, m in zip(leaves, mask, strict=True) if m]
        with jax.disable_jit():
            closed = jax.make_jaxpr(call)(*given)
        nodes = settled(first_nodes(closed, given))
        if not nodes:
            return "Nothing is evaluated."
        return run.explain(nodes)

    return wrapped


class _Lifted:
    """A function whose array arguments are operands and the rest static, by value."""

    def __init__(self, fn: Callable[..., Any], tree: Any, static: Frozen) -> None:
        self.fn, self.tree, self.static = fn, tree, static

    def _key(self) -> Any:
        return self.fn, self.tree, self.static

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Lifted) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __call__(self, *operands: Any) -> Any:
        arrays = iter(operands)
        leaves = [next(arrays) if x is _ARRAY else x for x in thaw(self.static)]
        args, kwargs = jax.tree.unflatten(self.tree, leaves)
        return self.fn(*args, **kwargs)


class _Array:
    """Stands for an array among static arguments."""


_ARRAY = _Array()
_NUMBERS = (bool, int, float, complex)
_OPERANDS = (DiskArray, jax.Array, jax.core.Tracer, np.ndarray, np.generic, *_NUMBERS)


def lift(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Let a pure JAX function take disk arrays, and return its results as disk arrays.

    Parameters
    ----------
    fn
        A pure function of pytrees, written with `jax.numpy` and `jax.lax`.

    Returns
    -------
    Callable
        Takes pytrees that mix DiskArrays, in-memory arrays and numbers; other leaves,
        such as strings, are static. Define `fn` once, not in a loop: a new function
        object is traced again.

    Examples
    --------
    >>> import jask
    >>> softplus = lift(lambda x, scale: jnp.log1p(jnp.exp(x)) * scale)
    >>> softplus(jask.from_numpy(np.zeros(3, "float32")), 2.0)
    DiskArray(shape=(3,), dtype=float32, lazy)
    """

    @wraps(fn)
    def lifted(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs))
        mask = [isinstance(x, _OPERANDS) for x in leaves]
        static = [_ARRAY if m else x for x, m in zip(leaves, mask, strict=True)]
        operands = [x for x, m in zip(leaves, mask, strict=True) if m]
        function = _Lifted(fn, tree, freeze(static))
        return apply(function, *operands, name=_name(fn))

    return lifted


def _name(fn: Any) -> str:
    name = getattr(fn, "__name__", type(fn).__name__)
    return "lift" if name == "<lambda>" else str(name)
