"""Ctrl-C at any place leaves nothing, and all goes on to work."""

import itertools
import logging
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import jax
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask.execute.ledger import LEDGER, Ledger
from jask.execute.process import PROCESS
from jask.execute.threads import run_all
from jask.hijax.handles import TABLE
from jask.stores.scratch import scratch_in_use
from tests.execute.children import left
from tests.execute.interrupts import interrupted


class Tasks:
    """Tasks of which the others end once the first has run, or was cancelled."""

    def __init__(self) -> None:
        self.go: SimpleQueue[int] = SimpleQueue()
        self.running: list[int] = []
        self.errors: list[BaseException] = []

    def first(self) -> None:
        for n in range(2):
            self.go.put(n)

    def other(self) -> None:
        self.running.append(1)
        self.go.get(timeout=60)
        self.running.pop()

    def cancel(self, error: BaseException) -> None:
        self.errors.append(error)
        self.first()

    def run(self) -> None:
        run_all([self.first, self.other, self.other], self.cancel)
        if self.errors:
            raise self.errors[0]


def test_tasks_are_waited_for_wherever_the_interrupt_comes():
    for place in itertools.count():
        run_all([lambda: None] * 3, lambda _: None)  # starts threads, if there are none
        tasks = Tasks()
        there = interrupted(tasks.run, place)
        assert not tasks.running, place
        if not there:
            break
    assert place > 10


def test_memory_is_given_back_wherever_the_interrupt_comes():
    ledger = Ledger()

    def work() -> None:
        with ledger.claim(10, 100), ledger.claim(10, 100, calls_back=True):
            assert ledger.held == 20

    for place in itertools.count():
        there = interrupted(work, place)
        assert (ledger.held, ledger._part(100)) == (0, (100, 0)), place
        if not there:
            break
    assert place > 5


jitted = jax.jit(lambda x: jask.materialize(jnp.sum(jnp.sin(x))))

WORKS: dict[str, Callable[[jask.DiskArray], object]] = {
    "save": lambda x: jask.save("out.npy", jnp.sin(x)),
    "persist": lambda x: jask.persist(jnp.sin(x)),
    "gradient": jask.value_and_grad(lambda x: jnp.sum(x * x)),
    "cumulative": lambda x: jask.save("out.npy", jnp.cumsum(x)),
    "sort": lambda x: jask.save("out.npy", jnp.sort(x)),
    "mask": lambda x: jask.save("out.npy", jnp.sin(x)[x > 0]),
    "jit": lambda x: float(jitted(x)),
}


@pytest.mark.parametrize("name", WORKS)
def test_nothing_is_left_wherever_the_interrupt_comes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    log = logging.getLogger("jax._src.callback")  # pytest keeps the frames it is told
    monkeypatch.setattr(log, "disabled", True)
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(40.0))
    x = jask.open("x.npy")
    Path("scratch").mkdir()
    with jask.config(block_bytes=64, scratch_dir="scratch", workers=2):
        WORKS[name](x)
        WORKS[name](x)
        for place in itertools.count(0, 37):
            for path in (Path("out.npy"), Path("x.npy.grad")):
                path.unlink(missing_ok=True)
            there = interrupted(lambda: WORKS[name](x), place)
            if not there:
                break
            TABLE.drain()
            assert len(TABLE) == 0, place
            assert LEDGER.held == 0, place
            assert not LEDGER.nested, place
            assert PROCESS._running == 0, place
            assert not PROCESS._stops, place
            assert scratch_in_use() == 0, place
            assert left(tmp_path) in ([], ["out.npy"], ["x.npy.grad"]), place
        assert float(jnp.sum(x)) == 780
    assert place > 500
