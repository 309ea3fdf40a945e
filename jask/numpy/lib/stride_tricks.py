"""Windows that slide along axes, as in `numpy.lib.stride_tricks`; xarray's `rolling`.

Windows are a lazy array: what reduces them right away streams, and never holds more of
them than a block's worth.
"""

import operator
from collections.abc import Sequence
from typing import Any

from jask.numpy import _kernels
from jask.numpy._table import Array, Axis, Operand, axis_index, call, shape_of


def sliding_window_view(
    x: Operand,
    window_shape: int | Sequence[int],
    axis: Axis = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Array:
    """Return every window of a length along axes; its elements are new last axes.

    Parameters
    ----------
    x : array
        The operand.
    window_shape : int or tuple of ints
        Lengths of the window, one for each of `axis`.
    axis : int, tuple of ints or None
        Along which axes it slides; None: all.
    subok, writeable : bool
        For compatibility: there are no subclasses; arrays are immutable (ValueError).

    Returns
    -------
    array
        Each axis shorter by the window's length less one, and one axis more for each
        of `axis`. Reads nothing until a value is asked for; then streams in one pass.

    Raises
    ------
    ValueError
        If a window is longer than its axis, or there are not as many lengths as axes.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> windows = jnp.lib.stride_tricks.sliding_window_view(jnp.arange(5.0), 3)
    >>> jask.materialize(jnp.mean(windows, axis=-1))
    Array([1., 2., 3.], dtype=float32)
    """
    del subok
    if writeable:
        msg = "sliding_window_view: arrays are immutable; writeable must be False."
        raise ValueError(msg)
    for where, length in _windows(shape_of(x), window_shape, axis):
        here = {"axis": where, "length": length}
        x = call(_kernels.windows, x, name="sliding_window_view", wide=True, **here)
    return x


def _windows(
    shape: tuple[int, ...], window_shape: int | Sequence[int], axis: Axis
) -> list[tuple[int, int]]:
    """Return each axis with the length of its window; ValueError if it has no room."""
    lengths = [operator.index(n) for n in _sequence(window_shape)]
    given = range(len(shape)) if axis is None else _sequence(axis)
    axes = [axis_index(a, len(shape)) for a in given]
    if len(axes) != len(lengths):
        msg = (
            f"sliding_window_view: must be given one length for each axis; got "
            f"{window_shape} for {'all axes' if axis is None else axis}."
        )
        raise ValueError(msg)
    room = list(shape)
    for where, length in zip(axes, lengths, strict=True):
        if not 0 <= length <= room[where]:
            msg = (
                f"sliding_window_view: along axis {where} a window must have 0 to "
                f"{room[where]} elements; got {length}."
            )
            raise ValueError(msg)
        room[where] -= length - 1
    return list(zip(axes, lengths, strict=True))


def _sequence(x: Any) -> Sequence[Any]:
    """Return a sequence; one number is a sequence of one."""
    return x if isinstance(x, (tuple, list)) else (x,)


__all__ = ["sliding_window_view"]
