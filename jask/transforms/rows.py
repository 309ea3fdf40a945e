"""`map` and `scan` over the rows of disk arrays.

1. The function is turned into one of arrays in memory (`pure`).
2. `map` applies it to all rows at once, as `jax.vmap` does; that streams as any
   expression does. With loops in it, which do not stream, it is applied block by block.
3. `scan` cuts the rows into blocks; each is one operation, a `lax.scan` in memory, from
   carry to carry. Its derivatives are JAX's; what is kept are carries between blocks.
4. A function with loops over disk arrays, or a carry on disk, is left to `lax.scan`,
   which takes a handle for each row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from jask.array import DiskArray, persist_all
from jask.config import current
from jask.hijax.apply import apply
from jask.hijax.keys import Generators, apart, key_of
from jask.hijax.materialize import dematerialize, in_memory, materialize
from jask.hijax.type import is_disk
from jask.trace.keys import is_key, numbers_of
from jask.transforms.pure import Pure, pure

__all__ = ["map", "scan"]

BLOCK = 2**24
"""Bytes of rows, with what is made of them, that one block aims at."""

BLOCKS = 64
"""Blocks are larger where there would be more of them: each is planned and compiled."""

SHARE = 8
"""A block takes at most one part in so many of the memory budget."""


def map(f: Callable[..., Any], xs: Any) -> Any:  # noqa: A001 - as in jax.lax
    """Apply a function to each row of disk arrays; the results are stacked.

    Like `jax.lax.map`, in bounded memory; reads nothing until a value is asked for.

    Parameters
    ----------
    f
        Takes a pytree of rows, in memory, and returns a pytree; written with
        `jax.numpy` or `jask.numpy`. It may close over arrays in memory or on disk.
    xs
        A pytree of arrays with the same length of their leading axes.

    Returns
    -------
    pytree of DiskArray
        The results, stacked along a leading axis.

    Raises
    ------
    ValueError
        If the leading axes differ in length, or there is none.
    MemoryBudgetError
        When a value is asked for, if what a few rows need does not fit the budget.

    Examples
    --------
    >>> import jask
    >>> x = jask.from_numpy(jnp.float32([[1, 2], [3, 4]]))
    >>> jask.materialize(jask.map(lambda row: row[0] * jnp.sum(row), x))
    Array([ 3., 21.], dtype=float32)
    """
    leaves, tree = jax.tree.flatten(xs)
    length = _length(leaves, None)

    def flat(*row: Any) -> Any:
        return f(jax.tree.unflatten(tree, row))

    found = pure(flat, *(_row(x) for x in leaves), origin=f)
    if found is None:
        return scan(lambda c, row: (c, f(row)), (), xs)[1]
    function, closed, outer = found
    consts = _once(closed)
    mapped = _Mapped(function, len(consts), len(leaves))
    if not function.loops:
        return jax.tree.unflatten(outer, _apply(mapped, f, consts, leaves))
    spans = _blocks(length, _bytes(function, leaves))
    blocks = [_apply(mapped, f, consts, part) for part in _parts(leaves, spans)]
    return jax.tree.unflatten(outer, _joined(blocks))


def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Walk the rows of disk arrays with a carry; like `jax.lax.scan`.

    Parameters
    ----------
    f
        Takes the carry and a pytree of rows, in memory; returns the new carry and what
        is stacked. Written with `jax.numpy` or `jask.numpy`; it may close over arrays
        in memory or on disk.
    init
        The first carry, a pytree. Arrays on disk stay on disk.
    xs
        A pytree of arrays with the same length of their leading axes, or None.
    length
        The number of steps, needed where `xs` has no arrays.
    reverse
        Whether to begin at the last row.

    Returns
    -------
    tuple
        The last carry, each array where the first one was, and the stacked results as
        disk arrays. Evaluated at the call, unless under a transformation.

    Raises
    ------
    ValueError
        If the leading axes differ in length, or there is none and no length.
    TypeError
        If the carry changes its structure, shape or dtype.
    MemoryBudgetError
        If what a few rows need does not fit the budget.

    Examples
    --------
    >>> import jask
    >>> x = jask.from_numpy(jnp.float32([[1, 2], [3, 4]]))
    >>> total, sums = jask.scan(lambda c, r: (c + r[0], c + r.sum()), 0.0, x)
    >>> float(total), jask.materialize(sums).tolist()
    (4.0, [3.0, 8.0])
    """
    leaves, tree = jax.tree.flatten(init)
    numbers, generators = apart(leaves)
    if generators is not None:  # random keys are carried as their numbers
        keyed = _Keyed(tree, generators)
        first = jax.tree.unflatten(tree, numbers)
        last, ys = scan(keyed.step(f), first, xs, length, reverse=reverse)
        return keyed(last), ys
    walk = _Walk.of(f, init, xs, length, reverse=reverse)
    if walk is None:
        return _by_handles(f, init, xs, length, reverse=reverse)
    carry, ys = walk.run()
    if any(isinstance(x, jax.core.Tracer) for x in (*carry, *ys)):
        carry = [materialize(x) for x in carry]
    else:
        carry = _kept(carry, ys)
    return jax.tree.unflatten(walk.carry_tree, carry), jax.tree.unflatten(
        walk.result_tree, ys
    )


