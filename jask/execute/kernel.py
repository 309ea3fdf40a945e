"""Kernels: one compiled XLA function per shape signature of a pass.

A kernel takes the run-time integers, the accumulators, finished output blocks (donated
as storage for the new ones) and the loaded blocks; it returns what each root makes of
this tile. Positions are run-time integers, so a pass has few kernels: interior tiles
share one, and the last tile along each axis may have its own.
"""

import hashlib
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jask._jax import constants_inside, copies_of, lowered_once
from jask.config import unset
from jask.errors import MemoryBudgetError
from jask.execute.heap import give_back
from jask.execute.products import Product, multiplied, products_of
from jask.plan.ir import Pass, Root
from jask.plan.lower import Head, Lowered, Record, Ref
from jask.rules._table import RULES, Need
from jask.trace.counters import COUNTERS
from jask.trace.ir import Atom, Equation, Literal

QUICK_BELOW = 1 << 18
"""Elements of a pass below which compiling costs more than running: its kernels are
compiled without optimisation, in about half the time."""

SMALL_CARRIED = 1 << 16
"""Bytes of accumulators that a step need not leave in place. With fewer programs in a
kernel XLA runs all of them in the worker's thread."""

BARRIER_EVERY = 16
"""Records between optimization barriers: XLA's fusion can blow up on long kernels."""

BYTES_A_CHARACTER = 110
"""Memory of an executable for each character of its program: 81 to 112, measured on
programs of 1 to 64 operations."""

FEW = 4096
"""Elements of a quotient that cost nothing to hold on their own."""

LARGE_CODE = 1 << 21
"""Bytes of an executable from which on the memory that compiling or loading it took,
three to four times as much, is given back at once: it takes 0.1 s or more."""

LONGEST_LINE = 400
"""Characters of a line that count: a constant is written out in one line."""

_QUICK = {"xla_backend_optimization_level": 0}

type Spec = jax.ShapeDtypeStruct


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Kernel:
    """A compiled step."""

    call: Callable[..., Any]
    """`(offsets, accumulators, spares, *blocks) -> per head, a list of arrays`."""

    temp: int
    """Bytes of XLA's temporaries."""

    copy: Callable[[int], Callable[..., Any]] | None = field(
        default=None, compare=False
    )
    """Gives `call` for the client of a worker; None: one worker runs it."""

    copies: dict[int, Callable[..., Any]] = field(default_factory=dict, compare=False)
    """`call` for each worker that asked."""

    size: int = field(default=0, compare=False)
    """Bytes of one executable, about."""

    products: Mapping[int, Product] = field(default_factory=dict, compare=False)
    """What BLAS multiplies, by place in the heads."""

    @property
    def nbytes(self) -> int:
        """Bytes of all copies, about; worker 0 runs `call` itself."""
        return self.size * (1 + len(self.copies.keys() - {0}))

    def call_of(self, worker: int) -> Callable[..., Any]:
        """Return `call` for the client of this worker."""
        if self.copy is None:
            return self.call
        if worker not in self.copies:
            self.copies[worker] = self.copy(worker)
            if worker and self.size >= LARGE_CODE:
                give_back()
        return self.copies[worker]


def compile_step(p: Pass, low: Lowered, most_code: float = inf) -> Kernel:
    """Compile the kernel of a lowered tile.

    Raises MemoryBudgetError, without compiling it, if it would take more than so many
    bytes.
    """
    products = products_of(p, low)
    if len(products) == len(low.heads) and not any(x.made for x in products.values()):
        step = multiplied(None, products)
        return Kernel(step, 0, products=products)
    fn = _step_function(p, low, products)
    heads = [None if k in products else h for k, h in enumerate(low.heads)]
    carried = [accumulator_specs(p.roots[h.root], h.shape) if h else [] for h in heads]
    specs = (
        jax.ShapeDtypeStruct((len(low.offsets),), np.dtype("int64")),
        carried,
        [spare_specs(p.roots[h.root], h.shape) if h else [] for h in heads],
        *(jax.ShapeDtypeStruct(load.box.shape, load.leaf.dtype) for load in low.loads),
    )
    elements = sum(v.size for v in p.leaves) + sum(prod(r.domain) for r in p.roots)
    quick = elements < QUICK_BELOW and not _draws(p)
    # XLA copies a donated accumulator that it reads twice: small ones are left to it
    held = sum(prod(a.shape) * a.dtype.itemsize for x in carried for a in x)
    donate = (1, 2) if held > SMALL_CARRIED else (2,)
    made = _compile(
        fn, specs, donate=donate, quick=quick, workers=p.workers, most_code=most_code
    )
    return _with_products(made, products) if products else made


def _with_products(inner: Kernel, products: Mapping[int, Product]) -> Kernel:
    """Return a kernel that runs another one, and then the products."""
    return Kernel(
        multiplied(inner.call, products),
        inner.temp + sum(x.made for x in products.values()),
        lambda worker: multiplied(inner.call_of(worker), products),
        size=inner.size,
        products=products,
    )


