"""scatter: elements at given indices replaced by, or joined with, updates.

1. A box of the result takes its own part of the operand and all the updates; indices
   are counted from where the box starts, and those that fall outside are dropped. Axes
   that windows span whole, and batch axes, are streamed.
2. Where the updates do not fit a tile they are walked instead: parts of them are joined
   with nothing, or the first with the operand, and the results with each other. So a
   histogram streams. Where updates replace elements, the number of the update that an
   element has is carried along: the last one wins.
3. A scatter of one window at a position known when the program is built, as `x.at[2:5]`
   makes it, asks for its share of the window only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jax import lax

from jask.geometry.box import Box
from jask.rules._blocks import at_least_single, crop, highest, lowest, wide
from jask.rules._table import Kind, Link, Need, Reduction, bind, register
from jask.rules.gather import MODE, pairs
from jask.trace.ir import Atom, Equation, Literal

type Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ScatterAxes:
    """How the axes of operand, indices and updates of a scatter correspond."""

    window: Mapping[int, int]
    """Updates axis of each operand axis that windows have."""

    batch: tuple[int, ...]
    """Updates axis of each axis of the indices but the last."""

    paired: Mapping[int, int]
    """Axis of the indices of each batch axis of the operand."""

    indexed: Mapping[int, int]
    """Which component of an index vector places the window on an operand axis."""

    size: tuple[int, ...]
    """Length of a window on each operand axis."""

    @classmethod
    def of(cls, eqn: Equation) -> "ScatterAxes":
        """Read them from the parameters."""
        dims = eqn.params["dimension_numbers"]
        operand, _, updates = eqn.inputs
        gone = {*dims.inserted_window_dims, *dims.operand_batching_dims}
        kept = (d for d in range(operand.ndim) if d not in gone)
        window = dict(zip(kept, map(int, dims.update_window_dims), strict=True))
        size = [1] * operand.ndim
        for d, u in window.items():
            size[d] = updates.shape[u]
        return cls(
            window,
            tuple(d for d in range(updates.ndim) if d not in window.values()),
            pairs(dims.operand_batching_dims, dims.scatter_indices_batching_dims),
            {int(d): j for j, d in enumerate(dims.scatter_dims_to_operand_dims)},
            tuple(size),
        )

    def role(self, d: int, length: int) -> str:
        """Return how an operand axis of this length is treated."""
        if d in self.paired:
            return "paired"
        if d in self.indexed:
            return "shifted" if self.size[d] == 1 else "whole"
        return "streamed" if self.size[d] == length else "whole"


JOINS: Mapping[str, Callable[[Any, Any], Any]] = {
    "scatter": lambda _, new: new,
    "scatter-add": lax.add,
    "scatter-sub": lax.sub,
    "scatter-mul": lax.mul,
    "scatter-min": lax.min,
    "scatter-max": lax.max,
}
"""What an update does to an element."""


class Scatter(Reduction):
    """The operand with windows replaced by, or joined with, updates."""

    kind: ClassVar[Kind] = "indexed"

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for the operand's box and the updates that may reach it."""
        if 0 in eqn.inputs[2].shape:
            return Need((out, None, None), "untouched")
        axes = ScatterAxes.of(eqn)
        starts = _known_window(eqn, axes)
        if starts is not None:
            return _share(eqn, axes, starts, out)
        places, new, offsets = _reached(eqn, out, {})
        own = (
            (0, n) if axes.role(d, n) == "whole" else span
            for d, (span, n) in enumerate(
                zip(out.intervals, eqn.inputs[0].shape, strict=True)
            )
        )
        return Need((Box.of(own), places, new), "indexed", tuple(offsets))

    def origins(self, eqn: Equation) -> Sequence[tuple[int, ...] | None]:
        """Return where one window begins, if that is known."""
        return [None, None, _known_window(eqn, ScatterAxes.of(eqn))]

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Scatter into the block at shifted indices, crop the axes taken whole."""
        block, indices, updates = blocks
        if need.key == "untouched":
            return block
        if need.key != "indexed":
            return _joined(eqn, need.key, offsets, block, updates)
        axes = ScatterAxes.of(eqn)
        roles = [axes.role(d, n) for d, n in enumerate(eqn.inputs[0].shape)]
        places = _shifted(eqn, axes, roles, offsets, indices)
        # an index that was in bounds may now lie outside the block
        result = bind(eqn, block, places, updates, mode=MODE.FILL_OR_DROP)
        starts = [
            o if role == "whole" else 0 for o, role in zip(offsets, roles, strict=True)
        ]
        return crop(result, starts, shape)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link all axes of the operand; streamed and batch axes of the others."""
        axes = ScatterAxes.of(eqn)
        links: list[Link] = []
        for d, n in enumerate(eqn.inputs[0].shape):
            links.append(Link(0, d, d))
            role = axes.role(d, n)
            if role == "streamed":
                links.append(Link(2, axes.window[d], d))
            elif role == "paired":
                links.append(Link(1, axes.paired[d], d))
                links.append(Link(2, axes.batch[axes.paired[d]], d))
        return links

    # ---- walking the updates

    def can_fold(self, eqn: Equation) -> bool:
        """Return whether parts of the updates can be joined one by one."""
        axes = ScatterAxes.of(eqn)
        roles = [axes.role(d, n) for d, n in enumerate(eqn.inputs[0].shape)]
        function = eqn.name == "scatter" and eqn.params["update_jaxpr"] is not None
        folded = eqn.name in FOLDED and not function
        return folded and "whole" not in roles and bool(_walked(axes))

    def domain(self, eqn: Equation) -> tuple[int, ...]:
        """Return the operand's axes, then the axes of the indices that are walked."""
        operand, indices, _ = eqn.inputs
        walked = _walked(ScatterAxes.of(eqn))
        return (*operand.shape, *(indices.shape[i] for i in walked))

    def sources(self, eqn: Equation) -> tuple[tuple[int, int], ...]:
        """Return the axes of the operand and of the indices."""
        walked = _walked(ScatterAxes.of(eqn))
        return (*((0, d) for d in self.kept(eqn)), *((1, i) for i in walked))

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Ask for a part of the updates and for the operand's box.

        The offsets end with where the part starts, and whether the operand was joined
        with an earlier one.
        """
        ndim = eqn.inputs[0].ndim
        own, tail = Box.of(part.intervals[:ndim]), part.intervals[ndim:]
        walked = dict(zip(_walked(ScatterAxes.of(eqn)), tail, strict=True))
        places, new, offsets = _reached(eqn, own, walked)
        later = any(a for a, _ in tail)
        starts = (a for a, _ in tail)
        return Need((own, places, new), offsets=(*offsets, *starts, int(later)))

    def accumulators(self, eqn: Equation) -> tuple[Any, ...]:
        """Return the wide type of sums and products, else the result's.

        And that of the number of an update, where the last one wins.
        """
        dtype, fold = eqn.outputs[0].dtype, FOLDED[eqn.name]
        kept = wide(dtype) if fold.widened else dtype
        return (kept,) if fold.join else (kept, np.dtype(np.int64))

    def init(self, eqn: Equation, shape: tuple[int, ...]) -> Sequence[Any]:
        """Return the identity everywhere, made by no update."""
        dtype, *numbers = self.accumulators(eqn)
        value = jnp.full(shape, FOLDED[eqn.name].identity(dtype), dtype)
        return (value, *(jnp.full(shape, -1, n) for n in numbers))

    def partial(
        self, eqn: Equation, offsets: Sequence[Any], blocks: Sequence[Any]
    ) -> Sequence[Any]:
        """Join a part of the updates with the operand, or with the identity."""
        block, indices, updates = blocks
        fold, axes = FOLDED[eqn.name], ScatterAxes.of(eqn)
        moves, (*starts, later) = offsets[: block.ndim], offsets[block.ndim :]
        work = at_least_single(block.dtype) if fold.widened else block.dtype
        base = jnp.where(later > 0, fold.identity(work), block.astype(work))
        roles = [axes.role(d, n) for d, n in enumerate(eqn.inputs[0].shape)]
        places = _shifted(eqn, axes, roles, moves, indices)
        how: dict[str, Any] = {"mode": MODE.FILL_OR_DROP}
        dims = eqn.params["dimension_numbers"]
        joined = fold.scatter(base, places, updates.astype(work), dims, **how)
        joined = joined.astype(self.accumulators(eqn)[0])
        if fold.join:
            return (joined,)
        before = jnp.full(block.shape, jnp.where(later > 0, -1, 0), np.int64)
        numbers = _numbers(eqn, axes, starts, updates.shape)
        return joined, lax.scatter_max(before, places, numbers, dims, **how)

    def combine(
        self, eqn: Equation, first: Sequence[Any], second: Sequence[Any]
    ) -> Sequence[Any]:
        """Join element by element."""
        join = FOLDED[eqn.name].join
        if join:
            return (join(first[0], second[0]),)
        later = second[1] > first[1]
        return tuple(jnp.where(later, b, a) for a, b in zip(first, second, strict=True))

    def finish(self, eqn: Equation, accumulators: Sequence[Any]) -> Sequence[Any]:
        """Round to the result's type."""
        return (accumulators[0].astype(eqn.outputs[0].dtype),)


