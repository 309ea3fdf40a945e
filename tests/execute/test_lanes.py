"""A pass: each block is read once where it can be, results do not depend on threads."""

import threading
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jask._jax import kernel_device
from jask.execute.lanes import PassRun
from jask.execute.results import Gathered
from jask.geometry.box import Box
from jask.plan.axes import make_pass
from jask.trace.ir import Var
from tests.execute.pieces import Counted, prepared, run_pass, traced

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 24)).astype("f4")
MANY = RNG.standard_normal((3000, 8)).astype("f4")
V = RNG.standard_normal(24).astype("f4")


def ran(fn: Any, arrays: Any, tile: Any, workers: int):
    found = traced(fn, *arrays)
    sources = dict(zip(found.program.leaves, map(Counted, arrays), strict=True))
    results, steps = run_pass(prepared(found.tiled(tile), workers), sources)
    return results, steps, list(sources.values())


@pytest.mark.parametrize("workers", [1, 2, 3, 16])
def test_every_tile_is_read_computed_and_written_once(workers: int):
    (out,), steps, (x,) = ran(lambda x: jnp.exp(x) + 1, [X], (16, 10), workers)
    # float32 functions of XLA and NumPy differ in the last bits
    np.testing.assert_allclose(out, np.exp(X) + 1, rtol=1e-6)
    assert steps == 9
    assert len(x.boxes) == len(set(x.boxes)) == 9
    assert sum(b.size for b in x.boxes) == X.size


@pytest.mark.parametrize("workers", [1, 3])
def test_what_every_step_needs_is_read_once_for_all_workers(workers: int):
    (out,), _, (_, v) = ran(lambda x, v: x * v, [X, V], (4, 24), workers)
    np.testing.assert_array_equal(out, X * V)
    assert v.boxes == [Box((0,), (24,))]


def test_a_block_that_stays_is_not_read_again():
    (out,), _, (_, v) = ran(lambda x, v: x + v[:, None], [X.T, V], (8, 10), 1)
    np.testing.assert_array_equal(out, X.T + V[:, None])
    assert v.boxes == [Box((0,), (8,)), Box((8,), (16,)), Box((16,), (24,))]


def test_the_next_block_is_hinted_at_while_one_is_computed():
    _, _, (x,) = ran(lambda x: x + 1, [X], (10, 24), 1)
    assert x.hints == x.boxes[1:]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_fold_joins_what_the_workers_have(workers: int):
    tile = {3000: 700, 8: 5}
    (out,), steps, (x,) = ran(lambda x: jnp.sum(x, 0), [MANY], tile, workers)
    # float32 sums, added up in another order
    np.testing.assert_allclose(out, MANY.sum(0, dtype="f8"), rtol=1e-6, atol=1e-5)
    assert (steps, len(x.boxes)) == (10, 10)


def test_a_fold_has_the_same_bits_on_every_run():
    tile = {3000: 100, 8: 8}
    runs = [ran(lambda x: jnp.sum(x, 0), [MANY], tile, 3)[0][0] for _ in range(5)]
    assert len({r.tobytes() for r in runs}) == 1


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_carries_from_tile_to_tile(reverse: bool, workers: int):
    whole = np.arange(5000, dtype="i8").reshape(2500, 2)

    right = whole[::-1].cumsum(0)[::-1] if reverse else whole.cumsum(0)
    found = traced(lambda x: jax.lax.cumsum(x, 0, reverse=reverse), whole)
    assert [r.kind for r in found.roots()] == ["scan"]
    sources = {found.program.leaves[0]: Counted(whole)}
    results, _ = run_pass(prepared(found.tiled((300, 2)), workers), sources)
    np.testing.assert_array_equal(results[0], right)


class Late(Counted):
    """A source one of whose boxes comes late; it notes how much is open meanwhile."""

    def __init__(self, array: Any, late: Box) -> None:
        super().__init__(array)
        self.late = late
        self.run: PassRun | None = None
        self.carries, self.parts = [0], [0]

    def read(self, box: Box, buffer: Any) -> None:
        super().read(box, buffer)
        if box == self.late:
            time.sleep(0.5)

    def note(self) -> None:
        assert self.run is not None
        with self.run.lock:
            groups = self.run.groups.values()
            parts = [p for g in groups for p in g.parts if p is not None]
            self.parts.append(len(parts))
            self.carries.append(len(self.run.carries))


