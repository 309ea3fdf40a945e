"""The functions that random programs are made of, one row each.

A row knows when it applies, how its result may differ between two correct ways to
compute it, and whether it is smooth. Each value carries a bound of its magnitude and
a bound of its error; a function that jumps (rounding, comparison, argmax) applies only
to exact values, so that a comparison never depends on luck.
"""

# ruff: noqa: ARG005 - all rows have one signature

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

type Params = Mapping[str, Any]
type Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True, slots=True)
class Value:
    """What is known of an intermediate value without computing it."""

    shape: tuple[int, ...]
    """Number of elements along each axis."""

    dtype: np.dtype[Any]
    """Element type."""

    bound: float
    """No finite element is larger."""

    error: float = 0.0
    """Two correct ways to compute an element differ by at most this; 0: by nothing."""

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def kind(self) -> str:
        """One letter: b, i, u or f."""
        return "f" if jnp.issubdtype(self.dtype, jnp.floating) else self.dtype.kind


type Spread = tuple[float, float, float]
"""Bound of the result, error passed on, number of roundings of the result."""


def _none(_: Draw, *__: Value) -> Params:
    return {}


@dataclass(frozen=True, slots=True)
class Row:
    """One function."""

    apply: Callable[..., Any]
    """`apply(xp, params, *operands)`."""

    spread: Callable[..., Spread]
    """`spread(params, *values)`."""

    params: Callable[..., Params | None]
    """`params(draw, *values)`; None: does not apply."""

    operands: int = 1
    """How many arrays it takes, of one dtype."""

    kinds: str = "f"
    """Which kinds of dtype it takes."""

    jump: bool = False
    """Whether a small change of an operand can make a large one of the result."""

    smooth: bool = False
    """Whether it has a derivative everywhere."""

    @property
    def elementwise(self) -> bool:
        """Whether its operands only have to broadcast."""
        return self.params is _none


ROWS: dict[str, Row] = {}
"""The rows by name."""


def _add(name: str, apply: Any, spread: Any, params: Any = _none, **rest: Any) -> None:
    if name in ROWS:
        msg = f"{name} already has a row"
        raise ValueError(msg)
    ROWS[name] = Row(apply, spread, params, **rest)


# Elementwise functions of one operand


def _limit(bound: float, slope: float = 1.0) -> Callable[..., Spread]:
    return lambda _, x: (bound, slope * x.error, 1)


def _move(_: Params, *values: Value) -> Spread:
    return max(v.bound for v in values), max(v.error for v in values), 0


_add("sin", lambda xp, _, x: xp.sin(x), _limit(1), smooth=True)
_add("cos", lambda xp, _, x: xp.cos(x), _limit(1), smooth=True)
_add("tanh", lambda xp, _, x: xp.tanh(x), _limit(1), smooth=True)
_add("atan", lambda xp, _, x: xp.atan(x), _limit(1.6), smooth=True)
_add("gauss", lambda xp, _, x: xp.exp(-(x * x)), _limit(1, 2), smooth=True)
_add("root", lambda xp, _, x: xp.sqrt(x * x + 1),
     lambda _, x: (x.bound + 1, x.error, 3), smooth=True)  # fmt: skip
_add("log", lambda xp, _, x: xp.log1p(x * x),
     lambda _, x: (x.bound + 1, x.error, 3), smooth=True)  # fmt: skip
_add("square", lambda xp, _, x: xp.square(x),
     lambda _, x: (x.bound**2, 2 * x.bound * x.error, 1), smooth=True)  # fmt: skip
_add("half", lambda xp, _, x: x * 0.5, _move, smooth=True)
_add("negative", lambda xp, _, x: -x, _move, kinds="if", smooth=True)
_add("abs", lambda xp, _, x: xp.abs(x), _move, kinds="iuf")
_add("logical_not", lambda xp, _, x: xp.logical_not(x), _move, kinds="b")
_add("bitwise_invert", lambda xp, _, x: xp.bitwise_invert(x),
     lambda _, x: (x.bound + 256, 0, 0), kinds="iub")  # fmt: skip
_add("clip", lambda xp, p, x: xp.clip(x, p["low"], p["high"]), _move,
     lambda draw, x: {"low": draw(st.sampled_from([0, 1])), "high": 2},
     kinds="iuf")  # fmt: skip
# the sign of -0.0 is -0.0 in jax.numpy and 0.0 in the standard
_add("sign", lambda xp, _, x: xp.sign(x) + 0,
     lambda _, x: (x.bound + 1, 0, 0), jump=True)  # fmt: skip
for _name in ("floor", "ceil", "trunc", "round"):
    _add(_name, lambda xp, _, x, name=_name: getattr(xp, name)(x),
         lambda _, x: (x.bound + 1, 0, 0), jump=True)  # fmt: skip