def _draws(p: Pass) -> bool:
    """Return whether a pass makes random numbers, which must have jax.random's bits.

    Compiled without optimisation, normals differ in the last bit.
    """
    return any(e.name == "iota_2x32_shape" for e in p.equations)


def compile_close(
    root: Root, shape: tuple[int, ...], slots: int, workers: int = 1
) -> Kernel:
    """Compile what joins the workers' accumulators, in order, and finishes them."""
    assert root.eqn is not None
    eqn, rule = root.eqn, root.reduction

    def close(parts: Sequence[Sequence[Any]]) -> list[Any]:
        total = parts[0]
        for part in parts[1:]:
            total = rule.combine(eqn, total, part)
        return list(rule.finish(eqn, total))

    parts = ([_accumulators(root, shape)] * slots,)
    quick = prod(shape) < QUICK_BELOW
    return _compile(close, parts, donate=(), quick=quick, workers=workers)


def compile_small(
    fn: Callable[..., Any], specs: tuple[Spec, ...]
) -> Callable[..., Any]:
    """Compile a function of a few elements."""
    return _compile(fn, specs, donate=(), quick=True).call


def initial(root: Root, shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """Return the accumulators (or the carry) of a root before anything was seen.

    They are the same everywhere: each is one element, spread.
    """
    assert root.eqn is not None
    eqn = root.eqn
    if root.kind == "reduce":
        whole, make = _kept_shape(root, shape), root.reduction.init
    else:
        whole, make = _carry_shape(root, shape), root.scan.init_carry
    one = (1,) * len(whole)
    with jax.enable_x64(True):  # noqa: FBT003 (JAX's own signature)
        made = jax.jit(lambda: list(make(eqn, one)))()
    return [np.broadcast_to(np.asarray(a), whole) for a in made]


def _kept_shape(root: Root, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(shape[d] for d in root.kept)


def _carry_shape(root: Root, shape: tuple[int, ...]) -> tuple[int, ...]:
    assert root.eqn is not None
    axis = root.scan.axis(root.eqn)
    return tuple(1 if d == axis else n for d, n in enumerate(shape))


def _accumulators(root: Root, kept: tuple[int, ...]) -> list[Spec]:
    assert root.eqn is not None
    return [
        jax.ShapeDtypeStruct(kept, t) for t in root.reduction.accumulators(root.eqn)
    ]


def accumulator_specs(root: Root, shape: tuple[int, ...]) -> list[Spec]:
    """Return what a root carries from tile to tile, for a part of its domain."""
    if root.kind == "reduce":
        return _accumulators(root, _kept_shape(root, shape))
    if root.kind == "scan":
        return [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in initial(root, shape)]
    return []


def spare_specs(root: Root, shape: tuple[int, ...]) -> list[Spec]:
    """Return the blocks that a root writes for each tile."""
    if root.kind in {"map", "scan"}:
        return [jax.ShapeDtypeStruct(shape, root.outputs[0].dtype)]
    return []


def _compile(
    fn: Callable[..., Any],
    specs: tuple[Any, ...],
    *,
    donate: tuple[int, ...],
    quick: bool,
    workers: int = 1,
    most_code: float = inf,
) -> Kernel:
    # a kernel is kept: its callbacks have the settings of the threads that run it
    with jax.enable_x64(True), unset(), warnings.catch_warnings():  # noqa: FBT003 (JAX's own signature)
        warnings.filterwarnings("ignore", "Some donated buffers were not usable")
        with constants_inside():
            jitted = jax.jit(fn, donate_argnums=donate, keep_unused=True)
            lowered, calls = lowered_once(jitted, specs)
        text = lowered.as_text()
        size = _code_bytes(text)
        if size > most_code:
            msg = f"the code of a kernel would take {size} bytes, over {most_code}."
            raise MemoryBudgetError(msg)
        if calls:  # the text does not say which function
            return _compiled(lowered, size, quick=quick, workers=1)
        digest = hashlib.sha256(text.encode()).digest()
        key = (digest, quick, workers > 1, jax.config.jax_default_device)
        known = _alive.get(key)
        if known is None:
            known = _compiled(lowered, size, quick=quick, workers=workers)
            _alive[key] = known
    return known


_alive: weakref.WeakValueDictionary[Any, Kernel] = weakref.WeakValueDictionary()
"""Kernels in use, by what they compute: passes that do the same share them."""


def _compiled(lowered: Any, size: int, *, quick: bool, workers: int) -> Kernel:
    COUNTERS.compiles += 1
    compiled = lowered.compile(_QUICK if quick else None)
    analysis = compiled.memory_analysis()
    temp = int(getattr(analysis, "temp_size_in_bytes", 0))
    copy = copies_of(compiled) if workers > 1 else None
    if size >= LARGE_CODE:
        give_back()
    return Kernel(compiled, temp, copy, size=size)


def _code_bytes(text: str) -> int:
    """Return about the bytes of an executable."""
    lengths = (min(len(line), LONGEST_LINE) for line in text.splitlines())
    return BYTES_A_CHARACTER * sum(lengths)


class _Offsets:
    """Hands out the run-time integers in the order in which they were recorded."""

    def __init__(self, vector: Any) -> None:
        self.vector, self.position = vector, 0

    def take(self, count: int) -> list[Any]:
        start = self.position
        self.position += count
        return [self.vector[i] for i in range(start, self.position)]


def _step_function(
    p: Pass, low: Lowered, products: Mapping[int, Product]
) -> Callable[..., Any]:
    """Return the step as JAX traces it; of products it makes the operands only."""
    equations = {e.number: e for e in p.equations}
    shifted = any(r and r.crop for item in low.records for r in item.refs)

    def step(
        vector: Any, carried: Sequence[Sequence[Any]], spares: Any, *blocks: Any
    ) -> list[list[Any]]:
        del spares  # only their storage is used
        offsets = _Offsets(vector)
        values: list[Sequence[Any]] = []
        for record, need in zip(low.records, low.needs, strict=True):
            eqn = equations[record.number]
            operands = _operands(record, eqn.inputs, offsets, blocks, values)
            numbers = offsets.take(record.offsets)
            values.append(
                emitted(
                    eqn, record.shape, need, numbers, operands, position=len(values)
                )
            )
        results: list[list[Any]] = []
        for k, (head, acc) in enumerate(zip(low.heads, carried, strict=True)):
            root = p.roots[head.root]
            atoms = root.outputs if root.eqn is None else root.eqn.inputs
            operands = _operands(head, atoms, offsets, blocks, values)
            if k in products:
                offsets.take(head.offsets)
                results.append(products[k].computed(operands))
                continue
            if root.kind == "reduce" and shifted:
                operands = _apart(operands)
            numbers = offsets.take(head.offsets)
            results.append(_finish(root, head, operands, numbers, acc))
        return results

    return step


def _apart(operands: Sequence[Any]) -> list[Any]:
    """Keep XLA from fusing operands into a reduction.

    On a CPU a reduction that reads shifted slices is not vectorised: computing the
    operand first, in cache, takes a quarter of the time.
    """
    made = [o for o in operands if o is not None]
    fenced = iter(jax.lax.optimization_barrier(tuple(made)))
    return [None if o is None else next(fenced) for o in operands]


def emitted(
    eqn: Equation,
    shape: tuple[int, ...],
    need: Need,
    numbers: Sequence[Any],
    operands: Sequence[Any],
    *,
    position: int,
) -> Sequence[Any]:
    """Return the results of an equation, the so many-th of its kernel."""
    made = RULES[eqn.name].emit(eqn, shape, need, numbers, operands)
    results = list(made) if isinstance(made, list | tuple) else [made]
    due = eqn.fenced or position % BARRIER_EVERY == BARRIER_EVERY - 1
    if due or _is_mean(eqn, results):
        return list(jax.lax.optimization_barrier(tuple(results)))
    return results


def _is_mean(eqn: Equation, results: Sequence[Any]) -> bool:
    """Return whether a few elements are divided by a constant, as for a mean.

    XLA multiplies by the reciprocal, and LLVM joins that with a subtraction that
    follows: 3 - 15 / 5 would not be zero.
    """
    if eqn.name != "div" or results[0].size > FEW:
        return False
    return isinstance(eqn.inputs[1], Literal)


def _operands(
    item: Record | Head,
    atoms: Sequence[Atom],
    offsets: _Offsets,
    blocks: Sequence[Any],
    values: Sequence[Sequence[Any]],
) -> list[Any]:
    return [
        _operand(ref, atom, offsets, blocks, values)
        for ref, atom in zip(item.refs, atoms, strict=True)
    ]


def _operand(
    ref: Ref | None,
    atom: Atom,
    offsets: _Offsets,
    blocks: Sequence[Any],
    values: Sequence[Sequence[Any]],
) -> Any:
    if ref is None:
        return None
    if ref.kind == "literal":
        assert isinstance(atom, Literal)
        return jnp.asarray(atom.value)
    block = blocks[ref.index] if ref.kind == "load" else values[ref.index][ref.result]
    if ref.crop is None:
        return block
    return jax.lax.dynamic_slice(block, offsets.take(len(ref.crop)), ref.crop)


def _finish(
    root: Root,
    head: Head,
    operands: Sequence[Any],
    numbers: Sequence[Any],
    carried: Sequence[Any],
) -> list[Any]:
    if root.kind == "map":
        return list(operands)
    assert root.eqn is not None
    if root.kind == "reduce":
        rule = root.reduction
        part = rule.contribution(root.eqn, head.shape, head.key, numbers, operands)
        return list(rule.combine(root.eqn, carried, part))
    if root.kind == "scan":
        block, carry = root.scan.step(root.eqn, carried, operands)
        return [block, *carry]
    made = root.eqn.primitive.bind(
        *_whole(root.eqn.inputs, operands), **root.eqn.params
    )
    return list(made) if root.eqn.primitive.multiple_results else [made]


def _whole(atoms: Sequence[Atom], operands: Sequence[Any]) -> list[Any]:
    """Operands of an opaque equation: an empty one is made, not read."""
    return [
        jnp.zeros(a.shape, a.dtype) if o is None else o
        for a, o in zip(atoms, operands, strict=True)
    ]
