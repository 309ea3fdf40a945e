"""Write docs/transformations.md from what the tests try.

python -m tests.transformations.table          write it
python -m tests.transformations.table --check  fail if it is not up to date
"""

import sys
from pathlib import Path

import jax

from tests.transformations.cases import TRANSFORMS
from tests.transformations.functions import CALLS
from tests.transformations.kinds import KINDS
from tests.transformations.refusals import REFUSALS

PAGE = Path(__file__).parents[2] / "docs" / "transformations.md"

HEAD = """\
# What holds under which transformation

Generated from the tests by `python -m tests.transformations.table`; do not edit.
Tried with JAX {version}.

Each row was run on a `DiskArray` and on a `jax.Array`, with {kinds} functions, one for
each kind of rule, and gave the same shapes, dtypes and values:
{names}.

`jit`, `grad`, `vmap` and `jit` of `grad` were run on {functions} functions of
`jask.numpy`: all that have derivatives.

| transformation | form |
|---|---|
"""

REFUSED = """
## What is refused, and what to write instead

| refused | because | instead |
|---|---|---|
"""

NOTES = """
## Good to know

- Plain `jax.value_and_grad`, run eagerly, evaluates the value first, and then the
  gradients of all in-memory parameters together. Under `jax.jit`, and with
  `jask.value_and_grad`, all of it is one evaluation that reads each source once.
- Arrays that are materialized at once, `jask.materialize((a, b, c))`, are one
  evaluation and one equation in a jaxpr, forward and backward. Separate calls in one
  jitted function share an evaluation where the later ones need no array in a file, and
  no value, that the first does not need too.
- Operations on disk arrays keep no residuals: what the way back needs is computed again
  from the operands. `jax.checkpoint` works, and changes little.
- `jax.lax.scan` takes a handle for each row, and calls back for each step that asks for
  a value. `jask.scan` and `jask.map` take the rows in blocks, in memory.
- A disk array that leaves a function under `jax.jit` is lazy: it is evaluated when it
  is asked for.
"""


def form(name: str) -> str:
    """Return whose form a row tries."""
    return "jask's" if "jask." in name else "JAX's own"


def page() -> str:
    """Return the whole page."""
    version = ".".join(jax.__version__.split(".")[:2])
    functions = len({c.name for c in CALLS.values()})
    head = HEAD.format(
        version=version,
        kinds=len(KINDS),
        names=", ".join(KINDS),
        functions=functions,
    )
    rows = "".join(f"| {name} | {form(name)} |\n" for name in TRANSFORMS)
    refused = "".join(f"| {r.what} | {r.why} | {r.instead} |\n" for r in REFUSALS)
    return head + rows + REFUSED + refused + NOTES


def main(arguments: list[str]) -> int:
    """Write the page, or say that it is not up to date."""
    if "--check" not in arguments:
        PAGE.write_text(page())
        return 0
    return int(PAGE.read_text() != page())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
