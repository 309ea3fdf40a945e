"""Run one family of functions on a large file and report its memory; run as a script.

Usage: child.py FAMILY FILE BYTES BUDGET. Prints measured and projected bytes.
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import jax
import numpy as np

import jask
import jask.numpy as jnp
from jask.execute.run import InMemory, ToFile, evaluate, prepare
from jask.hijax.binding import settled
from tests.memory import backward, windows

WIDTH = 256
PARTS = 16


def _rows(x: Any) -> Any:
    return jnp.reshape(x, (-1, WIDTH))


def _product(x: Any) -> Any:
    side = int(x.size**0.5) // 2 * 2
    square = jnp.reshape(x[: side * side], (side, side))
    return square[:, : side // 4] @ square[: side // 4, : side // 2]


def _logistic(x: Any) -> Any:
    def loss(w: Any, rows: Any) -> Any:
        return jax.numpy.mean(jax.numpy.logaddexp(0, rows @ w))

    w = jax.numpy.ones((WIDTH,), "float32")
    return jask.lift(jax.grad(loss))(w, _rows(x))


def _square(x: Any) -> Any:
    side = int(x.size**0.5)
    return jnp.reshape(x[: side * side], (side, side))


def _pairs(x: Any) -> Any:
    square = _square(x)
    places = np.random.default_rng(0).integers(0, square.shape[0], (2, 20_000))
    return square[places[0], places[1]]


def _product_of_parts(x: Any) -> Any:
    n = x.size // PARTS
    return prod((x[n * i : n * (i + 1)] for i in range(PARTS)), start=1)


def _matrices(x: Any) -> Any:
    return jnp.reshape(x[: x.size // 16 * 16], (-1, 4, 4)) + jnp.eye(4, dtype=x.dtype)


FAMILIES: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: jnp.sqrt(x * x + 1) * jnp.sin(x),
    "sum": jnp.sum,
    "variance": lambda x: jnp.var(_rows(x), axis=0),
    "argmax": jnp.argmax,
    "standardise": lambda x: (
        (_rows(x) - jnp.mean(_rows(x), axis=0)) / (1 + jnp.std(_rows(x), axis=0))
    ),
    "softmax": lambda x: (
        jnp.exp(_rows(x)) / jnp.sum(jnp.exp(_rows(x)), axis=1, keepdims=True)
    ),
    "transpose": lambda x: _rows(x).T,
    "noise": lambda x: x + jask.random.normal(jax.random.key(0), x.shape, "float32"),
    "flip and roll": lambda x: jnp.roll(jnp.flip(x), 1001),
    "concat": lambda x: jnp.concat([x, x + 1]),
    "joined with itself backwards": lambda x: jnp.sum(
        jnp.abs(jnp.concatenate([x, jnp.flip(x)]))
    ),
    "many parts joined at the end": lambda x: jnp.sum(
        jnp.abs(jnp.concatenate([x, _product_of_parts(x)]))
    ),
    "many parts set at the start": lambda x: jnp.sum(
        jnp.abs(x.at[: x.size // PARTS].set(_product_of_parts(x)))
    ),
    "strided": lambda x: x[5::3],
    "cumulative_sum": lambda x: jnp.cumulative_sum(_rows(x), axis=0),
    "after a scan": lambda x: jnp.cumulative_sum(_rows(x), axis=0) * 2 - _rows(x),
    "maximum of a scan": lambda x: jnp.max(jnp.cumulative_sum(_rows(x), axis=0)),
    "sort rows": lambda x: jnp.sort(_rows(x), axis=1),
    "sort": jnp.sort,
    "argsort": jnp.argsort,
    "sort columns": lambda x: jnp.sort(jnp.reshape(x, (-1, 8)), axis=0),
    "sort columns of a wide table": lambda x: jnp.sort(_rows(x), axis=0),
    "percentile of columns": lambda x: jnp.percentile(_rows(x), 30.0, axis=0),
    "median": jnp.median,
    "gram": lambda x: _rows(x).T @ _rows(x),
    "product": _product,
    "logistic gradient": _logistic,
    "diagonal": lambda x: jnp.diagonal(_square(x)),
    "elements by index arrays": _pairs,
    "rows by an index array": lambda x: _rows(x)[np.arange(0, 250, 7)],
    "poisson": lambda x: jask.random.poisson(jax.random.key(0), 3.0, (x.size // 8,)),
    "permutation": lambda x: jask.random.permutation(jax.random.key(0), x.size // 4),
    "digitize": lambda x: jnp.digitize(x, np.linspace(-1, 1, 99, dtype="float32")),
    "histogram": lambda x: jnp.histogram(x, 64)[0],
    "distinct": lambda x: jnp.unique_counts(x).counts,
    "counts": lambda x: jnp.bincount(jnp.astype(x, jnp.int32), length=100),
    "elements by a mask": lambda x: x[x >= 0],
    "rows by a mask": lambda x: _rows(x)[_rows(x)[:, 3] >= 0],
    "nonzero": lambda x: jnp.nonzero(x == 0)[0],
    **backward.FAMILIES,
    **windows.FAMILIES,
    "inverses of a stack": lambda x: jnp.linalg.inv(_matrices(x)),
    "singular values of a stack": lambda x: jnp.linalg.svd(_matrices(x)).S,
    "where": lambda x: jnp.where(x > 0, x, jnp.clip(x, -1, 1)),
}


def held() -> int:
    """Bytes of anonymous and shared memory of this process."""
    status = Path("/proc/self/status").read_text()
    lines = (s.split() for s in status.splitlines())
    return sum(int(s[1]) * 1024 for s in lines if s[0] in {"RssAnon:", "RssShmem:"})


class Peak:
    """The most memory held while it is open, above what was held before."""

    def __enter__(self) -> "Peak":
        self.start = self.most = held()
        self.open = True
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self) -> None:
        while self.open:
            self.most = max(self.most, held())
            time.sleep(0.003)

    def __exit__(self, *_: object) -> None:
        self.open = False
        self.thread.join()

    @property
    def growth(self) -> int:
        return self.most - self.start


def main(family: str, file: str, nbytes: int, budget: int) -> None:
    make = FAMILIES[family]
    out = Path(file).with_name("out.npy")
    with jask.config(memory_budget=budget, durable=False, progress=False):
        small = jask.from_numpy(jax.numpy.zeros(1 << 16, "float32"))
        jask.materialize(make(small))  # threads, code and caches that are there anyway
        x = jask.DiskArray(file, (nbytes // 4,), "float32")
        with Peak() as making:  # shapes that depend on values are found at the call
            results = jax.tree.leaves(make(x))
        nodes = settled([r.node for r in results])
        to = [
            ToFile(out.with_stem(f"out-{i}"))
            if node.nbytes > budget // 64
            else InMemory()
            for i, node in enumerate(nodes)
        ]
        projected = prepare(nodes, to).plan.projected
        with Peak() as peak:
            evaluate(nodes, to)
    figures = {"measured": max(making.growth, peak.growth), "projected": projected}
    print(json.dumps(figures))  # noqa: T201 (what the parent reads)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