for _name in ("isnan", "isfinite", "signbit"):
    _add(_name, lambda xp, _, x, name=_name: getattr(xp, name)(x),
         lambda *_: (1, 0, 0), jump=True)  # fmt: skip


def _other_dtype(draw: Draw, x: Value) -> Params:
    floats, rest = ["float32", "float64"], ["int32", "int64", "bool"]
    exact = not x.error and x.kind != "f"
    return {"dtype": draw(st.sampled_from(floats + rest if exact else floats))}


_add("astype", lambda xp, p, x: xp.astype(x, p["dtype"]),
     lambda _, x: (x.bound, x.error, 1), _other_dtype, kinds="biuf")  # fmt: skip
_add("ones_like", lambda xp, _, x: xp.ones_like(x), lambda *_: (1, 0, 0),
     kinds="biuf")  # fmt: skip

# Elementwise functions of two operands

_add("add", lambda xp, _, x, y: x + y,
     lambda _, x, y: (x.bound + y.bound, x.error + y.error, 1),
     operands=2, kinds="iuf", smooth=True)  # fmt: skip
_add("subtract", lambda xp, _, x, y: x - y,
     lambda _, x, y: (x.bound + y.bound, x.error + y.error, 1),
     operands=2, kinds="if", smooth=True)  # fmt: skip
_add("multiply", lambda xp, _, x, y: x * y,
     lambda _, x, y: (x.bound * y.bound, x.bound * y.error + y.bound * x.error, 1),
     operands=2, kinds="iuf", smooth=True)  # fmt: skip
_add("ratio", lambda xp, _, x, y: x / (1 + y * y),
     lambda _, x, y: (x.bound, x.error + x.bound * y.error, 3),
     operands=2, smooth=True)  # fmt: skip
_add("maximum", lambda xp, _, x, y: xp.maximum(x, y), _move, operands=2,
     kinds="iuf")  # fmt: skip
_add("minimum", lambda xp, _, x, y: xp.minimum(x, y), _move, operands=2,
     kinds="iuf")  # fmt: skip
_add("where", lambda xp, _, x, y: xp.where(x < y, x, -y), _move, operands=2,
     kinds="if", jump=True)  # fmt: skip
_add("logical_and", lambda xp, _, x, y: xp.logical_and(x, y), _move, operands=2,
     kinds="b")  # fmt: skip
for _name in ("less", "equal", "greater_equal", "not_equal"):
    _add(_name, lambda xp, _, x, y, name=_name: getattr(xp, name)(x, y),
         lambda *_: (1, 0, 0), operands=2, kinds="iuf", jump=True)  # fmt: skip

# Reductions


def _axes(draw: Draw, x: Value) -> tuple[int, ...] | None:
    """Draw the axes of a reduction; None: all."""
    if not x.ndim or draw(st.booleans()):
        return None
    axes = st.sets(st.integers(0, x.ndim - 1), min_size=1)
    return tuple(sorted(draw(axes)))


def _reduced(draw: Draw, x: Value) -> Params:
    return {"axis": _axes(draw, x), "keepdims": draw(st.booleans())}


def _filled(draw: Draw, x: Value) -> Params | None:
    """Draw the axes of a reduction that has no value for no elements."""
    return _reduced(draw, x) if prod(x.shape) else None


def _one_axis(draw: Draw, x: Value) -> Params | None:
    if not x.ndim or not prod(x.shape):
        return None
    axis = draw(st.integers(0, x.ndim - 1))
    return {"axis": axis, "keepdims": draw(st.booleans())}


def _terms(p: Params, x: Value) -> int:
    axis = p["axis"]
    axes = range(x.ndim) if axis is None else np.atleast_1d(axis)
    return max(1, prod(x.shape[int(a)] for a in axes))


def _sum(p: Params, x: Value) -> Spread:
    n = _terms(p, x)
    return n * x.bound, n * x.error, n


def _mean(p: Params, x: Value) -> Spread:
    return x.bound, x.error, _terms(p, x) + 1


def _var(p: Params, x: Value) -> Spread:
    return 4 * x.bound**2, 8 * x.bound * x.error, 4 * _terms(p, x) + 4


def _std_squared(xp: Any, p: Params, x: Any) -> Any:
    return xp.square(xp.std(x, **p))  # the root alone has no bounded slope


def _reduce(name: str) -> Callable[..., Any]:
    return lambda xp, p, x: getattr(xp, name)(x, **p)


