"""Run one pass: each worker takes its steps from read to write.

Worker w of W runs the steps w, w + W, ...: for each it

1. reads the blocks into its own aligned buffers (a block it already holds is kept),
2. runs the kernel, with its last output blocks, and its accumulators if they are large,
   as donated storage; products by BLAS are added where their sums lie (`products.py`),
3. writes the output blocks; whoever completes a kept tile joins the accumulators of all
   workers in their order and writes the result.

Nothing is handed to another thread, so blocks stay in the processor's cache; reading,
arithmetic and writing overlap because several workers are at different points. Which
step a worker runs and the order of joining are fixed: results do not depend on timing.
A scan's kernels run in the order of their steps; their reads and writes overlap. No
worker opens a kept tile or a line while another is a whole round of steps behind, so
that few of them are unfinished at any time.
What follows a root is a pass of its own, of which a worker takes a step whenever it has
finished a tile of the root.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from jask._jax import in_place, kernel_device, worker_device
from jask.config import carried
from jask.execute.blocks import Block, fresh, host_view
from jask.execute.ends import Input, Output
from jask.execute.kernel import Kernel
from jask.execute.ledger import LEDGER
from jask.execute.prepared import Job, PreparedPass, Step
from jask.execute.process import PROCESS
from jask.execute.products import Product, blas_threads
from jask.execute.threads import Changes, run_all
from jask.geometry.box import Box
from jask.plan.blas import blas_roots, joins_in_place
from jask.plan.ir import Root
from jask.plan.lower import Load
from jask.trace.ir import Var


class Stopped(Exception):  # noqa: N818 (not an error: it unwinds a worker)
    """Another worker failed."""


class _Group:
    """What the workers accumulate for one kept tile."""

    def __init__(self, slots: int, steps: int) -> None:
        self.parts: list[Any] = [None] * slots
        self.left = steps


class _Carry:
    """The state of a scan along one line of tiles."""

    def __init__(self, value: list[Any]) -> None:
        self.value, self.done = value, 0


class PassRun:
    """One execution of a prepared pass."""

    def __init__(
        self,
        prepared: PreparedPass,
        sources: Mapping[Var, Input],
        sinks: Mapping[Var, Sequence[Output]],
        advance: Callable[[], None],
        host: "PassRun | None" = None,
    ) -> None:
        self.prepared, self.p = prepared, prepared.p
        self.sources, self.sinks, self.advance = sources, sinks, advance
        self.steps = self.p.steps
        self.workers: int = host.workers if host else min(self.p.workers, self.steps)
        self.stopped = False
        self.errors: list[BaseException] = []
        self.changes = Changes()
        self.lock = self.changes.lock
        self.next = [] if host else list(range(self.workers))
        """The step that each worker runs, or runs next; what follows has no say."""
        self.groups: dict[Any, _Group] = {}
        self.carries: dict[Any, _Carry] = {}
        self.shared: dict[Load, np.ndarray[Any, Any]] = {}
        self.resident = self._resident()
        by_blas = blas_roots(self.p)
        self.in_place = {k for k in by_blas if joins_in_place(self.p.roots[k])}
        self.after = {
            k: PassRun(after, sources, sinks, advance, self)
            for k, after in prepared.followers.items()
        }

    def _resident(self) -> frozenset[Load]:
        """Blocks that every step needs, as far as three show: read once for all."""
        if self.steps == 1:
            return frozenset()
        looked_at = (0, self.steps // 2, self.steps - 1)
        loads = [frozenset(self.prepared.step(i).loads) for i in looked_at]
        return frozenset.intersection(*loads)

    def run(self) -> None:
        """Run all steps; raise what the first failing worker raised."""
        lanes = [_Lane(self, w) for w in range(self.workers)]
        with PROCESS.stoppable(self.fail), blas_threads(self.p):
            run_all([carried(lane.run) for lane in lanes], self.fail)
        if self.errors:
            raise self.errors[0]

    def fail(self, error: BaseException) -> None:
        """Make every worker stop at its next step."""
        with self.lock:
            if not isinstance(error, Stopped):
                self.errors.append(error)
            self.stopped = True
        self.changes.tell()

    def finished(self, worker: int) -> None:
        """Note that a worker has finished its step."""
        with self.lock:
            self.next[worker] += self.workers
        self.changes.tell()

    def await_round(self, i: int) -> None:
        """Wait, without the lock, until every step up to i - workers is finished.

        A step that opens something, a line or a worker's part of a kept tile, does so
        here. While m is the first unfinished step, what is open was opened before m, as
        it would be without threads, or by one of the steps m to m + workers - 1, of
        which each worker has one: `cost` counts that.

        It cannot come to a deadlock, in whatever way lines interleave: m itself can
        always run. Its worker has finished all its steps before m; here it waits for
        steps before m only; and so it does for its place in a line, because the earlier
        tiles of a line are earlier steps (`sequential` axes are walked in order).
        """
        self.await_change(lambda: all(k > i - self.workers for k in self.next))

    def await_change(self, ready: Callable[[], bool]) -> None:
        """Wait, without the lock, for what stays so once it is so, or for the stop."""
        self.changes.wait_until(lambda: self.stopped or ready())
        if self.stopped:
            raise Stopped

    def done_of(self, line: Any) -> int:
        """Return how many tiles of a line are done, as long as it is open; or -1."""
        return self.carries[line].done if line in self.carries else -1

    def share(self, load: Load) -> np.ndarray[Any, Any]:
        """Return a block that all workers use, read by the first that asks."""
        with self.lock:
            if load not in self.shared:
                block = Block(load.box.size * load.leaf.dtype.itemsize)
                view = block.view(load.box.shape, load.leaf.dtype)
                self.sources[load.leaf].read(load.box, view)
                self.shared[load] = view
            return self.shared[load]

    def write(self, var: Var, box: Box, block: np.ndarray[Any, Any]) -> None:
        """Write a block to everything that wants this value."""
        for sink in self.sinks[var]:
            sink.write(box, block)


class _Lane:
    """One worker: its buffers, its accumulators, its spare output blocks."""

    current = 0
    """The step that runs."""

    kernel: Kernel | None = None
    """The last one that ran."""

    read: Mapping[Load, Any] = MappingProxyType({})
    """The blocks of the step, if something follows."""

    given: Mapping[Load, Any] = MappingProxyType({})
    """Blocks that need not be read: those of the root that is followed."""

    def __init__(self, run: PassRun, number: int) -> None:
        self.pass_run, self.number = run, number
        self.buffers: dict[int, Block] = {}
        self.held: dict[int, Load] = {}
        self.shared: dict[Load, Any] = {}
        self.device = worker_device(workers=run.p.workers, worker=number)
        self.spares: dict[Any, list[Any]] = {}
        self.products: dict[Any, np.ndarray[Any, Any]] = {}
        self.after = {k: _Lane(after, number) for k, after in run.after.items()}

    def run(self) -> None:
        """Run the steps of this worker."""
        run = self.pass_run
        try:
            device = kernel_device(workers=run.p.workers, worker=self.number)
            with (
                device,
                jax.enable_x64(True),  # noqa: FBT003 (JAX's own signature)
                LEDGER.inside(),
                blas_threads(run.p),
            ):
                for i in range(self.number, run.steps, run.workers):
                    if run.stopped:
                        return
                    self.step(i)
                    run.finished(self.number)
                    run.advance()
        except BaseException as error:  # noqa: BLE001 (raised again by the caller)
            run.fail(error)

    def step(self, i: int) -> None:
        """Read, compute, write."""
        self.current = i
        step = self.pass_run.prepared.step(i)
        if not step.jobs:
            return
        blocks = [self.load(k, load) for k, load in enumerate(step.loads)]
        self.read = dict(zip(step.loads, blocks, strict=True)) if self.after else {}
        self.prefetch(i)
        carried = [self.carried(job) for job in step.jobs]
        if step.kernel is not self.kernel:
            self.drop_spares(step)
        products = step.kernel.products
        spares = [
            [self.product(products[k])] if k in products else self.spare(job)
            for k, job in enumerate(step.jobs)
        ]
        kernel = step.kernel.call_of(self.number)
        made = kernel(step.offsets, carried, spares, *blocks)
        if 0 not in products:
            for array in made[0]:  # all are ready when one is
                array.block_until_ready()
        del carried, spares
        for job, arrays in zip(step.jobs, made, strict=True):
            self.deliver(job, arrays)

    def load(self, k: int, load: Load) -> Any:
        """Return a block, read unless this worker already holds it."""
        run = self.pass_run
        if self.given and load in self.given:
            return self.given[load]
        if load in run.resident:
            if load not in self.shared:
                self.shared[load] = in_place(run.share(load))
            return self.shared[load]
        shape, dtype = load.box.shape, load.leaf.dtype
        block = self.buffers.get(k)
        nbytes = load.box.size * dtype.itemsize
        if block is None or block.nbytes < nbytes:
            block = self.buffers[k] = Block(nbytes)
            self.held.pop(k, None)
        view = block.view(shape, dtype)
        if self.held.get(k) != load:
            self.held.pop(k, None)
            run.sources[load.leaf].read(load.box, view)
            self.held[k] = load
        return block.array(shape, dtype)

    def prefetch(self, i: int) -> None:
        """Hint at what this worker reads in its next step."""
        run = self.pass_run
        after = i + run.workers
        if after >= run.steps:
            return
        given = {load.leaf for load in self.given}
        for k, load in enumerate(run.prepared.step(after).loads):
            if load in run.resident or load.leaf in given:
                continue
            if self.held.get(k) != load:
                run.sources[load.leaf].prefetch(load.box)

    def carried(self, job: Job) -> list[Any]:
        """Return the accumulators or the carry that the kernel starts from."""
        run, head = self.pass_run, job.head
        if job.root.kind == "reduce":
            return self.part(job) or run.prepared.initial(head.root, head.shape)
        if job.root.kind == "scan":
            return self.turn(job)
        return []

    def part(self, job: Job) -> list[Any] | None:
        """Return this worker's accumulators of a kept tile, if it has any."""
        run = self.pass_run
        size = run.prepared.group_size(job.root)
        with run.lock:
            group = run.groups.get(job.key)
            mine: list[Any] | None = group.parts[self.number] if group else None
        if mine:
            return mine
        if size > 1:
            run.await_round(self.current)
        with run.lock:
            run.groups.setdefault(job.key, _Group(run.workers, size))
        return None

    def turn(self, job: Job) -> list[Any]:
        """Wait until every earlier tile of this line is done."""
        run, position = self.pass_run, self.position(job.root)
        if position == 0:
            if self.line_length(job.root) > 1:
                run.await_round(self.current)
            start = run.prepared.initial(job.head.root, job.head.shape)
            with run.lock:
                run.carries[job.key] = _Carry(start)
        run.await_change(lambda: run.done_of(job.key) == position)
        with run.lock:
            return [self.mine(a) for a in run.carries[job.key].value]

    def position(self, root: Root) -> int:
        """Return how many tiles of this step's line come before it."""
        assert root.eqn is not None
        run = self.pass_run
        axis = root.axes[root.scan.axis(root.eqn)]
        at = run.prepared.index(self.current)[axis]
        return run.p.counts[axis] - 1 - at if axis in run.p.descending else at

    def line_length(self, root: Root) -> int:
        """Return how many tiles a line has."""
        assert root.eqn is not None
        return self.pass_run.p.counts[root.axes[root.scan.axis(root.eqn)]]

    def spare(self, job: Job) -> list[Any]:
        """Return storage for the output block: the last one, if its shape fits."""
        if job.root.kind not in {"map", "scan"}:
            return []
        shape, dtype = job.head.shape, job.root.outputs[0].dtype
        mine = self.spares.get((shape, dtype))
        return [mine.pop() if mine else fresh(shape, dtype)]

    def product(self, product: Product) -> np.ndarray[Any, Any]:
        """Return storage for a part of a product."""
        key = (product.room, product.dtype)
        if key not in self.products:
            self.products[key] = np.empty(*key)
        return self.products[key]

    def drop_spares(self, step: Step) -> None:
        """Free output blocks of other shapes: the plan counts one for each root."""
        wanted = {(j.head.shape, j.root.outputs[0].dtype) for j in step.jobs}
        for key in self.spares.keys() - wanted:
            del self.spares[key]
        self.products.clear()
        self.kernel = step.kernel

    def deliver(self, job: Job, arrays: list[Any]) -> None:
        """Write what a root made, or keep it for the next step."""
        run, root = self.pass_run, job.root
        if root.kind == "map":
            self.write_block(job, arrays[0])
        elif root.kind == "scan":
            with run.lock:
                line = run.carries[job.key]
                line.value, line.done = list(arrays[1:]), line.done + 1
                if line.done == self.line_length(root):
                    del run.carries[job.key]
            run.changes.tell()
            self.follow(job, job.domain, arrays, self.read)
            self.write_block(job, arrays[0])
        elif root.kind == "reduce":
            self.accumulate(job, arrays)
        else:
            for var, array in zip(root.outputs, arrays, strict=True):
                run.write(var, Box.whole(var.shape), host_view(array))

    def mine(self, array: Any) -> Any:
        """Return an array for this worker's kernels, whichever worker made it."""
        if isinstance(array, jax.Array) and self.device in {None, array.device}:
            return array
        return in_place(np.asarray(array))

    def write_block(self, job: Job, array: Any) -> None:
        """Write an output block and keep its storage for the next one."""
        var = job.root.outputs[0]
        self.pass_run.write(var, job.domain, host_view(array))
        self.spares.setdefault((job.domain.shape, var.dtype), []).append(array)

    def accumulate(self, job: Job, arrays: list[Any]) -> None:
        """Keep the accumulators; the last step of a kept tile finishes it."""
        run, root = self.pass_run, job.root
        with run.lock:
            group = run.groups[job.key]
            group.parts[self.number] = arrays
            group.left -= 1
            if group.left:
                return
            del run.groups[job.key]
        parts = [p for p in group.parts if p is not None]
        finished = self.joined(job, parts)
        box = root.result_box(job.domain)
        self.follow(job, box, finished, {})
        for var, array in zip(root.outputs, finished, strict=True):
            run.write(var, box, np.asarray(array))

    def joined(self, job: Job, parts: Sequence[Any]) -> Sequence[Any]:
        """Return the result of a kept tile from what the workers have accumulated."""
        run, root = self.pass_run, job.root
        if job.head.root in run.in_place:
            (total,), *rest = parts
            with np.errstate(all="ignore"):
                for (part,) in rest:
                    np.add(total, part, out=total)
            return [total]  # not JAX's: that lets go of memory only when it is called
        kept = tuple(job.head.shape[d] for d in root.kept)
        close = run.prepared.close(job.head.root, kept, len(parts)).call_of(self.number)
        made: Sequence[Any] = close([[self.mine(a) for a in p] for p in parts])
        return made

    def follow(
        self, job: Job, box: Box, tile: Sequence[Any], read: Mapping[Load, Any]
    ) -> None:
        """Make what follows a root of one of its tiles, and of what was read for it."""
        if job.head.root not in self.after:
            return
        after, prepared = self.after[job.head.root], self.pass_run.prepared
        index, root = prepared.index(self.current), job.root
        at = [index[root.axes[d]] for d in root.kept]
        mine = map(self.mine, tile)
        made = {Load(v, box): t for v, t in zip(root.outputs, mine, strict=False)}
        after.given = {**read, **made}
        after.step(after.pass_run.prepared.number(at))
        after.given = MappingProxyType({})
