"""Convolutions, with strides, dilations, padding, and groups of features or batches.

The domain is the result's axes, then what is summed: the input features and the taps of
the kernel. A part of it needs what those taps see of the left operand (a halo; padding
at its edges is part of the compiled kernel) and a box of the right one. So a gradient
with respect to the kernel, which is a convolution that sums over the batch and over
every place, is a fold over both.

With groups, a part asks for whole groups of output features where it touches several
(and crops them), and for the hull of what these take of the left operand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
from jax import lax

from jask.geometry.box import Box
from jask.geometry.window import Span, Window
from jask.rules._blocks import DType, at_least_single, crop_axis
from jask.rules._table import Link, Need, bind, register
from jask.rules.contract import SumOfProducts
from jask.rules.windows import all_spans, make_windows, seen, walked
from jask.trace.ir import Equation


@dataclass(frozen=True, slots=True)
class Layout:
    """Which axis of an array is its batch, its features, its places."""

    first: int
    """The batch; of a kernel: output features."""

    second: int
    """The features; of a kernel: input features."""

    places: tuple[int, ...]
    """The axes along which windows slide; of a kernel: taps."""

    @classmethod
    def of(cls, eqn: Equation) -> tuple["Layout", "Layout", "Layout"]:
        """Return the layouts of left operand, kernel and result."""
        return _layouts(eqn.params["dimension_numbers"])

    def box(self, first: Span, second: Span, places: Sequence[Span]) -> Box:
        """Return the box with these intervals."""
        spans = {self.first: first, self.second: second}
        spans.update(zip(self.places, places, strict=True))
        return Box.of(spans[d] for d in range(len(spans)))


@lru_cache(maxsize=1024)
def _layouts(numbers: Any) -> tuple[Layout, Layout, Layout]:
    specs = (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec)
    left, right, out = (Layout(s[0], s[1], tuple(s[2:])) for s in specs)
    return left, right, out


@dataclass(frozen=True, slots=True)
class Groups:
    """What a part of the result takes of each group."""

    count: int
    """How many groups it touches."""

    features: Span
    """Output features that are computed: all of each group where it touches several."""

    first: int
    """The first group."""

    @classmethod
    def of(cls, eqn: Equation, features: Span) -> "Groups":
        """Return the groups of some output features."""
        out = Layout.of(eqn)[2]
        each = eqn.outputs[0].shape[out.second] // groups_of(eqn)
        first, after = features[0] // each, (features[1] - 1) // each + 1
        if after - first > 1:
            features = (first * each, after * each)
        return cls(after - first, features, first)

    def hull(self, each: int, span: Span) -> Span:
        """Return what holds an interval of each group of so many."""
        last = self.first + self.count - 1
        return (self.first * each + span[0], last * each + span[1])


def groups_of(eqn: Equation) -> int:
    """Return how many groups a convolution has, of features or of batches."""
    return max(
        int(eqn.params["feature_group_count"]), int(eqn.params["batch_group_count"])
    )


def windows_of(eqn: Equation) -> tuple[Window, ...]:
    """Return the window along each axis of places."""
    p, right, shape = eqn.params, Layout.of(eqn)[1], eqn.inputs[1].shape
    return make_windows(
        tuple(shape[d] for d in right.places),
        p["window_strides"],
        p["padding"],
        p["lhs_dilation"],
        p["rhs_dilation"],
    )


def _summed(eqn: Equation) -> tuple[int, ...]:
    """Return the axes of the kernel that are summed over: input features, taps."""
    right = Layout.of(eqn)[1]
    return (right.second, *right.places)


def _lengths(eqn: Equation) -> tuple[int, ...]:
    """Return how many input features and taps are summed over."""
    return tuple(eqn.inputs[1].shape[d] for d in _summed(eqn))


class Convolution(SumOfProducts):
    """`conv_general_dilated`; its domain is the result's axes, input features, taps."""

    def need(self, eqn: Equation, out: Box) -> Need:
        """Ask for all input features and taps."""
        return self._need(eqn, out.intervals, [(0, n) for n in _lengths(eqn)])

    def emit(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        need: Need,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Any:
        """Convolve the blocks; nothing but padding gives zeros."""
        result = eqn.outputs[0].dtype
        if blocks[0] is None:
            return jnp.zeros(shape, result)
        convolved = _convolved(eqn, need.key, blocks, result)
        axis = Layout.of(eqn)[2].second
        return crop_axis(convolved, offsets[0], shape[axis], axis)

    def links(self, eqn: Equation) -> Sequence[Link]:
        """Link batches, output features, and places where windows slide by one."""
        left, right, out = Layout.of(eqn)
        links = []
        if eqn.params["batch_group_count"] == 1:
            links.append(Link(0, left.first, out.first))
        links.append(Link(1, right.first, out.second))
        if groups_of(eqn) == eqn.outputs[0].shape[out.second] == _length(eqn, left):
            links.append(Link(0, left.second, out.second))
        return links + [
            Link(0, i, o)
            for i, o, w in zip(left.places, out.places, windows_of(eqn), strict=True)
            if w.slides and eqn.inputs[0].shape[i] == eqn.outputs[0].shape[o]
        ]

    # ---- sums that do not fit a tile

    def can_fold(self, eqn: Equation) -> bool:
        """Return whether much is summed."""
        return bool(walked(_lengths(eqn)))

    def domain(self, eqn: Equation) -> tuple[int, ...]:
        """Return the result's shape, and the long axes of what is summed."""
        lengths = _lengths(eqn)
        return (*eqn.outputs[0].shape, *(lengths[k] for k in walked(lengths)))

    def sources(self, eqn: Equation) -> tuple[tuple[int, int], ...]:
        """Return the left operand's batch and places, else the kernel's axes.

        Places, and batches in groups, may have other lengths than the domain's axes.
        """
        left, right, out = Layout.of(eqn)
        summed = _summed(eqn)
        where = {out.first: (0, left.first), out.second: (1, right.first)}
        where.update((o, (0, i)) for i, o in zip(left.places, out.places, strict=True))
        kept = (where[d] for d in range(len(where)))
        return (*kept, *((1, summed[k]) for k in walked(_lengths(eqn))))

    def need_part(self, eqn: Equation, part: Box) -> Need:
        """Ask for what some features and taps see."""
        ndim = eqn.outputs[0].ndim
        summed = all_spans(_lengths(eqn), part.intervals[ndim:])
        return self._need(eqn, part.intervals[:ndim], summed)

    def _need(
        self, eqn: Equation, spans: Sequence[Span], summed: Sequence[Span]
    ) -> Need:
        """Return the boxes; the key is padding and groups."""
        left, right, out = Layout.of(eqn)
        inner, *taps = summed
        operand = eqn.inputs[0].shape
        found = seen(
            windows_of(eqn),
            [operand[d] for d in left.places],
            [spans[d] for d in out.places],
            taps,
        )
        if found is None or inner[0] == inner[1]:
            return Need((None, None), offsets=(0,))
        places, padding = found
        batch, features = spans[out.first], spans[out.second]
        groups = Groups.of(eqn, features)
        taken = inner
        if eqn.params["feature_group_count"] > 1:
            taken = groups.hull(_each(eqn), inner)
        elif eqn.params["batch_group_count"] > 1:
            batch = groups.hull(_each(eqn), batch)
        boxes = (
            left.box(batch, taken, places),
            right.box(groups.features, inner, taps),
        )
        start = features[0] - groups.features[0]
        return Need(boxes, (padding, groups.count), (start,))

    def contribution(
        self,
        eqn: Equation,
        shape: tuple[int, ...],
        key: Any,
        offsets: Sequence[Any],
        blocks: Sequence[Any],
    ) -> Sequence[Any]:
        """Convolve the blocks, in single precision at least."""
        if blocks[0] is None:
            return self.init(eqn, shape[: eqn.outputs[0].ndim])
        part = _convolved(eqn, key, blocks, at_least_single(eqn.outputs[0].dtype))
        axis = Layout.of(eqn)[2].second
        part = crop_axis(part, offsets[0], shape[axis], axis)
        return (part.astype(self.accumulators(eqn)[0]),)


def _length(eqn: Equation, left: Layout) -> int:
    """Return the number of features of the left operand."""
    return eqn.inputs[0].shape[left.second]


def _each(eqn: Equation) -> int:
    """Return how many features, or batches, of the left operand a group has."""
    left, _, out = Layout.of(eqn)
    if eqn.params["feature_group_count"] > 1:
        return _length(eqn, left) // groups_of(eqn)
    return eqn.outputs[0].shape[out.first]


def _convolved(eqn: Equation, key: Any, blocks: Sequence[Any], dtype: DType) -> Any:
    """Convolve blocks whose padding and number of groups are the key."""
    padding, count = key
    left = Layout.of(eqn)[0]
    operand, kernel = blocks
    by_feature = eqn.params["feature_group_count"] > 1
    by_batch = eqn.params["batch_group_count"] > 1
    if count > 1:
        axis = left.second if by_feature else left.first
        operand = _of_each(operand, axis, count, _each(eqn))
    return bind(
        eqn,
        operand,
        kernel,
        padding=padding,
        feature_group_count=count if by_feature else 1,
        batch_group_count=count if by_batch else 1,
        preferred_element_type=dtype,
    )


def _of_each(block: Any, axis: int, count: int, each: int) -> Any:
    """Return the same interval of each group, from a block that is their hull."""
    length = block.shape[axis] - (count - 1) * each
    if length == each:
        return block
    padding = [(0, 0, 0)] * block.ndim
    padding[axis] = (0, each - length, 0)
    before, after = block.shape[:axis], block.shape[axis + 1 :]
    block = lax.pad(block, jnp.zeros((), block.dtype), padding)
    block = block.reshape((*before, count, each, *after))
    block = lax.slice_in_dim(block, 0, length, axis=axis + 1)
    return block.reshape((*before, count * length, *after))


register(["conv_general_dilated"], Convolution())
