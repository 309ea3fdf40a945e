"""What a tile shape costs: seconds of I/O and arithmetic, and bytes held at one time.

The constants are rough figures of one machine with a warm page cache. They only rank
tile shapes of one program, so their ratios matter and their values do not.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from operator import mul

from jask.geometry.box import Box
from jask.plan.axes import pass_after
from jask.plan.blas import blas_roots, joins_in_place, room as room_of
from jask.plan.footprint import Footprint
from jask.plan.ir import MiB, Pass, Place, Root
from jask.plan.lower import Load, spans_of
from jask.rules._table import RULES
from jask.trace.ir import Equation, Literal, Var

READ = 6e9
"""Bytes a second."""
WRITE = 4e9
"""Bytes a second."""
READ_RUN, WRITE_RUN = 3e-6, 4e-6
"""Seconds for each contiguous run of a box in its file."""
PAGE = 4096
"""Bytes that the system reads at least."""
STEP = 8e-5
"""Seconds for each step."""
ELEMENT = 4e-11
"""Seconds for one element of one equation."""
CACHE = 5 * MiB
"""Working set of a step beyond which its blocks leave the processor's caches."""
SPILLED = 5e-11
"""Seconds for each byte of such a working set."""
FAR = 1 << 64
"""As many steps as any larger number: a hundred axes make more than a float holds."""


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast products are."""

    flops: float
    """Floating-point operations in a second, at the best shape."""

    sides: tuple[tuple[int, float], ...]
    """Sides below which it is less, with which power of them."""


BLAS = Speed(2e11, ((1024, 0.07), (128, 0.3)))
"""Two sides of 512 cost 9 %, one of 16 costs 60 %."""
XLA = Speed(1.5e11, ((512, 0.4),))
"""Measured on two cores; two sides of 128 take three times as long."""
PACKED = 960
"""Terms of a product's sums whose factors are packed at once: three slices of 320."""

LARGE_PRODUCT = 4 * MiB
"""Bytes of a product's result from which it is bound by arithmetic, not by reading."""
MAP_BLOCK = 16 * MiB
"""Largest block of a pass that only maps, if the user did not set a block size: for
files read or written across their rows, long runs are worth leaving the caches."""
DOT_BLOCK = 32 * MiB
"""Largest operand of a product, if the user did not set a block size."""


@dataclass(frozen=True, slots=True)
class LoadCost:
    """One box that a step reads."""

    nbytes: int
    seconds: float
    axes: frozenset[int]
    """Grid axes its position depends on."""
    disk: bool


@dataclass(frozen=True, slots=True)
class OutCost:
    """One block that a step, or the last step of a kept tile, makes."""

    root: Root
    nbytes: int
    seconds: float
    accumulator: int
    """Bytes of the accumulators of one kept tile, or of the carry of a line."""
    room: int
    """Bytes of what a step makes before it is in the accumulators."""
    closed: int
    """Bytes of a kept tile that is finished, apart from its accumulators."""
    disk: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """What one tile shape means, whatever the order of the loops."""

    counts: tuple[int, ...]
    loads: tuple[LoadCost, ...]
    outs: tuple[OutCost, ...]
    temp: int
    """Guessed bytes of XLA's temporaries."""
    copies: int
    """Bytes of an operand's copies that reductions make on the way."""
    packed: int
    """Bytes that products keep of their operands in another order, and that other
    tiles hold beyond this one."""
    work: int
    """Elements computed or loaded."""
    compute: float
    """Seconds of arithmetic in one step."""
    largest: int
    """Bytes of the largest block, products' operands apart."""
    largest_dot: int
    """Bytes of the largest block of a product."""
    after: tuple[tuple[Root, Pass, "Survey"], ...] = ()
    """What follows the kept tiles of its roots."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The price of a tile shape with an order of loops."""

    seconds: float
    memory: int
    workers: int
    reads: int
    writes: int


def runs(box: Box, shape: Sequence[int], itemsize: int) -> tuple[int, int]:
    """Return how many contiguous runs a box has in its file, and their bytes."""
    length, k = itemsize, len(shape) - 1
    sides = box.shape
    while k >= 0:
        length *= sides[k]
        k -= 1
        if sides[k + 1] != shape[k + 1]:
            break
    return prod(sides[: k + 1]), length


