"""Keys: what stands between the brackets of `x[...]`, made plain.

1. `parse` expands the ellipsis and sorts the entries into integers, slices, new axes,
   index arrays and masks, checks them against the shape, and raises IndexError as
   NumPy does.
2. A key of integers, slices and new axes only is a `Basic`: static starts, limits,
   steps, reversed axes and the shape that comes out.
3. Any other key keeps its arrays apart, as run-time operands.

Nothing here touches values, except in-memory index arrays, whose range is checked.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jask.numpy._engine import in_memory_value, is_traced
from jask.numpy._table import is_array


@dataclass(frozen=True, slots=True)
class Basic:
    """Integers, slices and new axes, per axis of the indexed array."""

    start: tuple[int, ...]
    """First element taken, in ascending order."""

    limit: tuple[int, ...]
    """One past the last element taken."""

    stride: tuple[int, ...]
    """Distance between elements taken; positive."""

    backwards: tuple[int, ...]
    """Axes whose order is reversed afterwards."""

    shape: tuple[int, ...]
    """Shape of the result: integer axes dropped, new axes added."""

    @property
    def taken(self) -> tuple[int, ...]:
        """How many elements are taken along each axis."""
        rows = zip(self.start, self.limit, self.stride, strict=True)
        return tuple(len(range(*row)) for row in rows)

    def is_everything(self, shape: tuple[int, ...]) -> bool:
        """Return whether the key takes an array of this shape as it is."""
        return self.taken == shape == self.shape and not self.backwards


@dataclass(frozen=True, slots=True)
class Key:
    """One entry per axis or new axis of the indexed array; no ellipsis."""

    entries: tuple[Any, ...]
    """An int, a slice, None, or an array: integers for one axis, a mask for several."""

    shape: tuple[int, ...]
    """The shape of the indexed array."""

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The index arrays and masks."""
        return tuple(e for e in self.entries if is_array(e))

    @property
    def is_basic(self) -> bool:
        """Whether there are no arrays."""
        return not self.arrays

    @property
    def masks(self) -> tuple[Any, ...]:
        """The boolean arrays."""
        return tuple(a for a in self.arrays if is_mask(a))


def is_mask(entry: Any) -> bool:
    """Return whether an entry is a boolean array."""
    return is_array(entry) and np.dtype(entry.dtype) == np.bool_


def axes_of(entry: Any) -> int:
    """Return how many axes an entry takes up."""
    if entry is None:
        return 0
    return len(entry.shape) if is_mask(entry) else 1


def parse(
    shape: tuple[int, ...], key: Any, *, checked: bool = True, wrap: bool = True
) -> Key:
    """Return a key made plain; IndexError or TypeError for what is not one.

    Unless `checked`, indices may be out of range, and so are negative ones where they
    do not `wrap`; integers among them become arrays.
    """
    given = [_entry(k) for k in (key if isinstance(key, tuple) else (key,))]
    dots = [i for i, k in enumerate(given) if k is Ellipsis]
    if len(dots) > 1:
        msg = "an index can have only one ellipsis."
        raise IndexError(msg)
    used = sum(axes_of(k) for k in given if k is not Ellipsis)
    if used > len(shape):
        msg = f"too many indices: the array has {len(shape)} axes, {used} were indexed."
        raise IndexError(msg)
    rest = [slice(None)] * (len(shape) - used)
    at = dots[0] if dots else len(given)
    entries = [*given[:at], *rest, *given[at + 1 :]]
    if not checked:
        entries = _loose(shape, entries, wrap=wrap)
    _check(shape, entries, ranges=checked)
    return Key(tuple(entries), shape)


def _loose(shape: tuple[int, ...], entries: Sequence[Any], *, wrap: bool) -> list[Any]:
    """Return entries whose integers that are out of range are arrays."""
    axis, found = 0, []
    for entry in entries:
        if type(entry) is int:
            low = -shape[axis] if wrap else 0
            inside = low <= entry < shape[axis]
            found.append(entry if inside else np.asarray(entry, np.int64))
        else:
            found.append(entry)
        axis += axes_of(entry)
    return found


def _entry(k: Any) -> Any:
    """Return one entry of a key: ints and 0-d arrays as ints, bools as masks."""
    if k is None or k is Ellipsis or type(k) is int:
        return k
    if isinstance(k, slice):
        return _plain_slice(k)
    if isinstance(k, (bool, np.bool_)):
        return np.asarray(k)
    if is_array(k):
        return _array_entry(k)
    if hasattr(k, "__index__"):
        return operator.index(k)
    msg = (
        "an index must be an integer, slice, Ellipsis, None, or an integer or bool "
        f"array; got {type(k).__name__}. Convert lists with jask.numpy.asarray."
    )
    raise TypeError(msg)


