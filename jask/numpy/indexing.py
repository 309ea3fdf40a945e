"""Indexing: `x[key]`, `x[key] = v`, `x.at[key]`, take and take_along_axis.

1. Keys of integers, slices and new axes are slices, reversals and reshapes: they
   stream, whatever the steps. A small array in memory is indexed there and then.
2. Setting with such a key is a choice between `x` and the padded values: it streams.
3. Index arrays are run-time operands of a gather or scatter, unless all is small and
   in memory.
4. A mask selects a number of elements that depends on values: it is evaluated at the
   call, in two passes where it is large. Setting with a mask and a single value is a
   `where`, and streams.
"""

from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jask.numpy import _kernels, _keys, _updates
from jask.numpy._engine import (
    alias,
    concrete,
    current,
    fetch,
    fits_easily,
    host_value,
    in_memory_value,
    is_forced,
    is_traced,
    lies_in,
    to_disk,
)
from jask.numpy._keys import Key
from jask.numpy._select import masked, nonzero, placed
from jask.numpy._table import (
    Array,
    Operand,
    axis_index,
    call,
    check_operand,
    check_out,
    is_array,
    ndim_of,
    shape_of,
)
from jask.numpy.manipulation import broadcast_to, ravel


def getitem(x: Array, key: Any, **options: Any) -> Array:
    """Return `x[key]`; `options` are those of a gather."""
    parsed = _parsed(x, key, options)
    if parsed.is_basic:
        return _slice(x, parsed)
    if len(parsed.arrays) == 1 and any(map(_is_single, parsed.masks)):
        return _single_bool(x, parsed)
    if len(parsed.arrays) == 1 and _leading(parsed) and not is_traced(x):
        return masked(x, parsed.masks[0])
    parsed = without_masks(parsed)
    known = None if options else _chosen(x, parsed)
    if known is not None:
        return to_disk(known)
    slicing, left = _keys.split(parsed)
    part = _slice(x, slicing)
    return call(
        _kernels.advanced_index,
        part,
        parsed.arrays,
        name="getitem",
        wide=True,
        key=left,
        **_frozen(options),
    )


def _parsed(x: Array, key: Any, options: dict[str, Any]) -> Key:
    """Return a key made plain; with a mode, indices may be out of range."""
    return _keys.parse(
        shape_of(x),
        key,
        checked=options.get("mode") is None,
        wrap=options.get("wrap_negative_indices", True),
    )


