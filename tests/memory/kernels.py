"""Run programs of many kernels and report the memory that grew; run as a script.

Usage: kernels.py NAME FOLDER BUDGET SIDE .... Prints the growth in bytes at its peak,
over this program for squares of each side.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import jask
import jask.numpy as jnp
from tests.memory.child import Peak


def _square(folder: Path, name: str, side: int) -> Any:
    """A file of zeros that takes no space."""
    path = folder / f"{name}{side}.bin"
    path.touch()
    os.truncate(path, side * side * 4)
    return jask.DiskArray(path, (side, side), "float32")


def chain(folder: Path, side: int) -> None:
    """Differentiate a chain of products: five products, most sides cut off."""
    files = [_square(folder, name, side) for name in "abc"]
    loss = lambda a, b, c: jnp.sum((a @ b) @ c)
    for gradient in jask.grad(loss, argnums=(0, 1, 2))(*files):
        assert gradient.shape == (side, side)


FUNCTIONS = (jnp.sin, jnp.cos, jnp.tanh, jnp.exp, jnp.square)


def layer(folder: Path, side: int) -> None:
    """Save what follows a product, and a mean beside it."""
    function = FUNCTIONS[side // 2 % len(FUNCTIONS)]
    a, b, c = (_square(folder, name, side) for name in "abc")
    both = {"made.npy": function(a @ b) * 2 + c, "mean.npy": jnp.mean(function(a), 0)}
    jask.save({folder / name: made for name, made in both.items()})


def main(what: str, folder: Path, budget: int, sides: list[int]) -> None:
    run = {"chain": chain, "layer": layer}[what]
    with jask.config(memory_budget=budget, durable=False, progress=False):
        run(folder, 64)  # threads and caches that are there anyway
        with Peak() as peak:
            for side in sides:
                run(folder, side)
    print(json.dumps(peak.growth))  # noqa: T201 (what the parent reads)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), list(map(int, sys.argv[4:])))