@dataclass(frozen=True, slots=True)
class Fold:
    """How parts of the updates of a scatter are joined."""

    scatter: Callable[..., Any]
    """Joins updates with elements."""

    join: Callable[[Any, Any], Any] | None
    """Joins the results of two parts; None: the last update wins."""

    identity: Callable[[Any], Any]
    """What changes nothing, in a type."""

    widened: bool = False
    """Whether rounding makes it worth keeping in a wider type."""


def _zero(dtype: Any) -> Any:
    return np.zeros((), dtype)[()]


def _one(dtype: Any) -> Any:
    return np.ones((), dtype)[()]


FOLDED: Mapping[str, Fold] = {
    "scatter": Fold(lax.scatter, None, _zero),
    "scatter-add": Fold(lax.scatter_add, lax.add, _zero, widened=True),
    "scatter-sub": Fold(lax.scatter_sub, lax.add, _zero, widened=True),
    "scatter-mul": Fold(lax.scatter_mul, lax.mul, _one, widened=True),
    "scatter-min": Fold(lax.scatter_min, lax.min, highest),
    "scatter-max": Fold(lax.scatter_max, lax.max, lowest),
}
"""How scatters are carried across parts of their updates."""


def _numbers(
    eqn: Equation, axes: ScatterAxes, starts: Sequence[Any], shape: tuple[int, ...]
) -> Any:
    """Return the number, from 1, of each update of a part, in the part's shape."""
    total: Any = 1
    stride = 1
    for i, start in reversed(list(zip(_walked(axes), starts, strict=True))):
        along = lax.broadcasted_iota(np.int64, shape, axes.batch[i]) + start
        total = total + along * stride
        stride *= eqn.inputs[1].shape[i]
    return total