def read_seconds(box: Box, shape: Sequence[int], itemsize: int) -> float:
    """Return the modelled seconds to read a box: run by run, or whole rows and crop."""
    count, length = runs(box, shape, itemsize)
    pages = count * (length if length % PAGE == 0 or count == 1 else length + 2048)
    lead = next((i for i, n in enumerate(box.shape) if n > 1), len(shape))
    whole = prod(box.shape[: lead + 1]) * prod(shape[lead + 1 :]) * itemsize
    return min(count * READ_RUN + pages / READ, READ_RUN + 1.5 * whole / READ)


def write_seconds(box: Box, shape: Sequence[int], itemsize: int) -> float:
    """Return the modelled seconds to write a box."""
    count, length = runs(box, shape, itemsize)
    pages = count * (length if length % PAGE == 0 or count == 1 else length + PAGE)
    return count * WRITE_RUN + pages / WRITE


def survey(
    p: Pass,
    tile: tuple[int, ...],
    places: Mapping[Var, Place],
    footprint: Footprint | None = None,
) -> Survey:
    """Look at a tile in the middle of the grid, and at its neighbours.

    `footprint` is that of the pass, if it is known.
    """
    tiled = replace(p, tile=tile)
    middle = _off_diagonal(tiled)
    found = footprint or Footprint(p, lowered=True)
    return _survey(tiled, middle, places, frozenset(), found)


def _off_diagonal(p: Pass) -> list[int]:
    """Return the index of a tile in the middle, not at the same place of equal axes.

    `x @ x` reads one block where its row and its column cross, and two elsewhere.
    """
    found: list[int] = []
    taken: list[tuple[int, int, int]] = []
    for a, (n, tile, count) in enumerate(zip(p.grid, p.tile, p.counts, strict=True)):
        at = (count - 1) // 2 if all(a in r.axes for r in p.roots) else 0
        whole = count if n % max(1, tile) == 0 else count - 1
        near = (k for k in (at, at - 1, at + 1) if 0 <= k < whole)
        others = [(first, last) for m, first, last in taken if m == n]
        apart = (
            k
            for k in near
            if all(
                (k + 1) * tile <= first or k * tile >= last for first, last in others
            )
        )
        found.append(next(apart, at))
        taken.append((n, found[-1] * tile, (found[-1] + 1) * tile))
    return found


def _survey(
    tiled: Pass,
    middle: list[int],
    places: Mapping[Var, Place],
    given: Collection[Load],
    footprint: Footprint,
) -> Survey:
    """Look at a tile; the blocks that are given are not read."""
    p, counts = tiled, tiled.counts
    full = fullness(tiled.grid, tiled.tile)
    domains, blocks, loads = footprint.needed(tiled, middle)
    axes, more = _neighbours(tiled, middle, loads, footprint)
    by_blas = blas_roots(p)
    outs = tuple(
        _out_cost(r, d, places, by_blas=k in by_blas)
        for k, (r, d) in enumerate(zip(p.roots, domains, strict=True))
        if d is not None
    )
    largest, largest_dot = _largest(p, domains, loads, outs)
    read = [(x, a) for x, a in zip(loads, axes, strict=True) if x not in given]
    found = Survey(
        counts,
        tuple(_load_cost(x, a, full, places) for x, a in read),
        outs,
        _temporaries(blocks),
        _copies(p, domains),
        _packed(p, domains) + more + footprint.beyond(blocks),
        sum(load.box.size for load in loads)
        + sum(RULES[e.name].made(e, b).size for e, b in blocks)
        + sum(
            _looked_at(r, d)
            for r, d in zip(p.roots, domains, strict=True)
            if d is not None
        ),
        _compute(p, domains, blocks, by_blas) * prod(full),
        largest,
        largest_dot,
    )
    for root in p.roots:
        if root.followers:
            found = _followed(
                found,
                tiled,
                root,
                middle=middle,
                loads=loads,
                places=places,
                footprint=footprint.after(root),
            )
    return found