_add("sum", _reduce("sum"), _sum, _reduced, kinds="biuf", smooth=True)
_add("mean", _reduce("mean"), _mean, _filled, smooth=True)
_add("var", _reduce("var"), _var, _filled, smooth=True)
_add("std", _std_squared, _var, _filled)
_add("max", _reduce("max"), _move, _filled, kinds="iuf")
_add("min", _reduce("min"), _move, _filled, kinds="iuf")
_add("any", _reduce("any"), lambda *_: (1, 0, 0), _reduced, kinds="biuf", jump=True)
_add("all", _reduce("all"), lambda *_: (1, 0, 0), _reduced, kinds="biuf", jump=True)
for _name in ("argmax", "argmin"):
    _add(_name, _reduce(_name), lambda p, x: (_terms(p, x), 0, 0), _one_axis,
         kinds="iuf", jump=True)  # fmt: skip
_add("prod", lambda xp, p, x: xp.prod(xp.tanh(x), **p),
     lambda p, x: (1, _terms(p, x) * x.error, 2 * _terms(p, x)),
     _reduced)  # fmt: skip


def _softmax(xp: Any, p: Params, x: Any) -> Any:
    powers = xp.exp(x - xp.max(x, axis=p["axis"], keepdims=True))
    return powers / xp.sum(powers, axis=p["axis"], keepdims=True)


def _standardise(xp: Any, p: Params, x: Any) -> Any:
    centred = x - xp.mean(x, axis=p["axis"], keepdims=True)
    return centred / xp.sqrt(xp.var(x, axis=p["axis"], keepdims=True) + 0.5)


_add("softmax", _softmax, lambda p, x: (1, 2 * x.error, (3 + x.bound) + _terms(p, x)),
     _one_axis, smooth=True)  # fmt: skip
_add("standardise", _standardise,
     lambda p, x: (
         3 * x.bound,
         3 * x.error + 40 * x.bound**2 * x.error,
         (8 + 4 * x.bound**2) * (_terms(p, x) + 4),
     ), _one_axis, smooth=True)  # fmt: skip

# Along one axis


def _axis(draw: Draw, x: Value) -> Params | None:
    return {"axis": draw(st.integers(0, x.ndim - 1))} if x.ndim else None


def _roll(draw: Draw, x: Value) -> Params | None:
    params = _axis(draw, x)
    return params and {**params, "shift": draw(st.integers(-9, 9))}


_add("cumulative_sum", lambda xp, p, x: xp.cumulative_sum(x, axis=p["axis"]), _sum,
     _axis, kinds="iuf", smooth=True)  # fmt: skip
_add("sort", lambda xp, p, x: xp.sort(x, axis=p["axis"]), _move, _axis,
     kinds="iuf")  # fmt: skip
_add("argsort", lambda xp, p, x: xp.argsort(x, axis=p["axis"]),
     lambda p, x: (_terms(p, x), 0, 0), _axis, kinds="iuf", jump=True)  # fmt: skip
_add("flip", lambda xp, p, x: xp.flip(x, axis=p["axis"]), _move, _axis,
     kinds="biuf", smooth=True)  # fmt: skip
_add("roll", lambda xp, p, x: xp.roll(x, p["shift"], axis=p["axis"]), _move, _roll,
     kinds="biuf", smooth=True)  # fmt: skip


def _ramp(xp: Any, p: Params, x: Any) -> Any:
    shape = tuple(n if i == p["axis"] else 1 for i, n in enumerate(x.shape))
    steps = xp.astype(xp.arange(x.shape[p["axis"]]), x.dtype)
    return x + xp.reshape(steps, shape)


_add("ramp", _ramp, lambda p, x: (x.bound + _terms(p, x), x.error, 1), _axis,
     smooth=True)  # fmt: skip

# Shapes


def _index(draw: Draw, x: Value) -> Params:
    items: list[Any] = []
    for n in x.shape:
        if n and draw(st.integers(0, 4)) == 0:
            items.append(draw(st.integers(-n, n - 1)))
        else:
            items.append(draw(st.slices(n)))
    if draw(st.integers(0, 4)) == 0:
        items.insert(draw(st.integers(0, len(items))), None)
    return {"index": tuple(items)}


def _new_shape(draw: Draw, x: Value) -> Params | None:
    size = prod(x.shape)
    if not size:
        return None
    shape: list[int] = []
    while size > 1 and len(shape) < 2:
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        shape.append(draw(st.sampled_from(divisors)))
        size //= shape[-1]
    return {"shape": (*shape, size)}


def _permutation(draw: Draw, x: Value) -> Params:
    return {"axes": tuple(draw(st.permutations(range(x.ndim))))}


def _wider(draw: Draw, x: Value) -> Params:
    shape = [draw(st.integers(0, 4)) if n == 1 else n for n in x.shape]
    more = [] if x.ndim > 2 else draw(st.lists(st.integers(1, 3), max_size=1))
    return {"shape": (*more, *shape)}