@dataclass(frozen=True)
class _Keyed:
    """A carry with random keys, made from one with their numbers."""

    tree: Any
    generators: Generators

    def __call__(self, carry: Any) -> Any:
        """Return the carry with its keys."""
        pairs = zip(jax.tree.leaves(carry), self.generators, strict=True)
        made = [x if g is None else key_of(x, g) for x, g in pairs]
        return jax.tree.unflatten(self.tree, made)

    def step(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return a step on keys as one on numbers."""

        @wraps(f)
        def step(carry: Any, row: Any) -> Any:
            new, y = f(self(carry), row)
            return jax.tree.map(numbers_of, new), y

        return step


@dataclass(frozen=True)
class _Mapped:
    """A function of one row, for all rows."""

    function: Pure
    closed: int
    """How many operands it closes over."""
    rows: int
    """How many arrays are walked."""

    def __call__(self, *leaves: Any) -> Any:
        axes = (None,) * self.closed + (0,) * self.rows
        return jax.vmap(self.function, in_axes=axes)(*leaves)


@dataclass(frozen=True)
class _Steps:
    """A function of carry and row, from carry to carry over a block of rows."""

    function: Pure
    closed: int
    carried: int
    length: int
    """Number of rows."""
    reverse: bool

    def __call__(self, *leaves: Any) -> Any:
        a, b = self.closed, self.closed + self.carried
        known, carry, rows = leaves[:a], leaves[a:b], leaves[b:]

        def step(carry: Sequence[Any], row: Sequence[Any]) -> Any:
            out = self.function(*known, *carry, *row)
            return out[: self.carried], out[self.carried :]

        walk: Any = jax.lax.scan
        carry, ys = walk(
            step, [*carry], (*rows,), length=self.length, reverse=self.reverse
        )
        return [*carry, *ys]


@dataclass(frozen=True)
class _Walk:
    """A scan that is done in blocks of rows in memory."""

    name: Callable[..., Any]
    function: Pure
    consts: list[Any]
    init: list[Any]
    leaves: list[Any]
    length: int
    reverse: bool
    carry_tree: Any
    result_tree: Any

    @classmethod
    def of(
        cls, f: Any, init: Any, xs: Any, length: int | None, *, reverse: bool
    ) -> "_Walk | None":
        """Return the scan; None if it is not one of arrays in memory."""
        carry, carry_tree = jax.tree.flatten(init)
        leaves, tree = jax.tree.flatten(xs)
        steps = _length(leaves, length)
        if any(is_disk(x) for x in carry):
            return None

        def flat(*values: Any) -> Any:
            old, row = values[: len(carry)], values[len(carry) :]
            new, y = f(
                jax.tree.unflatten(carry_tree, old), jax.tree.unflatten(tree, row)
            )
            _require_same_tree(carry_tree, new)
            return jax.tree.leaves(new), y

        rows = [_row(x) for x in leaves]
        first = pure(flat, *carry, *rows, origin=f)
        if first is None:
            return None
        carry = _settled(carry, first[0].closed.out_avals)
        found = pure(flat, *carry, *rows, origin=f)
        if found is None:
            return None
        function, closed, outer = found
        _settled(carry, function.closed.out_avals)
        _, results = jax.tree_util.treedef_children(outer)
        consts = _once(closed)
        return cls(
            f, function, consts, carry, leaves, steps, reverse, carry_tree, results
        )

    def run(self) -> tuple[list[Any], list[Any]]:
        """Return the last carry and the stacked results, lazily."""
        carry = self.init
        count = len(carry)
        spans = _blocks(self.length, _bytes(self.function, self.leaves, count))
        made = []
        walked = list(zip(spans, _parts(self.leaves, spans), strict=True))
        for (a, b), part in reversed(walked) if self.reverse else walked:
            steps = _Steps(self.function, len(self.consts), count, b - a, self.reverse)
            out = _apply(steps, self.name, self.consts, [*carry, *part])
            carry = out[:count]
            made.append(out[count:])
        return carry, _joined(made[::-1] if self.reverse else made)


def _require_same_tree(tree: Any, new: Any) -> None:
    if jax.tree.structure(new) != tree:
        msg = (
            f"The carry must keep its structure {tree}; got {jax.tree.structure(new)}."
        )
        raise TypeError(msg)


def _settled(carry: list[Any], outs: Sequence[Any]) -> list[Any]:
    """Return the carry with what stands for Python numbers as a step returns it."""
    found = []
    for x, out in zip(carry, outs, strict=False):
        t = jax.typeof(x)
        if (t.shape, t.dtype) == (out.shape, out.dtype):
            found.append(x)
            continue
        if t.shape != out.shape or not getattr(t, "weak_type", False):
            msg = (
                f"The carry must keep its shape and dtype: it is {t.str_short()}, and "
                f"a step returns {out.str_short()}."
            )
            raise TypeError(msg)
        found.append(jnp.asarray(x, out.dtype))
    return found


def _kept(carry: Sequence[DiskArray], ys: Sequence[DiskArray]) -> list[Any]:
    """Evaluate all as one program: the carry to memory, the others kept."""
    values = persist_all(ys, besides=[x.node for x in carry])
    narrow = [jax.dtypes.canonicalize_dtype(v.dtype) for v in values]
    return [in_memory(v, d) for v, d in zip(values, narrow, strict=True)]


def _by_handles(
    f: Any, init: Any, xs: Any, length: int | None, *, reverse: bool
) -> tuple[Any, Any]:
    """Leave it to `lax.scan`, with the rows brought to memory."""

    def step(carry: Any, row: Any) -> Any:
        carry, y = f(carry, jax.tree.map(materialize, row))
        return carry, jax.tree.map(lambda v: v if is_disk(v) else dematerialize(v), y)

    steps = _length(jax.tree.leaves(xs), length)
    carry, ys = jax.lax.scan(step, init, xs, length=steps, reverse=reverse)
    return carry, ys


def _once(arrays: Sequence[Any]) -> list[Any]:
    """Return arrays as disk arrays, so that their cotangents are summed there.

    Eagerly, each use of an array in memory would ask for the value of its own part.
    """
    return [
        x if is_disk(x) or is_key(jax.typeof(x).dtype) else dematerialize(x)
        for x in arrays
    ]


# ---- blocks of rows


def _length(leaves: Sequence[Any], length: int | None) -> int:
    sizes = {jax.typeof(x).shape[:1] for x in leaves}
    sizes |= set() if length is None else {(length,)}
    if len(sizes) != 1 or () in sizes:
        found = sorted(s[0] if s else "no axis" for s in sizes) or "nothing"
        msg = f"There must be rows, as many of each array; got {found} to walk along."
        raise ValueError(msg)
    ((size,),) = sizes
    return int(size)


def _row(x: Any) -> jax.ShapeDtypeStruct:
    t = jax.typeof(x)
    return jax.ShapeDtypeStruct(t.shape[1:], t.dtype)


def _bytes(function: Pure, leaves: Sequence[Any], carried: int = 0) -> int:
    """Return the bytes of one row and of what is made of it."""
    rows = [_row(x) for x in leaves]
    made = function.closed.out_avals[carried:]
    return sum(prod(t.shape) * t.dtype.itemsize for t in (*rows, *made))


def _blocks(length: int, row: int) -> list[tuple[int, int]]:
    """Return the spans of rows that are one block each."""
    wanted = min(max(BLOCK, length * row // BLOCKS), current().memory_budget // SHARE)
    rows = max(1, wanted // max(row, 1))
    return [(a, min(a + rows, length)) for a in range(0, length, rows)] or [(0, 0)]


def _parts(
    leaves: Sequence[Any], spans: Sequence[tuple[int, int]]
) -> list[tuple[Any, ...]]:
    """Return the rows of each block.

    Those of one array are the results of one operation: their cotangents are joined,
    where those of slices would be padded with zeros and added.
    """
    if len(spans) == 1 or not leaves:
        return [tuple(leaves)] * len(spans)
    static = {"sizes": tuple(b - a for a, b in spans)}
    cut = [apply(_split, x, name="split", static=static) for x in leaves]
    return list(zip(*cut, strict=True))


def _split(x: Any, sizes: tuple[int, ...]) -> Any:
    return jax.lax.split(x, sizes)


def _joined(blocks: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the results of all blocks, stacked."""
    if len(blocks) == 1:
        return list(blocks[0])
    together = zip(*blocks, strict=True)
    return [apply(_concatenate, list(p), name="concatenate") for p in together]


def _concatenate(parts: Sequence[Any]) -> Any:
    return jnp.concatenate(parts, axis=0)


def _apply(
    function: Any, f: Callable[..., Any], consts: Sequence[Any], leaves: Sequence[Any]
) -> list[Any]:
    name = getattr(f, "__name__", "f").strip("<>")
    kind = "map" if isinstance(function, _Mapped) else "scan"
    found: list[Any] = apply(function, *consts, *leaves, name=f"{kind}_{name}")
    return found
