"""Bounds of integers that are known while planning, such as the indices of a diagonal.

`bounds` follows a box of a value back to iotas and Literals and returns the least and
the largest element that it can have: interval arithmetic, equation by equation, on the
boxes that the rules ask for. What it cannot follow (a file, a float, an operation that
is not in the table) has no bounds. It never looks at data.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from jask.geometry.box import Box
from jask.rules._table import RULES
from jask.trace.ir import Atom, Equation, Literal

type Range = tuple[int, int]
"""The least and the largest value."""

type Known = dict[tuple[Atom, Box, int], Range | None]
"""What was found for a box of a value, by the equations that may still be followed."""

DEPTH = 24
"""Longest chain of equations that is followed."""


def bounds(atom: Atom, box: Box, known: Known | None = None) -> Range | None:
    """Return the range of a box of an integer or boolean value, or None.

    `known` keeps what was found on the way, for values that are used more than once.

    Examples
    --------
    >>> import numpy as np
    >>> bounds(Literal(np.asarray(3)), Box((), ()))
    (3, 3)
    """
    return _bounds(atom, box, DEPTH, {} if known is None else known)


def _bounds(atom: Atom, box: Box, depth: int, known: Known) -> Range | None:
    key = (atom, box, depth)
    if key not in known:
        known[key] = _found(atom, box, depth, known)
    return known[key]


def _found(atom: Atom, box: Box, depth: int, known: Known) -> Range | None:
    if not _is_whole(atom.dtype):
        return None
    if isinstance(atom, Literal):
        return int(atom.value), int(atom.value)
    eqn = atom.producer
    if eqn is None or not depth or 0 in box.shape:
        return None
    if eqn.name == "iota":
        a, b = box.intervals[eqn.params["dimension"]]
        return _inside((a, b - 1), atom.dtype)
    step = _STEPS.get(eqn.name)
    if step is None:
        return None
    need = RULES[eqn.name].need(eqn, box)
    ranges = [
        None if b is None else _bounds(a, b, depth - 1, known)
        for a, b in zip(eqn.inputs, need.boxes, strict=True)
    ]
    used = [r for r, b in zip(ranges, need.boxes, strict=True) if b is not None]
    found = step(used)
    return None if found is None else _inside(found, atom.dtype)


def _is_bool(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.bool_))


def _is_whole(dtype: Any) -> bool:
    return bool(jnp.issubdtype(dtype, jnp.integer)) or _is_bool(dtype)


def _inside(found: Range, dtype: Any) -> Range | None:
    """Return a range that the type can hold; None where it would wrap around."""
    if _is_bool(dtype):
        return (min(found[0], 1), min(found[1], 1))
    info = jnp.iinfo(dtype)
    return found if int(info.min) <= found[0] and found[1] <= int(info.max) else None


type Ranges = Sequence[Range | None]


def _known(step: Callable[..., Range | None]) -> Callable[[Ranges], Range | None]:
    """Return a step that needs the bounds of all operands."""

    def checked(ranges: Ranges) -> Range | None:
        return None if None in ranges else step(*ranges)

    return checked


def _any_of(*ranges: Range) -> Range:
    return min(a for a, _ in ranges), max(b for _, b in ranges)


def _product(x: Range, y: Range) -> Range:
    corners = [a * b for a in x for b in y]
    return min(corners), max(corners)


def _less(x: Range, y: Range) -> Range:
    return int(x[1] < y[0]), int(x[0] < y[1])


def _less_or_equal(x: Range, y: Range) -> Range:
    return int(x[1] <= y[0]), int(x[0] <= y[1])


def _remainder(x: Range, y: Range) -> Range | None:
    if x[0] < 0 or y[0] <= 0:
        return None
    return x if x[1] < y[0] else (0, min(x[1], y[1] - 1))


def _quotient(x: Range, y: Range) -> Range | None:
    return None if x[0] < 0 or y[0] <= 0 else (x[0] // y[1], x[1] // y[0])


def _select(ranges: Ranges) -> Range | None:
    """Return the range of the cases that the first operand can choose."""
    which, *cases = ranges
    low, high = (0, len(cases) - 1) if which is None else which
    return _known(_any_of)(cases[low : high + 1])


_MOVES = (
    *("broadcast_in_dim", "concatenate", "copy", "expand_dims", "pad", "reshape"),
    *("rev", "slice", "squeeze", "stack", "tile", "transpose"),
)

_STEPS: Mapping[str, Callable[[Ranges], Range | None]] = {
    **dict.fromkeys(_MOVES, _known(_any_of)),
    "convert_element_type": _known(_any_of),
    "add": _known(lambda x, y: (x[0] + y[0], x[1] + y[1])),
    "sub": _known(lambda x, y: (x[0] - y[1], x[1] - y[0])),
    "mul": _known(_product),
    "neg": _known(lambda x: (-x[1], -x[0])),
    "max": _known(lambda x, y: (max(x[0], y[0]), max(x[1], y[1]))),
    "min": _known(lambda x, y: (min(x[0], y[0]), min(x[1], y[1]))),
    "clamp": _known(
        lambda low, x, high: (
            min(max(x[0], low[0]), high[0]),
            min(max(x[1], low[1]), high[1]),
        )
    ),
    "lt": _known(_less),
    "le": _known(_less_or_equal),
    "gt": _known(lambda x, y: _less(y, x)),
    "ge": _known(lambda x, y: _less_or_equal(y, x)),
    "and": _known(lambda x, y: None if max(x[1], y[1]) > 1 else tuple(map(min, x, y))),
    "or": _known(lambda x, y: None if max(x[1], y[1]) > 1 else tuple(map(max, x, y))),
    "rem": _known(_remainder),
    "div": _known(_quotient),
    "select_n": _select,
}
"""From the ranges of the operands that are needed to the range of the result."""


def index_bounds(
    eqn: Equation, columns: int, rows: Sequence[Range]
) -> list[Range | None]:
    """Return the bounds of each component of the index vectors in these rows."""
    indices = eqn.inputs[1]
    known: Known = {}
    return [
        bounds(indices, Box.of([*rows, (j, j + 1)]), known) if indices.ndim else None
        for j in range(columns)
    ]