def _new_axis(draw: Draw, x: Value) -> Params | None:
    return {"axis": draw(st.integers(-x.ndim - 1, x.ndim))} if x.ndim < 4 else None


def _short_axis(draw: Draw, x: Value) -> Params | None:
    short = [axis for axis, n in enumerate(x.shape) if n == 1]
    return {"axis": draw(st.sampled_from(short))} if short else None


_MOVES: Mapping[str, tuple[Callable[..., Any], Callable[..., Params | None]]] = {
    "getitem": (lambda xp, p, x: x[p["index"]], _index),
    "reshape": (lambda xp, p, x: xp.reshape(x, p["shape"]), _new_shape),
    "permute_dims": (lambda xp, p, x: xp.permute_dims(x, p["axes"]), _permutation),
    "broadcast_to": (lambda xp, p, x: xp.broadcast_to(x, p["shape"]), _wider),
    "expand_dims": (lambda xp, p, x: xp.expand_dims(x, axis=p["axis"]), _new_axis),
    "squeeze": (lambda xp, p, x: xp.squeeze(x, axis=p["axis"]), _short_axis),
}
for _name, (_apply, _params) in _MOVES.items():
    _add(_name, _apply, _move, _params, kinds="biuf", smooth=True)


def _joinable(draw: Draw, x: Value, y: Value) -> Params | None:
    axes = [
        axis
        for axis in range(x.ndim)
        if x.ndim == y.ndim
        and x.shape[:axis] == y.shape[:axis]
        and x.shape[axis + 1 :] == y.shape[axis + 1 :]
    ]
    return {"axis": draw(st.sampled_from(axes))} if axes else None


def _stackable(draw: Draw, x: Value, y: Value) -> Params | None:
    if x.shape != y.shape or x.ndim > 3:
        return None
    return {"axis": draw(st.integers(0, x.ndim))}


_add("concat", lambda xp, p, x, y: xp.concat([x, y], axis=p["axis"]), _move,
     _joinable, operands=2, kinds="biuf", smooth=True)  # fmt: skip
_add("stack", lambda xp, p, x, y: xp.stack([x, y], axis=p["axis"]), _move,
     _stackable, operands=2, kinds="biuf", smooth=True)  # fmt: skip

# Products


def _product(n: int, x: Value, y: Value) -> Spread:
    n = max(1, n)
    error = x.bound * y.error + y.bound * x.error
    return n * x.bound * y.bound, n * error, n + 1


def _matrices(_: Draw, x: Value, y: Value) -> Params | None:
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-2]:
        return None
    batch = zip(x.shape[-3::-1], y.shape[-3::-1], strict=False)
    return {} if all(a == b or 1 in {a, b} for a, b in batch) else None


def _same_last(_: Draw, x: Value, y: Value) -> Params | None:
    return {} if x.ndim and x.shape == y.shape else None


def _contraction(draw: Draw, x: Value, y: Value) -> Params | None:
    if x.ndim + y.ndim > 5:
        return None
    pairs = [
        (i, j) for i in range(x.ndim) for j in range(y.ndim) if x.shape[i] == y.shape[j]
    ]
    if not pairs:
        return None
    i, j = draw(st.sampled_from(pairs))
    return {"axes": ((i,), (j,))}


def _gram(xp: Any, _: Params, x: Any) -> Any:
    return xp.matmul(xp.matrix_transpose(x), x)


_add("matmul", lambda xp, _, x, y: xp.matmul(x, y),
     lambda _, x, y: _product(x.shape[-1], x, y), _matrices, operands=2,
     smooth=True)  # fmt: skip
_add("vecdot", lambda xp, _, x, y: xp.vecdot(x, y),
     lambda _, x, y: _product(x.shape[-1], x, y), _same_last, operands=2,
     smooth=True)  # fmt: skip
_add("tensordot", lambda xp, p, x, y: xp.tensordot(x, y, axes=p["axes"]),
     lambda p, x, y: _product(x.shape[p["axes"][0][0]], x, y), _contraction,
     operands=2, smooth=True)  # fmt: skip
_add("gram", _gram, lambda _, x: _product(x.shape[-2], x, x),
     lambda _, x: {} if x.ndim == 2 else None, smooth=True)  # fmt: skip


def rows(*, smooth: bool) -> Sequence[str]:
    """Return the names of all rows, or of the smooth ones.

    Examples
    --------
    >>> "argmax" in rows(smooth=False), "argmax" in rows(smooth=True)
    (True, False)
    """
    return [name for name, row in ROWS.items() if row.smooth or not smooth]
