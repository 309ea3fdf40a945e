"""Random programs over an array namespace, for Hypothesis.

1. `recipes` draws inputs and a list of steps; the types of intermediate values come
   from tracing `jax.numpy` on shapes, so a drawn recipe always runs.
2. `recipe(xp, *recipe.inputs)` runs the same steps with `jax.numpy` or `jask.numpy`.
3. `recipe.errors` says how much two correct runs may differ, per result.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jask.testing.operations import ROWS, Draw, Params, Row, Value, rows
from jask.testing.same import assert_same

__all__ = ["Recipe", "arrays", "assert_same", "recipes", "shapes"]

LENGTHS = (1, 2, 3, 5, 7, 8, 13, 0)
DTYPES = ("float32", "float64", "float32", "int32", "int64", "uint8", "bool", "float64")

MOST_ELEMENTS = 4096
"""No intermediate value is larger."""

LARGEST = 1e4
"""No finite element is larger, so that integers do not wrap and sums do not drown."""

ROUNDING = 4
"""How many units of rounding one operation may differ from another way to do it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One function applied to earlier values."""

    row: str
    operands: tuple[int, ...]
    params: Params

    def __repr__(self) -> str:
        """Show the call."""
        operands = [f"v{i}" for i in self.operands]
        params = [f"{k}={v}" for k, v in self.params.items()]
        return f"{self.row}({', '.join(operands + params)})"


@dataclass(frozen=True, slots=True)
class Recipe:
    """A random program: a function of a namespace and arrays."""

    inputs: tuple[np.ndarray[Any, Any], ...]
    """Arrays to run it on; others of the same types will do."""

    steps: tuple[Step, ...]
    """What is computed, in order."""

    results: tuple[int, ...]
    """Which values are returned."""

    values: tuple[Value, ...]
    """What is known of the inputs and of each step's value."""

    def __call__(self, xp: Any, *operands: Any) -> tuple[Any, ...]:
        """Run the steps with the functions of `xp`."""
        known = list(operands)
        for step in self.steps:
            chosen = [known[i] for i in step.operands]
            known.append(ROWS[step.row].apply(xp, step.params, *chosen))
        return tuple(known[i] for i in self.results)

    def loss(self, xp: Any, *operands: Any) -> Any:
        """Run the steps and reduce the results, which are smooth, to one number."""
        total = 0.0
        for result in self(xp, *operands):
            total = total + xp.sum(xp.sin(result))
        return total

    @property
    def errors(self) -> tuple[float, ...]:
        """By how much each result may differ between two correct runs."""
        return tuple(self.values[i].error for i in self.results)

    def __repr__(self) -> str:
        """Show the program as assignments."""
        lines = [
            f"v{i}: {a.dtype}{list(a.shape)} input" for i, a in enumerate(self.inputs)
        ]
        first = len(self.inputs)
        lines += [f"v{first + i} = {step!r}" for i, step in enumerate(self.steps)]
        lines.append("return " + ", ".join(f"v{i}" for i in self.results))
        return "\n".join(["Recipe:", *lines])


@st.composite
def shapes(draw: Draw, *, max_dims: int = 3, empty: bool = True) -> tuple[int, ...]:
    """Draw shapes: no axes, empty, one element, odd."""
    lengths = st.sampled_from(LENGTHS if empty else LENGTHS[:-1])
    dims = draw(st.sampled_from([*range(1, max_dims + 1), 0]))
    return tuple(draw(st.lists(lengths, min_size=dims, max_size=dims)))


