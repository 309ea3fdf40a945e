"""Large products by NumPy's BLAS: half to three quarters of what XLA:CPU takes.

The kernel of a pass that multiplies blocks is in two parts. XLA makes the rest of the
step, and the operands that are not read as they are; then BLAS multiplies, and the
product is added to the accumulator where it lies.

BLAS has threads of its own: one for each of several workers, or else as many as there
are processors, as long as the pass runs.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import numpy as np
from threadpoolctl import ThreadpoolController

from jask.plan.blas import blas_roots, is_by_blas, strip
from jask.plan.ir import Pass, Root
from jask.plan.lower import Head, Lowered, Ref

__all__ = ["Product", "blas_threads", "multiplied", "products_of"]

type Array = np.ndarray[Any, Any]
type Step = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Product:
    """A product by BLAS, of two matrices or of a matrix and a vector."""

    operands: tuple[int | None, int | None]
    """Which load each operand is; None: it is computed."""

    turned: tuple[bool, bool]
    """Whether `numpy.matmul` takes the transpose of each operand."""

    domain: tuple[int, ...]
    """The axes of the result's tile, and the length that is summed over."""

    dtype: np.dtype[Any]
    """Of the operands and of the product."""

    same: bool
    """Whether both operands are one."""

    made: int
    """Bytes of the operands that are computed."""

    @property
    def room(self) -> tuple[int, ...]:
        """Shape of what is made at a time before it is added."""
        return strip(self.domain[:-1], self.dtype.itemsize)

    def computed(self, operands: Sequence[Any]) -> list[Any]:
        """Return those of the operands that are computed."""
        pairs = zip(self.operands, operands, strict=True)
        made = [operand for load, operand in pairs if load is None]
        return made[:1] if self.same else made

    def add(
        self, blocks: Sequence[Any], computed: Sequence[Any], total: Array, room: Array
    ) -> None:
        """Add the product of two blocks to a total; `room` takes a part of it."""
        rest = iter([*computed, *computed] if self.same else computed)
        taken = [next(rest) if k is None else blocks[k] for k in self.operands]
        left, right = (
            x.T if turned else x
            for x, turned in zip(map(np.asarray, taken), self.turned, strict=True)
        )
        if room.shape == total.shape:
            np.add(total, np.matmul(left, right, out=room), out=total)
            return
        for start in range(0, len(total), len(room)):
            rows = slice(start, start + len(room))
            made = room[: len(total[rows])]
            np.add(total[rows], np.matmul(left[rows], right, out=made), out=total[rows])


def products_of(p: Pass, low: Lowered) -> Mapping[int, Product]:
    """Return the products of a tile that BLAS computes, by their place in its heads."""
    roots = blas_roots(p)
    heads = enumerate(low.heads)
    return {k: _product(p.roots[h.root], h) for k, h in heads if h.root in roots}


def _product(root: Root, head: Head) -> Product:
    assert root.eqn is not None
    (left_sum, right_sum), _ = root.eqn.params["dimension_numbers"]
    flat = [a.ndim == 1 for a in root.eqn.inputs]
    turned = (not flat[0] and left_sum[0] == 0, not flat[1] and right_sum[0] == 1)
    left, right = map(_load, head.refs)
    *sides, depth = head.shape
    rows, columns = 1 if flat[0] else sides[0], 1 if flat[1] else sides[-1]
    dtype = root.eqn.outputs[0].dtype
    same = head.refs[0] == head.refs[1]
    made = rows * (left is None) + columns * (right is None and not same)
    nbytes = made * depth * dtype.itemsize
    return Product((left, right), turned, head.shape, dtype, same, nbytes)


def _load(ref: Ref | None) -> int | None:
    if ref is None or ref.kind != "load" or ref.crop is not None:
        return None
    return ref.index


def multiplied(inner: Step | None, products: Mapping[int, Product]) -> Step:
    """Return a step that runs `inner` and then the products.

    Of a product, `inner` makes the operands that are computed. The step adds it to its
    accumulator in place, and takes room for it as the spare.
    """

    def step(
        offsets: Any, carried: Sequence[Any], spares: Sequence[Any], *blocks: Any
    ) -> list[list[Any]]:
        made: list[list[Any]] = [[] for _ in carried]
        if inner is not None:
            own, free = (
                [[] if k in products else x for k, x in enumerate(items)]
                for items in (carried, spares)
            )
            made = jax.block_until_ready(inner(offsets, own, free, *blocks))
        for k, product in products.items():
            (total,), (room,) = carried[k], spares[k]
            product.add(blocks, made[k], total, room)
            made[k] = [total]
        return made

    return step


# ---- threads


def blas_threads(p: Pass) -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses what the workers of a pass leave to it.

    The thread that runs the pass and each worker enter it: for some libraries the
    number of threads is a setting of the process, for others one of each thread. Limits
    of another thread of the process stay as they are.
    """
    if not any(map(is_by_blas, p.roots)):
        return nullcontext()
    threads = 1 if p.workers > 1 else len(os.sched_getaffinity(0))
    limits: AbstractContextManager[Any]
    limits = _libraries().limit(limits=threads, user_api="blas")
    return limits


@cache
def _libraries() -> ThreadpoolController:
    """Return what controls the libraries of this process; they are loaded by now."""
    return ThreadpoolController()