def _walked(axes: ScatterAxes) -> tuple[int, ...]:
    """Return the axes of the indices that belong to no axis of the operand."""
    return tuple(i for i in range(len(axes.batch)) if i not in axes.paired.values())


def _reached(
    eqn: Equation, out: Box, walked: Mapping[int, Span]
) -> tuple[Box, Box, list[int]]:
    """Return the boxes of indices and updates that may reach a box, and its starts.

    `walked` limits axes of the indices.
    """
    axes = ScatterAxes.of(eqn)
    operand, indices, updates = eqn.inputs
    places: list[Span] = [(0, n) for n in indices.shape]
    new: list[Span] = [(0, n) for n in updates.shape]
    for i, span in walked.items():
        places[i] = new[axes.batch[i]] = span
    offsets: list[int] = []
    for d, (span, n) in enumerate(zip(out.intervals, operand.shape, strict=True)):
        role = axes.role(d, n)
        offsets.append(span[0] if role in {"whole", "shifted"} else 0)
        if role == "paired":
            places[axes.paired[d]] = span
            new[axes.batch[axes.paired[d]]] = span
        elif role == "streamed":
            new[axes.window[d]] = span
    return Box.of(places), Box.of(new), offsets


def _shifted(
    eqn: Equation,
    axes: ScatterAxes,
    roles: Sequence[str],
    offsets: Sequence[Any],
    indices: Any,
) -> Any:
    """Return the indices, counted from the start of the block."""
    places = indices.astype(np.int64)
    shape = eqn.inputs[0].shape
    if eqn.params["mode"] == MODE.CLIP:
        limits = [shape[d] - axes.size[d] for d in axes.indexed]
        places = jnp.clip(places, 0, np.asarray(limits, np.int64))
    moves = [offsets[d] if roles[d] == "shifted" else 0 for d in axes.indexed]
    return places - jnp.stack([jnp.asarray(m, np.int64) for m in moves])