def _followed(
    s: Survey,
    p: Pass,
    root: Root,
    *,
    middle: Sequence[int],
    loads: Sequence[Load],
    places: Mapping[Var, Place],
    footprint: Footprint,
) -> Survey:
    """Add what the followers of a root do; their temporaries count as the step's."""
    after = pass_after(p, root)
    at = [middle[root.axes[d]] for d in root.kept]
    tile = Box.of(spans_of(after, at))
    given = {*(Load(o, tile) for o in root.outputs)}
    given.update(loads if root.kind == "scan" else ())
    found = _survey(after, at, places, given, footprint)
    plain, heavy = found.largest, found.largest_dot
    if is_product(root):
        plain, heavy = 0, max(plain, heavy)
    return replace(
        s,
        temp=s.temp + found.temp,
        work=s.work + found.work,
        largest=max(s.largest, plain),
        largest_dot=max(s.largest_dot, heavy),
        after=(*s.after, (root, after, replace(found, temp=0))),
    )


def _neighbours(
    p: Pass, middle: list[int], loads: Sequence[Load], footprint: Footprint
) -> tuple[list[frozenset[int]], int]:
    """Return the axes that each load depends on, and the bytes that a neighbour adds.

    A tile on the diagonal of `x @ x.T` reads one block, any other two.
    """
    axes: list[set[int]] = [set() for _ in loads]
    held, most = _bytes(loads), 0
    for a, n in enumerate(p.counts):
        if n == 1:
            continue
        near = list(middle)
        near[a] += -1 if near[a] else 1
        others = set(footprint.loads(p, near))
        most = max(most, _bytes(others))
        for found, load in zip(axes, loads, strict=True):
            if load not in others:
                found.add(a)
    return [frozenset(a) for a in axes], max(0, most - held)


def _bytes(loads: Iterable[Load]) -> int:
    return sum(x.box.size * x.leaf.dtype.itemsize for x in loads)


def times(counts: Iterable[int]) -> int:
    """Return the number of turns of nested loops."""
    return min(prod(counts), FAR)