def _array_entry(k: Any) -> Any:
    """Return an index array, or an int for a known single integer."""
    kind = np.dtype(k.dtype).kind
    if kind not in "iub":
        msg = f"an index array must hold integers or bools; got {k.dtype}."
        raise IndexError(msg)
    if k.shape or kind == "b" or is_traced(k):
        return k
    known = (
        k if isinstance(k, (jax.Array, np.ndarray, np.generic)) else in_memory_value(k)
    )
    return k if known is None else int(known)


def _plain_slice(k: slice) -> slice:
    """Return a slice of Python ints and None."""
    parts = (k.start, k.stop, k.step)
    found = [p if p is None else operator.index(p) for p in parts]
    if found[2] == 0:
        msg = "the step of a slice must not be zero."
        raise ValueError(msg)
    return slice(*found)


def _check(
    shape: tuple[int, ...], entries: Sequence[Any], *, ranges: bool = True
) -> None:
    """Raise IndexError for an integer or a mask that does not fit its axes."""
    axis = 0
    for entry in entries:
        if type(entry) is int and not -shape[axis] <= entry < shape[axis]:
            msg = (
                f"index {entry} is out of bounds for axis {axis} of length "
                f"{shape[axis]}."
            )
            raise IndexError(msg)
        if is_mask(entry):
            covered = shape[axis : axis + len(entry.shape)]
            pairs = zip(entry.shape, covered, strict=False)
            if any(n not in (length, 0) for n, length in pairs):  # 0: nothing chosen
                msg = (
                    f"a mask must have the shape of the axes it selects from, "
                    f"{covered}; got {tuple(entry.shape)}."
                )
                raise IndexError(msg)
        elif ranges and is_array(entry):
            _check_range(entry, shape[axis], axis)
        axis += axes_of(entry)


def _check_range(array: Any, length: int, axis: int) -> None:
    """Raise IndexError where a known index array leaves its axis."""
    if is_traced(array):
        return
    known = (
        array if isinstance(array, (np.ndarray, jax.Array)) else in_memory_value(array)
    )
    if known is None or known.size == 0:
        return
    value = np.asarray(known)
    low, high = int(value.min()), int(value.max())
    if low < -length or high >= length:
        worst = high if high >= length else low
        msg = f"index {worst} is out of bounds for axis {axis} of length {length}."
        raise IndexError(msg)


def basic(key: Key) -> Basic:
    """Return what a key without arrays takes."""
    start: list[int] = []
    limit: list[int] = []
    stride: list[int] = []
    backwards: list[int] = []
    shape: list[int] = []
    for entry in key.entries:
        axis = len(start)
        if entry is None:
            shape.append(1)
            continue
        if isinstance(entry, slice):
            chosen = range(*entry.indices(key.shape[axis]))
            shape.append(len(chosen))
            if chosen.step < 0:
                chosen = chosen[::-1]
                backwards.append(axis)
        else:
            first = entry % key.shape[axis]
            chosen = range(first, first + 1)
        count = len(chosen)
        start.append(chosen.start if count else 0)
        stride.append(chosen.step if count > 1 else 1)
        limit.append(chosen[-1] + 1 if count else 0)
    return Basic(
        tuple(start), tuple(limit), tuple(stride), tuple(backwards), tuple(shape)
    )


def split(key: Key) -> tuple[Key, tuple[Any, ...]]:
    """Split a key with arrays: slices and integers first, arrays afterwards.

    Returns the key of the slicing, which keeps all axes, and the static form of what
    is left: `ARRAY` for each array, 0 for an integer, whole slices and new axes.
    """
    from_slices: list[Any] = []
    left: list[Any] = []
    for entry in key.entries:
        if is_array(entry):
            from_slices.extend([slice(None)] * axes_of(entry))
            left.append(ARRAY)
        elif entry is None:
            left.append(None)
        elif isinstance(entry, slice):
            from_slices.append(entry)
            left.append((None, None, None))
        else:
            i = entry % key.shape[len(from_slices)]
            from_slices.append(slice(i, i + 1))
            left.append(0)
    return Key(tuple(from_slices), key.shape), tuple(left)


def frozen(key: Key) -> tuple[Any, ...]:
    """Return the whole key in its static form: `ARRAY`, tuples, ints, None."""
    return tuple(
        ARRAY
        if is_array(e)
        else (e.start, e.stop, e.step)
        if isinstance(e, slice)
        else e
        for e in key.entries
    )


ARRAY = "array"
"""Stands for an index array in a static key."""