def ran_late(
    fn: Any, x: Any, tile: Any, order: Any, workers: int, late: Box
) -> tuple[list[Any], Late]:
    """Run a pass one of whose boxes comes late; tile and order go by axes' lengths."""
    found = traced(fn, x)
    p = make_pass(found.roots(cautious=True), found.links)
    p.tile = tuple(tile[n] for n in p.grid)
    p.order = tuple(p.grid.index(n) for n in order)
    source = Late(x, late)
    made = {v: Gathered(v.shape, v.dtype) for r in p.roots for v in r.outputs}
    sources = {found.program.leaves[0]: source}
    sinks = {v: [g] for v, g in made.items()}
    source.run = PassRun(prepared(p, workers), sources, sinks, source.note)
    with kernel_device():
        source.run.run()
    assert not source.run.carries
    assert not source.run.groups
    results = [v for v in found.program.outputs if isinstance(v, Var)]
    return [made[v].array for v in results], source


TALL = np.arange(24_000, dtype="i8").reshape(600, 40)


@pytest.mark.parametrize("late", [0, 1, 2])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_few_lines_of_a_scan_are_open_however_late_a_worker_is(workers: int, late: int):
    box = Box((200 * late, 4), (200 * late + 200, 8))
    (out,), seen = ran_late(
        lambda x: jax.lax.cumsum(x, 0), TALL, {600: 200, 40: 4}, (40, 600), workers, box
    )
    np.testing.assert_array_equal(out, TALL.cumsum(0))
    assert len(seen.boxes) == 30
    assert max(seen.carries) <= workers


@pytest.mark.parametrize("late", [0, 7, 19])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_lines_that_interleave_do_not_wait_for_each_other(workers: int, late: int):
    i, j = divmod(late, 5)
    box = Box((150 * i, 8 * j), (150 * i + 150, 8 * j + 8))
    (down, left), seen = ran_late(
        lambda x: (jax.lax.cumsum(x, 0), jax.lax.cumsum(x, 1, reverse=True)),
        TALL,
        {600: 150, 40: 8},
        (600, 40),
        workers,
        box,
    )
    np.testing.assert_array_equal(down, TALL.cumsum(0))
    np.testing.assert_array_equal(left, TALL[:, ::-1].cumsum(1)[:, ::-1])
    # one scan has a line for each of the 5 tiles of a row, the other a line at a time
    assert 5 <= max(seen.carries) <= max(5, workers) + workers


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_few_parts_of_a_fold_are_kept_however_late_a_worker_is(workers: int, late: int):
    box = Box((300 * late, 0), (300 * late + 300, 1))
    (out,), seen = ran_late(
        lambda x: jnp.sum(x, 0), TALL, {600: 300, 40: 1}, (40, 600), workers, box
    )
    np.testing.assert_array_equal(out, TALL.sum(0))
    assert len(seen.boxes) == 80
    assert max(seen.parts) <= 2 * workers


class Broken:
    """A source or sink that fails at one box, and counts the others."""

    def __init__(self, array: Any, after: int) -> None:
        self.inner, self.after, self.calls = Counted(array), after, 0
        self.lock = threading.Lock()

    def _count(self) -> None:
        with self.lock:
            self.calls += 1
            if self.calls > self.after:
                raise OSError(5, "broken")

    def read(self, box: Box, buffer: Any) -> None:
        self._count()
        self.inner.read(box, buffer)

    def write(self, box: Box, block: Any) -> None:
        assert block.shape == box.shape
        self._count()

    def prefetch(self, box: Box) -> None:
        pass


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("what", ["read", "write"])
def test_an_error_stops_all_workers_at_their_next_step(what: str, workers: int):
    found = traced(lambda x: x + 1, X)
    ready = prepared(found.tiled((1, 24)), workers)
    broken, (leaf,) = Broken(X, after=5), found.program.leaves
    outputs = [v for r in ready.p.roots for v in r.outputs]
    source = broken if what == "read" else Counted(X)
    sinks = {v: [broken] for v in outputs} if what == "write" else None
    with pytest.raises(OSError, match="broken"):
        run_pass(ready, {leaf: source}, sinks)
    assert 6 <= broken.calls <= 6 + workers


def test_an_error_in_a_scan_frees_those_that_wait_for_their_turn():
    whole = np.arange(5000, dtype="i8").reshape(2500, 2)
    found = traced(lambda x: jnp.cumsum(x, 0), whole)
    sources = {found.program.leaves[0]: Broken(whole, after=3)}
    with pytest.raises(OSError, match="broken"):
        run_pass(prepared(found.tiled((10, 2)), 4), sources)


def test_all_who_want_a_value_get_its_blocks():
    found = traced(lambda x: x + 1, X)
    ready = prepared(found.tiled((16, 24)))
    sinks = [Broken(X, after=99), Broken(X, after=99)]
    (out,) = (v for r in ready.p.roots for v in r.outputs)
    run_pass(ready, {found.program.leaves[0]: Counted(X)}, {out: sinks})
    assert [s.calls for s in sinks] == [3, 3]
