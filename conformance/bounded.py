"""Write `bounded.md`: which functions of the standard stream, and in how many passes.

1. Files four times as large as the memory budget are made, without taking up disk.
2. Each function is called on them twice: where the axis it works along (or each matrix)
   fits a block, and where it does not.
3. `jask.explain` counts the passes; `MemoryBudgetError` means in memory only. A result
   that has no plan left was computed at the call.
"""

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

import jask
import jask.numpy as jnp
from jask.errors import MemoryBudgetError
from jask.numpy import binary, unary

HERE = Path(__file__).parent
BUDGET = 64 * 10**6

_HEAD = """# What streams, and in how many passes

Made by `conformance/bounded.py`; do not edit. Each function of the standard on files of
268 MB under a budget of 64 MB, where the axis it works along (or each matrix of a
stack) fits a block, and where it does not. *In memory*: `MemoryBudgetError` names a
budget that would do. *At the call*: the shape of the result depends on values, and the
function reads its operands when it is called.

| function | short axis or small matrices | one long axis or large matrix |
|---|---|---|
"""


class Inputs:
    """Operands of one shape: files of zeros that take no space."""

    def __init__(self, folder: Path, shape: tuple[int, ...], square: tuple[int, ...]):
        self.folder = folder
        self.shape = shape
        self.x, self.y = self.file("float32"), self.file("float32", tag="y")
        self.i, self.j = self.file("int32"), self.file("int32", tag="y")
        self.b, self.c = self.file("bool"), self.file("bool", tag="y")
        self.z = self.file("complex64")
        self.m, self.n = self.file("float32", square), self.file("float32", square, "y")

    def file(self, dtype: str, shape: tuple[int, ...] = (), tag: str = "x") -> Any:
        """Return a sparse file as an array."""
        shape = shape or self.shape
        x = jax.ShapeDtypeStruct(shape, dtype)
        path = self.folder / f"{dtype}-{'x'.join(map(str, shape))}-{tag}"
        with path.open("wb") as file:
            file.truncate(x.size * x.dtype.itemsize)
        return jask.DiskArray(path, shape, dtype)


type Call = Callable[[Inputs], Any]

BITS = {n for n in dir(jnp) if n.startswith("bitwise")}


def _elementwise() -> dict[str, Call]:
    """Return a call of every function of the two elementwise tables."""

    def one(name: str) -> Call:
        kind = {"logical_not": "b", "bitwise_invert": "i", "imag": "z", "real": "z"}
        return lambda d: getattr(jnp, name)(getattr(d, kind.get(name, "x")))

    def two(name: str) -> Call:
        kind = "ij" if name in BITS else "bc" if name.startswith("logical") else "xy"
        return lambda d: getattr(jnp, name)(getattr(d, kind[0]), getattr(d, kind[1]))

    found = {name: one(name) for name in unary.__all__}
    return found | {name: two(name) for name in binary.__all__}


def _of_x(*names: str, **kwargs: Any) -> dict[str, Call]:
    """Return calls of functions of one array."""

    def one(name: str) -> Call:
        return lambda d: getattr(jnp, name)(d.x, **kwargs)

    return {name: one(name) for name in names}


def _of_m(*names: str) -> dict[str, Call]:
    """Return calls of functions of square matrices."""

    def one(name: str) -> Call:
        return lambda d: getattr(jnp.linalg, name)(d.m)

    return {f"linalg.{name}": one(name) for name in names}


def _transforms() -> dict[str, Call]:
    """Return a call of every Fourier transform."""
    real = ("ihfft", "rfft", "rfftn")
    others = ("fft", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "irfft",
              "irfftn")  # fmt: skip

    def one(name: str) -> Call:
        return lambda d: getattr(jnp.fft, name)(d.x if name in real else d.z)

    return {f"fft.{name}": one(name) for name in (*real, *others)}