@st.composite
def arrays(
    draw: Draw, shape: tuple[int, ...], dtype: Any, *, special: bool = False
) -> np.ndarray[Any, Any]:
    """Draw arrays of small numbers with ties and zeros of either sign.

    With `special`, floating-point arrays also have infinities and NaN.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = np.dtype(dtype).kind
    if kind in "biu":
        low, high = (-4, 5) if kind == "i" else (0, 2 if kind == "b" else 5)
        return np.asarray(rng.integers(low, high, shape)).astype(dtype)
    values = np.asarray(rng.uniform(-2, 2, shape))
    ties = np.asarray(rng.integers(-4, 5, shape)) / 2
    values = np.where(rng.random(shape) < 0.5, values, ties)
    odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan])[: 5 if special else 2]
    chosen = odd[rng.integers(0, len(odd), shape)]
    return np.asarray(np.where(rng.random(shape) < 0.1, chosen, values)).astype(dtype)


def _takes(row: Row, x: Value) -> bool:
    """Return whether a row may have this value as an operand."""
    return x.kind in row.kinds and (not row.jump or not x.error)


def _second(draw: Draw, row: Row, known: Sequence[Value], first: int) -> int | None:
    """Draw a second operand of the type of the first, to which the row applies."""
    x = known[first]
    found = [
        i
        for i, y in enumerate(known)
        if y.dtype == x.dtype and _takes(row, y) and _fits(row, x, y)
    ]
    return draw(st.sampled_from(found)) if found else None


def _fits(row: Row, x: Value, y: Value) -> bool:
    """Return whether a row of two operands applies, whatever else is drawn."""
    if row.elementwise:
        pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
        return all(a == b or 1 in {a, b} for a, b in pairs)
    return row.params(lambda _: (0, 0), x, y) is not None


def _type_of(step: Step, known: Sequence[Value]) -> Value | None:
    """Return what is known of a step's value; None if it is too large."""
    row = ROWS[step.row]
    operands = [known[i] for i in step.operands]
    avals = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in operands]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Explicitly requested dtype")
        out = jax.eval_shape(lambda *xs: row.apply(jnp, step.params, *xs), *avals)
    bound, error, roundings = row.spread(step.params, *operands)
    value = Value(tuple(out.shape), out.dtype, bound)
    if prod(value.shape) > MOST_ELEMENTS or len(value.shape) > 5 or bound > LARGEST:
        return None
    if row.jump or value.kind != "f":
        return value if not error else None
    unit = float(jnp.finfo(out.dtype).eps) * ROUNDING
    return replace(value, error=error + roundings * unit * max(bound, 1.0))


def _step(
    draw: Draw, known: Sequence[Value], names: Sequence[str]
) -> tuple[Step, Value] | None:
    """Draw one step, or nothing if what was drawn does not apply."""
    newest = draw(st.sampled_from(range(len(known))[::-1]))
    takers = [n for n in names if _takes(ROWS[n], known[newest])]
    takers = takers[::-1] if draw(st.booleans()) else takers  # either end is as likely
    name = draw(st.sampled_from(takers))
    row = ROWS[name]
    chosen = [newest]
    if row.operands == 2:
        second = _second(draw, row, known, newest)
        if second is None:
            return None
        chosen.append(second)
    params = row.params(draw, *(known[i] for i in chosen))
    if params is None:
        return None
    step = Step(name, tuple(chosen), params)
    value = _type_of(step, known)
    return None if value is None else (step, value)


@st.composite
def recipes(
    draw: Draw,
    *,
    smooth: bool = False,
    special: bool = False,
    max_steps: int = 7,
    dtypes: Sequence[str] = DTYPES,
    empty: bool = True,
) -> Recipe:
    """Draw random programs.

    Parameters
    ----------
    draw
        Given by Hypothesis.
    smooth
        Only floating-point functions that have a derivative everywhere.
    special
        Inputs have infinities and NaN.
    max_steps
        The most functions a program has.
    dtypes
        The dtypes of inputs.
    empty
        Whether arrays may have no elements.
    """
    allowed = [d for d in dtypes if d.startswith("float") or not smooth]
    dtype = draw(st.sampled_from(allowed))
    shape = draw(shapes(empty=empty))
    others = draw(st.sampled_from([(), (shape,), (shape[-1:],), (shape[::-1],)]))
    inputs = tuple(draw(arrays(s, dtype, special=special)) for s in (shape, *others))
    known = [Value(a.shape, a.dtype, 5.0) for a in inputs]
    steps: list[Step] = []
    names = rows(smooth=smooth)
    for _ in range(draw(st.sampled_from(range(1, max_steps + 1)))):
        found = _step(draw, known, names)
        if found is not None:
            steps.append(found[0])
            known.append(found[1])
    count = len(known)
    results = {count - 1, draw(st.integers(max(0, count - 3), count - 1))}
    return Recipe(inputs, tuple(steps), tuple(sorted(results)), tuple(known))