def _known_window(eqn: Equation, axes: ScatterAxes) -> tuple[int, ...] | None:
    """Return where the one window of a scatter starts, if that is known."""
    plain = eqn.name != "scatter" or eqn.params["update_jaxpr"] is None
    if eqn.inputs[1].ndim != 1 or not plain:
        return None
    index = known(eqn.inputs[1]) if axes.indexed else ()
    if index is None:
        return None
    starts = [0] * eqn.inputs[0].ndim
    for d, j in axes.indexed.items():
        starts[d] = int(index[j])
        if eqn.params["mode"] == MODE.CLIP:
            limit = eqn.inputs[0].shape[d] - axes.size[d]
            starts[d] = min(max(starts[d], 0), limit)
    return tuple(starts)


def _share(eqn: Equation, axes: ScatterAxes, starts: tuple[int, ...], out: Box) -> Need:
    """Return the need for a box of a scatter of one known window."""
    stops = tuple(map(sum, zip(starts, axes.size, strict=True)))
    window = Box(starts, stops)
    share = window & out
    if window not in Box.whole(eqn.inputs[0].shape) or 0 in share.shape:
        return Need((out, None, None), "untouched")
    updates = [(0, 1)] * eqn.inputs[2].ndim
    for d, u in axes.window.items():
        a, b = share.intervals[d]
        updates[u] = (a - starts[d], b - starts[d])
    covered = eqn.name == "scatter" and share == out
    boxes = (None if covered else out, None, Box.of(updates))
    return Need(boxes, share.shape, share.relative_to(out))


def _joined(
    eqn: Equation, size: Any, offsets: Sequence[Any], block: Any, updates: Any
) -> Any:
    """Join a share of one window, of this size, with the block."""
    kept = sorted(ScatterAxes.of(eqn).window.items())
    ordered = lax.transpose(updates, [u for _, u in kept])
    new = lax.reshape(ordered, size)
    if block is None:
        return new
    at = [jnp.asarray(o, np.int64) for o in offsets]
    old = lax.dynamic_slice(block, at, size)
    return lax.dynamic_update_slice(block, JOINS[eqn.name](old, new), at)


def known(atom: Atom) -> np.ndarray[Any, Any] | None:
    """Return the value of a small vector made from Literals, or None.

    Examples
    --------
    >>> known(Literal(np.asarray(3)))
    array(3)
    """
    if isinstance(atom, Literal):
        return atom.value
    eqn = atom.producer
    if eqn is None or atom.size > 64:
        return None
    make = _MAKERS.get(eqn.name)
    values = [known(a) for a in eqn.inputs] if make else [None]
    if make is None or any(v is None for v in values):
        return None
    found: np.ndarray[Any, Any] | None = make(eqn, values)
    return found


_MAKERS: Mapping[str, Callable[[Equation, list[Any]], Any]] = {
    "broadcast_in_dim": lambda eqn, v: (
        np.full(eqn.outputs[0].shape, v[0]) if v[0].size == 1 else None
    ),
    "concatenate": lambda eqn, v: np.concatenate(v, eqn.params["dimension"]),
    "convert_element_type": lambda eqn, v: v[0].astype(eqn.outputs[0].dtype),
    "reshape": lambda eqn, v: (
        v[0].reshape(eqn.outputs[0].shape) if v[0].ndim <= 1 else None
    ),
}

register(JOINS, Scatter())
