"""Large products by NumPy's BLAS: half to three quarters of what XLA:CPU takes.

The kernel of a pass that multiplies blocks is in two parts. XLA makes the rest of the
step, and the operands that are not read as they are; then BLAS multiplies, and the
product is added to the accumulator where it lies: a large one by BLAS itself, which
needs no room for it.

BLAS has threads of its own: one for each of several workers, or else as many as there
are processors, as long as the pass runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from threading import Lock
from typing import Any

import jax
import numpy as np
from threadpoolctl import ThreadpoolController

from jask._client import processors
from jask.execute.gemm import add_product, load_blas
from jask.plan.blas import blas_roots, room as room_of
from jask.plan.ir import Pass, Root
from jask.plan.lower import Head, Lowered, Record, Ref

__all__ = ["Product", "blas_threads", "multiplied", "products_of"]

type Array = np.ndarray[Any, Any]
type Step = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Part:
    """An operand that is read as it is: a load, or a part of one."""

    load: int

    crop: tuple[int, ...] | None
    """Shape of the part."""

    at: int
    """Where the step's run-time integers say where the part begins."""

    def of(self, blocks: Sequence[Any], offsets: Array) -> Array:
        """Return the operand."""
        block = np.asarray(blocks[self.load])
        if self.crop is None:
            return block
        first = offsets[self.at : self.at + len(self.crop)]
        ranges = zip(first, self.crop, strict=True)
        return block[tuple(slice(k, k + n) for k, n in ranges)]


@dataclass(frozen=True, slots=True)
class Product:
    """A product by BLAS, of two matrices or of a matrix and a vector."""

    operands: tuple[Part | None, Part | None]
    """Where each operand is; None: it is computed."""

    turned: tuple[bool, bool]
    """Whether `numpy.matmul` takes the transpose of each operand."""

    domain: tuple[int, ...]
    """The axes of the result's tile, and the length that is summed over."""

    dtype: np.dtype[Any]
    """Of the operands and of the product."""

    same: bool
    """Whether both operands are one block."""

    made: int
    """Bytes of the operands that are computed."""

    @property
    def room(self) -> tuple[int, ...]:
        """Shape of what is made before it is added; of no size if it is in place."""
        return room_of(self.domain[:-1], self.dtype.itemsize)

    def computed(self, operands: Sequence[Any]) -> list[Any]:
        """Return those of the operands that are computed."""
        pairs = zip(self.operands, operands, strict=True)
        made = [operand for part, operand in pairs if part is None]
        return made[:1] if self.same else made

    def read(
        self, blocks: Sequence[Any], offsets: Array, computed: Sequence[Any]
    ) -> list[Array]:
        """Return the operands."""
        rest = iter([*computed, *computed] if self.same else computed)
        return [
            np.asarray(next(rest)) if part is None else part.of(blocks, offsets)
            for part in self.operands
        ]

    def add(self, operands: Sequence[Array], total: Array, room: Array) -> None:
        """Add the product to a total; `room` takes it, if that is of its size."""
        left, right = (
            x.T if turned else x
            for x, turned in zip(operands, self.turned, strict=True)
        )
        if room.shape != total.shape:
            add_product(left, right, total)
            return
        with np.errstate(all="ignore"):  # XLA does not warn either
            np.matmul(left, right, out=room)
            np.add(total, room, out=total)


def products_of(p: Pass, low: Lowered) -> Mapping[int, Product]:
    """Return the products of a tile that BLAS computes, by their place in its heads."""
    roots = blas_roots(p)
    if not roots:
        return {}
    heads = enumerate(zip(low.heads, _first_offsets(low), strict=True))
    return {
        k: _product(p.roots[h.root], h, at) for k, (h, at) in heads if h.root in roots
    }


def _first_offsets(low: Lowered) -> list[int]:
    """Return where the run-time integers of each head begin, as kernels take them."""
    items: tuple[Record | Head, ...] = (*low.records, *low.heads)
    crops = (sum(len(r.crop or ()) for r in x.refs if r) for x in items)
    counts = (n + x.offsets for n, x in zip(crops, items, strict=True))
    return [*accumulate(counts, initial=0)][len(low.records) : -1]


def _product(root: Root, head: Head, at: int) -> Product:
    assert root.eqn is not None
    (left_sum, right_sum), _ = root.eqn.params["dimension_numbers"]
    flat = [a.ndim == 1 for a in root.eqn.inputs]
    turned = (not flat[0] and left_sum[0] == 0, not flat[1] and right_sum[0] == 1)
    left, right = _parts(head.refs, at)
    *sides, depth = head.shape
    rows, columns = 1 if flat[0] else sides[0], 1 if flat[1] else sides[-1]
    dtype = root.eqn.outputs[0].dtype
    first, second = head.refs
    same = first == second and first is not None and first.crop is None
    made = rows * (left is None) + columns * (right is None and not same)
    nbytes = made * depth * dtype.itemsize
    return Product((left, right), turned, head.shape, dtype, same, nbytes)


def _parts(refs: Sequence[Ref | None], at: int) -> list[Part | None]:
    found: list[Part | None] = []
    for ref in refs:
        is_load = ref is not None and ref.kind == "load"
        found.append(Part(ref.index, ref.crop, at) if ref and is_load else None)
        at += len(ref.crop or ()) if ref else 0
    return found


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
            operands = product.read(blocks, offsets, made[k])
            product.add(operands, total, room)
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
    if not blas_roots(p):
        return nullcontext()
    threads = 1 if p.workers > 1 else processors()
    return _LIMITS.to(threads)


class _Limits:
    """Limits of BLAS's threads, which may overlap in several threads of the process.

    Each is given back as it was found, which may be the limit of another: so the last
    one gives back what there was before the first.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._open = 0
        self._before: list[int] = []

    @contextmanager
    def to(self, threads: int) -> Iterator[None]:
        """Limit the number of threads."""
        with self._lock:
            if not self._open:
                self._before = [x.get_num_threads() for x in _shared_libraries()]
            self._open += 1
        try:
            with _libraries().limit(limits=threads, user_api="blas"):
                yield
        finally:
            with self._lock:
                self._open -= 1
                if not self._open:
                    self._give_back()

    def _give_back(self) -> None:
        changed = False
        for library, number in zip(_shared_libraries(), self._before, strict=True):
            if library.get_num_threads() != number:
                library.set_num_threads(number)
                changed = True
        if changed:  # who sets a number is the only one who may, until this is left
            with _libraries().limit(limits=None):
                pass


_LIMITS = _Limits()


@cache
def _libraries() -> ThreadpoolController:
    """Return what controls the libraries of this process."""
    load_blas()
    return ThreadpoolController()


@cache
def _shared_libraries() -> list[Any]:
    """Return those whose number of threads is a setting of the process."""
    known = _libraries().select(user_api="blas").lib_controllers
    return [x for x in known if getattr(x, "threading_layer", "") != "openmp"]