CALLS: dict[str, Call] = {
    **_elementwise(),
    **_of_x("all", "any", "argmax", "argmin", "argsort", "count_nonzero",
            "cumulative_prod", "cumulative_sum", "diff", "flip", "sort", axis=-1),
    **_of_x("max", "mean", "min", "nonzero", "prod", "round", "std", "sum",
            "unique_all", "unique_counts", "unique_inverse", "unique_values", "var",
            "zeros_like", "ones_like", "empty_like"),
    **_of_m("cholesky", "det", "diagonal", "eigh", "eigvalsh", "inv", "matrix_norm",
            "matrix_rank", "matrix_transpose", "pinv", "qr", "slogdet", "svd",
            "svdvals", "trace"),
    **_transforms(),
    "astype": lambda d: jnp.astype(d.x, jnp.float64),
    "broadcast_arrays": lambda d: jnp.broadcast_arrays(d.x, d.y[..., :1]),
    "broadcast_to": lambda d: jnp.broadcast_to(d.x, (2, *d.x.shape)),
    "clip": lambda d: jnp.clip(d.x, 0.0, 1.0),
    "concat": lambda d: jnp.concat([d.x, d.y], axis=-1),
    "expand_dims": lambda d: jnp.expand_dims(d.x, axis=0),
    "full_like": lambda d: jnp.full_like(d.x, 7.0),
    "isin": lambda d: jnp.isin(d.i, jnp.asarray([1, 2])),
    "linalg.cross": lambda d: jnp.linalg.cross(*_threes(d)),
    "linalg.matrix_power": lambda d: jnp.linalg.matrix_power(d.m, 3),
    "linalg.outer": lambda d: jnp.linalg.outer(_line(d.x), _line(d.y)),
    "linalg.solve": lambda d: jnp.linalg.solve(d.m, d.n),
    "linalg.vector_norm": lambda d: jnp.linalg.vector_norm(d.x, axis=-1),
    "matmul": lambda d: jnp.matmul(d.m, d.n),
    "matrix_transpose": lambda d: jnp.matrix_transpose(d.m),
    "meshgrid": lambda d: jnp.meshgrid(_line(d.x), _line(d.y)),
    "moveaxis": lambda d: jnp.moveaxis(d.m, -1, 0),
    "permute_dims": lambda d: jnp.permute_dims(d.m, range(d.m.ndim)[::-1]),
    "pow": lambda d: jnp.pow(d.x, d.y),
    "repeat": lambda d: jnp.repeat(d.x, 2, axis=-1),
    "reshape": lambda d: jnp.reshape(d.x, (-1, 2)),
    "roll": lambda d: jnp.roll(d.x, 3, axis=-1),
    "searchsorted": lambda d: jnp.searchsorted(_line(d.x), d.y),
    "squeeze": lambda d: jnp.squeeze(d.x[..., None], axis=-1),
    "stack": lambda d: jnp.stack([d.x, d.y]),
    "take": lambda d: jnp.take(d.x, jnp.asarray([2, 0, 1]), axis=-1),
    "take_along_axis": lambda d: jnp.take_along_axis(d.x, d.i, axis=-1),
    "tensordot": lambda d: jnp.tensordot(d.x, d.y, axes=d.x.ndim),
    "tile": lambda d: jnp.tile(d.x, 2),
    "tril": lambda d: jnp.tril(d.m),
    "triu": lambda d: jnp.triu(d.m),
    "unstack": lambda d: jnp.unstack(jnp.reshape(d.x, (4, -1))),
    "vecdot": lambda d: jnp.vecdot(d.x, d.y),
    "where": lambda d: jnp.where(d.b, d.x, d.y),
}  # fmt: skip


def _line(x: Any) -> Any:
    """Return the first lane of an array, cut to a few thousand elements."""
    return x[(0,) * (x.ndim - 1)][:8192]


def _threes(d: Inputs) -> tuple[Any, Any]:
    """Return arrays whose last axis has three elements."""
    return d.x[..., :3], d.y[..., :3]


def passes(call: Call, inputs: Inputs) -> str:
    """Return how a call is evaluated, in words."""
    try:
        found = jax.tree.leaves(call(inputs), is_leaf=lambda v: hasattr(v, "shape"))
        if not any("lazy" in repr(x) for x in found):
            return "at the call"
        plan = jask.explain(*found[:8])
    except MemoryBudgetError:
        return "in memory"
    counted = re.match(r"(\d+) pass", plan)
    return counted[1] if counted else plan.partition("\n")[0]


def main() -> None:
    """Write the table."""
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        jask.config(memory_budget=BUDGET, workers=2),
    ):
        short = Inputs(Path(folder), (2**16, 2**10), (2**16, 32, 32))
        long = Inputs(Path(folder), (2**26,), (2**13, 2**13))
        for name in sorted(CALLS):
            row = (name, passes(CALLS[name], short), passes(CALLS[name], long))
            print(*row, file=sys.stderr, flush=True)
            rows.append("| " + " | ".join(row) + " |\n")
    (HERE / "bounded.md").write_text(_HEAD + "".join(rows))


if __name__ == "__main__":
    main()