def _frozen(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a gather or scatter as one static argument, if any."""
    return {"options": tuple(sorted(options.items()))} if options else {}


MOST_CHOSEN = 1 << 22
"""Bytes that may be chosen at once: indices times the bytes of the array."""


def _chosen(x: Array, key: Key) -> np.ndarray[Any, Any] | None:
    """Return the elements of a small array in memory at known indices, if they are few.

    None otherwise: each key would be a kernel of its own.
    """
    value = host_value(x)
    arrays = [in_memory_value(a) for a in key.arrays]
    if value is None or is_forced() or any(a is None for a in arrays):
        return None
    count = prod(np.broadcast_shapes(*(a.shape for a in key.arrays)))
    if count * value.nbytes > min(MOST_CHOSEN, current().memory_budget // 8):
        return None
    known = iter(arrays)
    entries = [next(known) if is_array(e) else e for e in key.entries]
    found: np.ndarray[Any, Any] = value[tuple(entries)]
    return found


def _slice(x: Array, key: Key) -> Array:
    """Return the part that a key without arrays takes."""
    part = _keys.basic(key)
    if part.is_everything(shape_of(x)):
        return alias(x)
    known = host_value(x)
    if known is not None and (prod(part.shape) == 1 or not is_forced()):
        return to_disk(known[key.entries])
    found = call(
        _kernels.basic_index,
        x,
        name="getitem",
        start=part.start,
        limit=part.limit,
        stride=part.stride,
        backwards=part.backwards,
        shape=part.shape,
    )
    if not part.backwards and set(part.stride) <= {1}:
        lies_in(found, x, part.start, part.limit)
    return found


def without_masks(key: Key) -> Key:
    """Return a key with integer arrays in the place of masks."""
    masks = key.masks
    if not masks:
        return key
    concrete("boolean indexing", *masks)
    small = fits_easily(*masks)
    known = iter(fetch("boolean indexing", *masks) if small else masks)
    entries: list[Any] = []
    for entry in key.entries:
        if not _keys.is_mask(entry):
            entries.append(entry)
            continue
        value = next(known)
        if not value.ndim:
            msg = "a single bool cannot be mixed with arrays in an index."
            raise IndexError(msg)
        entries.extend(np.nonzero(value) if small else nonzero(value))
    return Key(tuple(entries), key.shape)


def _single_bool(x: Array, key: Key) -> Array:
    """Return `x[key]` where the key holds single bools: a new axis of length 1 or 0."""
    entries, holds = _without_single(key)
    at = next(i for i, e in enumerate(key.entries) if _is_single(e))
    before = [e for e in entries[:at] if type(e) is not int]
    out = getitem(x, entries)
    return getitem(out, (slice(None),) * len(before) + (slice(0, int(holds)),))


def _without_single(key: Key) -> tuple[tuple[Any, ...], bool]:
    """Return a key with a new axis in the place of its single bool, and that bool."""
    at = next(i for i, e in enumerate(key.entries) if _is_single(e))
    (known,) = fetch("boolean indexing", key.entries[at])
    entries = (*key.entries[:at], None, *key.entries[at + 1 :])
    return entries, bool(known)


def _is_single(entry: Any) -> bool:
    """Return whether an entry is a mask without axes."""
    return _keys.is_mask(entry) and not entry.shape


def update(x: Array, key: Any, values: Operand, method: str, **options: Any) -> Array:
    """Return `x` with the elements at `key` set, added to, multiplied, ..."""
    parsed = _parsed(x, key, options)
    value = _fitting(x, method, check_operand(f"at[...].{method}", values))
    masks = parsed.masks
    if parsed.is_basic:
        return call(
            _updates.sliced,
            x,
            value,
            name=f"at_{method}",
            wide=True,
            part=_keys.basic(parsed),
            method=method,
        )
    if masks and len(parsed.arrays) == 1 and _leading(parsed):
        rest = ndim_of(x) - len(masks[0].shape)
        if not masks[0].shape and ndim_of(value) == rest + 1:
            if not shape_of(value)[0]:
                return x
            value = getitem(value, 0)  # of the one or no element that is selected
        if ndim_of(value) <= rest:
            return call(
                _updates.masked, x, masks[0], value, name=f"at_{method}", method=method
            )
        if _streams(x, masks[0], value):
            return _update_places(x, masks[0], value, method)
    if len(parsed.arrays) == 1 and any(map(_is_single, masks)):
        entries, holds = _without_single(parsed)
        return update(x, entries, value, method, **options) if holds else x
    parsed = without_masks(parsed)
    return call(
        _updates.scattered,
        x,
        value,
        parsed.arrays,
        name=f"at_{method}",
        wide=True,
        key=_keys.frozen(parsed),
        method=method,
        **_frozen(options),
    )


def _fitting(x: Array, method: str, value: Operand) -> Operand:
    """Return a value; OverflowError for an integer that neither array nor int32 holds.

    `jax.numpy` takes Python's integers as int32 unless 64-bit types are on.
    """
    if type(value) is not int or jax.config.jax_enable_x64:
        return value
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return value
    known = map(jnp.iinfo, (x.dtype, np.int32))
    if any(i.min <= value <= i.max for i in known):
        return value
    msg = f"at[...].{method}: {value} does not fit {x.dtype}."
    raise OverflowError(msg)


def _streams(*arrays: Array) -> bool:
    """Return whether large arrays with values can be updated at the call."""
    return not any(map(is_traced, arrays)) and not fits_easily(*map(to_disk, arrays))


def _update_places(x: Array, mask: Array, values: Array, method: str) -> Array:
    """Return `x` updated by one value for each place where a mask holds: at once."""
    rest = shape_of(x)[ndim_of(mask) :]
    values = broadcast_to(values, (shape_of(values)[0], *rest))
    old = values if method == "set" else masked(x, mask)
    if shape_of(old) != shape_of(values):
        msg = (
            f"A mask that holds {shape_of(old)[0]} times must be given as many values; "
            f"got {shape_of(values)[0]}."
        )
        raise ValueError(msg)
    if method != "set":
        values = call(_updates.combined, old, values, name=method, method=method)
    elif values.dtype != x.dtype:
        values = call(_kernels.astype, values, name="astype", dtype=x.dtype)
    return placed(x, mask, values)


def _leading(key: Key) -> bool:
    """Return whether a key is one mask of full length and whole slices behind it."""
    first = key.entries[0]
    return (
        _keys.is_mask(first)
        and tuple(first.shape) == key.shape[: len(first.shape)]
        and all(e == slice(None) for e in key.entries[1:])
    )


def update_with(x: Array, key: Any, function: Any, **options: Any) -> Array:
    """Return `x` with a function applied to the elements at `key`."""
    parsed = without_masks(_parsed(x, key, options))
    return call(
        _updates.applied,
        x,
        parsed.arrays,
        name="at_apply",
        wide=True,
        key=_keys.frozen(parsed),
        function=function,
        **_frozen(options),
    )


class At:
    """What `x.at` is: `x.at[key].set(v)` is `x` with those elements replaced.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.asarray([1, 2, 3]).at[1].add(10))
    Array([ 1, 12,  3], dtype=int32)
    """

    def __init__(self, x: Array) -> None:
        self._x = x

    def __getitem__(self, key: Any) -> "AtKey":
        """Return the place that is updated."""
        return AtKey(self._x, key)


class AtKey:
    """A place in an array; each method returns a new array.

    Each takes, by name, what the methods of `jax.numpy` take: `mode` says what becomes
    of indices out of range (an IndexError unless it is given, where they are known),
    `wrap_negative_indices` whether those below zero count from the end,
    `indices_are_sorted` and `unique_indices` are hints.
    """

    def __init__(self, x: Array, key: Any) -> None:
        self._x = x
        self._key = key

    def get(self, *, fill_value: Any = None, **options: Any) -> Array:
        """Return the elements; `fill_value` for mode="fill"."""
        kept = _options(options)
        if fill_value is not None:
            kept["fill_value"] = fill_value
        return getitem(self._x, self._key, **kept)

    def set(self, values: Operand, **options: Any) -> Array:
        """Return the array with the elements replaced."""
        return self._updated("set", values, options)

    def add(self, values: Operand, **options: Any) -> Array:
        """Return the array with values added to the elements."""
        return self._updated("add", values, options)

    def subtract(self, values: Operand, **options: Any) -> Array:
        """Return the array with values subtracted from the elements."""
        return self._updated("subtract", values, options)

    def multiply(self, values: Operand, **options: Any) -> Array:
        """Return the array with the elements multiplied by values."""
        return self._updated("multiply", values, options)

    mul = multiply

    def divide(self, values: Operand, **options: Any) -> Array:
        """Return the array with the elements divided by values."""
        return self._updated("divide", values, options)

    def power(self, values: Operand, **options: Any) -> Array:
        """Return the array with the elements raised to powers."""
        return self._updated("power", values, options)

    def min(self, values: Operand, **options: Any) -> Array:
        """Return the array with the elements limited from above."""
        return self._updated("min", values, options)

    def max(self, values: Operand, **options: Any) -> Array:
        """Return the array with the elements limited from below."""
        return self._updated("max", values, options)

    def apply(self, function: Any, **options: Any) -> Array:
        """Return the array with a function applied to the elements."""
        return update_with(self._x, self._key, function, **_options(options))

    def _updated(self, method: str, values: Operand, options: dict[str, Any]) -> Array:
        return update(self._x, self._key, values, method, **_options(options))


MODES = ("clip", "drop", "fill", "promise_in_bounds")
"""What may become of indices out of range."""


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Return options of a gather or scatter without those that say nothing."""
    defaults = {
        "indices_are_sorted": False,
        "unique_indices": False,
        "mode": None,
        "wrap_negative_indices": True,
    }
    for name in given:
        if name not in defaults:
            msg = f"at[...]: the option must be one of {list(defaults)}; got {name!r}."
            raise TypeError(msg)
    if given.get("mode") not in (None, *MODES):
        msg = f"at[...]: the mode must be one of {MODES}; got {given['mode']!r}."
        raise ValueError(msg)
    return {k: v for k, v in given.items() if v is not defaults[k]}