def fullness(grid: Sequence[int], tile: Sequence[int]) -> list[float]:
    """Return what a tile has of each axis on an average: the last one may have less."""
    sides = zip(grid, tile, strict=True)
    return [min(1.0, n / max(1, t * -(-n // max(1, t)))) for n, t in sides]


def _load_cost(
    load: Load,
    axes: frozenset[int],
    full: Sequence[float],
    places: Mapping[Var, Place],
) -> LoadCost:
    size = load.leaf.dtype.itemsize
    disk = places[load.leaf] == "disk"
    seconds = read_seconds(load.box, load.leaf.shape, size) if disk else 1e-6
    seconds *= prod(full[a] for a in axes)
    return LoadCost(load.box.size * size, seconds, axes, disk)


def _out_cost(
    root: Root, domain: Box, places: Mapping[Var, Place], *, by_blas: bool
) -> OutCost:
    box = root.result_box(domain) if root.kind != "opaque" else domain
    nbytes, seconds, disk = 0, 0.0, False
    for out in root.outputs:
        part = box if root.kind != "opaque" else Box.whole(out.shape)
        nbytes += part.size * out.dtype.itemsize
        if places[out] == "disk":
            disk = True
            seconds += write_seconds(part, out.shape, out.dtype.itemsize)
    accumulator = 0
    if root.kind == "reduce" and root.eqn is not None:
        dtypes = root.reduction.accumulators(root.eqn)
        accumulator = box.size * sum(t.itemsize for t in dtypes)
    elif root.kind == "scan" and root.eqn is not None:
        row = box.size // max(1, box.shape[root.scan.axis(root.eqn)])
        accumulator = row * sum(t.itemsize for t in root.scan.carries(root.eqn))
    room, closed = accumulator, nbytes
    if by_blas:
        room = prod(room_of(box.shape, root.outputs[0].dtype.itemsize))
        room *= root.outputs[0].dtype.itemsize
        closed = 0 if joins_in_place(root) else nbytes
    return OutCost(root, nbytes, seconds, accumulator, room, closed, disk)


def _largest(
    p: Pass,
    domains: Sequence[Box | None],
    loads: Sequence[Load],
    outs: Sequence[OutCost],
) -> tuple[int, int]:
    """Return the bytes of the largest block apart from large products, and of those."""
    operands = {a for r in p.roots if is_product(r) and r.eqn for a in r.eqn.inputs}
    plain = [o.nbytes for o in outs if not is_product(o.root)]
    heavy = list[int]()
    for load in loads:
        nbytes = load.box.size * load.leaf.dtype.itemsize
        (heavy if load.leaf in operands else plain).append(nbytes)
    if not loads:  # everything is computed: the domain is what takes space
        for root, domain in zip(p.roots, domains, strict=True):
            if domain is not None:
                plain.append(domain.size * root.outputs[0].dtype.itemsize)
    return max(plain, default=0), max(heavy, default=0)


def is_product(root: Root) -> bool:
    """Return whether a root is a product large enough to keep all cores busy."""
    return (
        root.kind == "reduce"
        and root.eqn is not None
        and root.eqn.name == "dot_general"
        and root.outputs[0].nbytes > LARGE_PRODUCT
    )


def _packed(p: Pass, domains: Sequence[Box | None]) -> int:
    """Return the bytes of the slices of their operands that products have packed.

    Nobody counts them: on a CPU products are those of Eigen or BLAS.
    """
    total = 0
    for root, domain in zip(p.roots, domains, strict=True):
        if domain is not None and root.eqn is not None and is_product(root):
            need = root.reduction.need_part(root.eqn, domain)
            boxes = zip(need.boxes, root.eqn.inputs, strict=True)
            nbytes = sum(b.size * a.dtype.itemsize for b, a in boxes if b is not None)
            sides = enumerate(domain.shape)
            depth = prod(n for d, n in sides if d not in root.kept)
            total += nbytes * min(depth, PACKED) // max(depth, 1)
    return total


def _temporaries(blocks: Sequence[tuple[Equation, Box]]) -> int:
    total = 0
    for eqn, box in blocks:
        if RULES[eqn.name].kind != "map":
            made = RULES[eqn.name].made(eqn, box)
            total += made.size * sum(o.dtype.itemsize for o in eqn.outputs)
    return total


def _copies(p: Pass, domains: Sequence[Box | None]) -> int:
    total = 0
    for root, domain in zip(p.roots, domains, strict=True):
        if domain is not None and root.kind == "reduce" and root.eqn is not None:
            width = root.eqn.inputs[0].dtype.itemsize
            total += root.reduction.copies * domain.size * width
    return total


def _compute(
    p: Pass,
    domains: Sequence[Box | None],
    blocks: Sequence[tuple[Equation, Box]],
    by_blas: Collection[int],
) -> float:
    seconds = sum(RULES[e.name].work(e, b) for e, b in blocks) * ELEMENT
    for k, (root, domain) in enumerate(zip(p.roots, domains, strict=True)):
        if domain is None:
            continue
        if root.eqn is not None and root.eqn.name == "dot_general":
            speed = BLAS if k in by_blas else XLA
            seconds += dot_seconds(root.domain, domain.shape, speed)
        else:
            seconds += _looked_at(root, domain) * ELEMENT
    for eqn, box in blocks:
        if eqn.name == "dot_general":
            inner = _contracted(eqn)
            seconds += dot_seconds(
                (*eqn.outputs[0].shape, *inner), (*box.shape, *inner), XLA
            )
    return seconds


def _looked_at(root: Root, domain: Box) -> int:
    """Return the elements of a part of a domain; of an indexed one, of its sides."""
    if root.kind != "reduce" or root.rule.kind != "indexed":
        return domain.size
    kept = root.result_box(domain).size
    return kept + domain.size // kept


def _contracted(eqn: Equation) -> tuple[int, ...]:
    (left, _), _ = eqn.params["dimension_numbers"]
    atom = eqn.inputs[0]
    return () if isinstance(atom, Literal) else tuple(atom.shape[d] for d in left)


def dot_seconds(whole: Sequence[int], part: Sequence[int], speed: Speed) -> float:
    """Return the modelled seconds of a part of a product."""
    flops = speed.flops
    for n, k in zip(whole, part, strict=True):
        for side, power in speed.sides:
            best = min(n, side)
            if k < best:
                flops *= max(k / best, 0.02) ** power
    return 2 * prod(part) / flops


def temporaries(s: Survey, p: Pass) -> int:
    """Return XLA's temporary bytes in one step: measured for this pass, or guessed."""
    return s.temp if p.temp_per_work is None else int(p.temp_per_work * s.work)


def price(s: Survey, order: Sequence[int], p: Pass, workers: int) -> Cost:
    """Return the seconds and bytes of a surveyed tile with its loops in this order."""
    return Prices(s, p, workers).of(order)


class Prices:
    """The prices of a surveyed tile, for any order of its loops."""

    def __init__(self, s: Survey, p: Pass, workers: int) -> None:
        self.counts = counts = s.counts
        self.steps = steps = times(counts)
        self.lanes = lanes = workers_for(p, workers, steps)
        temp = temporaries(s, p)
        self.seconds = steps * (STEP / lanes + s.compute) + steps * _spilled(s, temp)
        self.memory = (temp + s.packed) * lanes
        # a product that all processors share leaves them idle while files are read
        self.slower = min(workers, steps) / lanes
        self.loads = [(x, [a for a in x.axes if counts[a] > 1]) for x in s.loads]
        self.outs = [_Held(x, counts, lanes) for x in s.outs]
        self.after = [
            ([root.axes[d] for d in root.kept], Prices(x, q, lanes))
            for root, q, x in s.after
        ]

    def of(self, order: Sequence[int]) -> Cost:
        """Return the seconds and bytes with the loops in this order."""
        lanes, seconds, memory = self.lanes, self.seconds, self.memory
        position = {a: i for i, a in enumerate(order)}
        passed = accumulate((self.counts[a] for a in order), mul, initial=1)
        turns_to = [min(n, FAR) for n in passed]
        reads = writes = 0
        for load, axes in self.loads:
            turns, copies = 1, 1
            if axes:
                copies = lanes
                turns = turns_to[max(position[a] for a in axes) + 1]
                if turns < self.steps:
                    turns *= lanes  # each worker reads its own copy
            seconds += load.seconds * turns * self.slower
            reads += load.nbytes * turns * load.disk
            memory += load.nbytes * copies
        for held in self.outs:
            out, turns = held.out, held.times
            seconds += out.seconds * turns * self.slower
            writes += out.nbytes * turns * out.disk
            memory += held.nbytes(order, position)
        for axes, after in self.after:
            more = after.of([axes.index(a) for a in order if a in axes])
            seconds, memory = seconds + more.seconds, memory + more.memory
            reads, writes = reads + more.reads, writes + more.writes
        return Cost(seconds, memory, lanes, reads, writes)


def _spilled(s: Survey, temp: int) -> float:
    """Return the seconds lost in a step whose blocks do not stay in cache."""
    if s.largest_dot:
        return 0.0  # products are priced by their shape
    blocks = sum(x.nbytes for x in s.loads) + sum(x.nbytes for x in s.outs)
    working = temp + s.copies + blocks
    return SPILLED * working if working > CACHE else 0.0


class _Held:
    """The blocks, accumulators or carries of a root that are held at one time."""

    def __init__(self, out: OutCost, counts: Sequence[int], lanes: int) -> None:
        root = out.root
        kept = [root.axes[d] for d in root.kept]
        self.out, self.counts, self.lanes = out, counts, lanes
        self.times = times(counts[a] for a in kept)
        """How often a block is made."""
        self.kept = frozenset(kept)
        self.reduced = [a for a in root.axes if a not in self.kept and counts[a] > 1]

    def nbytes(self, order: Sequence[int], position: Mapping[int, int]) -> int:
        """Return the bytes with the loops in this order."""
        out, lanes = self.out, self.lanes
        if out.root.kind == "scan":
            return out.nbytes * lanes + self.carries(order, position)
        if out.root.kind != "reduce":
            return out.nbytes * lanes
        live = 1
        if self.reduced:
            inside = order[min(position[a] for a in self.reduced) :]
            live = prod(self.counts[a] for a in inside if a in self.kept)
        return (out.accumulator * live + out.room) * lanes + out.closed

    def carries(self, order: Sequence[int], position: Mapping[int, int]) -> int:
        """Return the bytes of the carries of a scan.

        Lines interleave where loops lie inside the scan's. Where there are fewer lines
        than workers, some workers may be a line ahead: at most one line is open for
        each of them (`PassRun.await_round`). Each worker holds what its kernel starts
        from, and makes.
        """
        root = self.out.root
        assert root.eqn is not None
        axis = root.axes[root.scan.axis(root.eqn)]
        inside = order[position[axis] + 1 :]
        live = prod(self.counts[a] for a in inside if a in root.axes)
        return self.out.accumulator * (max(live, self.lanes) + 2 * self.lanes)


def workers_for(p: Pass, workers: int, steps: int) -> int:
    """Return how many threads share the steps.

    Products that dominate use all cores inside one kernel; two at a time would only
    halve the blocks.
    """
    if steps == 1 or any(map(is_product, p.roots)):
        return 1
    return min(workers, steps)
