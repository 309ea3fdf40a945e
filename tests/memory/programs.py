"""Run many distinct programs on a file and report the memory left; run as a script.

Usage: programs.py FILE ROWS COUNT. Prints the growth in bytes after the last program.
"""

import json
import sys
from typing import Any

import numpy as np

import jask
import jask.numpy as jnp
from jask.execute import run
from tests.memory.child import held

WIDTH = 8
FUNCTIONS = (
    jnp.sin,
    jnp.cos,
    jnp.tan,
    jnp.exp,
    jnp.tanh,
    jnp.sinh,
    jnp.cosh,
    jnp.atan,
    jnp.square,
    jnp.abs,
    jnp.sign,
    jnp.floor,
    jnp.ceil,
    jnp.negative,
    jnp.expm1,
    jnp.asinh,
    jnp.trunc,
    jnp.round,
    jnp.positive,
    jnp.isfinite,
)


def program(x: Any, number: int) -> Any:
    """Return the spread of one function of `x + k`; each number is another program."""
    shift, function = divmod(number, len(FUNCTIONS))
    for _ in range(shift):
        x = x + 1
    return jnp.std(FUNCTIONS[function](x) - jnp.mean(x, axis=0), axis=0)


def main(file: str, rows: int, count: int, code: int) -> None:
    run.KEEP_CODE = code
    with jask.config(memory_budget="64MiB", progress=False, workers=2):
        x = jask.DiskArray(file, (rows, WIDTH), "float32")
        np.asarray(jnp.std(x, axis=0))  # threads and caches that are there anyway
        before = held()
        for number in range(count):
            np.asarray(program(x, number))
        growth = held() - before
    print(json.dumps(growth))  # noqa: T201 (what the parent reads)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