def take(
    x: Operand,
    indices: Operand,
    /,
    axis: int | None = None,
    *,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Array:
    """Elements at given positions along an axis.

    Parameters
    ----------
    x : array
        The operand.
    indices : array of integers
        Positions; negative ones count from the end.
    axis : int or None
        Where; None: flatten first.
    out : None
        For compatibility: arrays are immutable.
    mode : {"fill", "clip", "wrap"}, optional
        What is done with positions out of range. Default: IndexError where they are
        known in memory at the call, otherwise "fill" (NaN).
    unique_indices, indices_are_sorted : bool
        Hints, as in `jax.numpy.take`.
    fill_value : scalar, optional
        For "fill".

    Returns
    -------
    array
        The axis of `x` replaced by the axes of `indices`; the dtype of `x`. A gather.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.take(jnp.asarray([5, 6, 7]), jnp.asarray([2, 0])))
    Array([7, 5], dtype=int32)
    """
    check_out("take", out)
    value = ravel(x) if axis is None else x
    where = axis_index(0 if axis is None else axis, ndim_of(value))
    positions = _integers("take", indices)
    if mode is None:
        _check_known(positions, shape_of(value)[where], where)
    return call(
        jnp.take,
        value,
        positions,
        name="take",
        wide=True,
        axis=where,
        mode=mode,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        fill_value=fill_value,
    )


def take_along_axis(
    x: Operand,
    indices: Operand,
    /,
    axis: int | None = -1,
    *,
    mode: str | None = None,
    fill_value: Any = None,
    wrap_negative_indices: bool = True,
) -> Array:
    """Elements at positions along an axis that differ from lane to lane.

    Parameters
    ----------
    x : array
        The operand.
    indices : array of integers
        As many axes as `x`; the other axes broadcast.
    axis : int or None
        Where; None: flatten `x` first.
    mode : {"fill", "clip"}, optional
        What is done with positions out of range, as for `take`.
    fill_value : scalar, optional
        For "fill".
    wrap_negative_indices : bool
        False: negative positions do not count from the end, but are out of range.

    Returns
    -------
    array
        The shape of `indices` along the axis; the dtype of `x`. A gather.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> x = jnp.asarray([[5, 6], [7, 8]])
    >>> jask.materialize(jnp.take_along_axis(x, jnp.asarray([[1], [0]])))
    Array([[6],
           [7]], dtype=int32)
    """
    value = ravel(x) if axis is None else x
    where = axis_index(0 if axis is None else axis, ndim_of(value))
    positions = _integers("take_along_axis", indices)
    if mode is None:
        _check_known(
            positions, shape_of(value)[where], where, wrap=wrap_negative_indices
        )
    options = {"axis": where, "mode": mode, "fill_value": fill_value}
    if not wrap_negative_indices:
        options["wrap_negative_indices"] = False
    return call(
        jnp.take_along_axis,
        value,
        positions,
        name="take_along_axis",
        wide=True,
        **options,
    )


def _integers(name: str, indices: Operand) -> Operand:
    """Return index operands; TypeError for other kinds."""
    found = check_operand(name, indices)
    kind = np.dtype(found.dtype).kind if hasattr(found, "dtype") else type(found)
    if kind not in ("i", "u", int):
        msg = f"{name}: indices must be integers; got {getattr(found, 'dtype', kind)}."
        raise TypeError(msg)
    return found


def _check_known(
    indices: Operand, length: int, axis: int, *, wrap: bool = True
) -> None:
    """Raise IndexError where indices are in memory and out of range."""
    known = indices if isinstance(indices, int) else in_memory_value(indices)
    if known is None or np.size(known) == 0:
        return
    low, high = int(np.min(known)), int(np.max(known))
    if low < (-length if wrap else 0) or high >= length:
        worst = high if high >= length else low
        msg = f"index {worst} is out of bounds for axis {axis} of length {length}."
        raise IndexError(msg)


__all__ = [
    "take", "take_along_axis",
]  # fmt: skip
