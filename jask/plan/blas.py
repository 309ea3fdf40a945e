"""Which products of a pass BLAS computes on a CPU, and in what memory.

It is faster than XLA:CPU's own; `jask.execute.products` calls it. All steps of a pass
do the same: an accumulator stays where it lies.
"""

from math import prod

import jax
import numpy as np

from jask.plan.ir import Pass, Root
from jask.trace.ir import Equation, Literal

__all__ = ["blas_roots", "is_by_blas", "joins_in_place", "room"]

NARROWEST = 32
"""Least side of a product that is worth a call of BLAS: XLA sums thin ones as fast."""

FEWEST = 1 << 21
"""Least number of multiplications in a step that is: 40 microseconds."""

MATRIX = 2

DTYPES = frozenset({np.dtype("float32"), np.dtype("float64")})

ROOM = 8 << 20
"""Bytes of a product that is made before it is added; a larger one is made in place."""


def blas_roots(p: Pass) -> frozenset[int]:
    """Return the numbers of the roots that BLAS computes.

    Where there is a large product, small ones go with it: the step may then do without
    XLA.
    """
    if jax.default_backend() != "cpu":
        return frozenset()
    known = [k for k, r in enumerate(p.roots) if is_by_blas(r)]
    worth = any(_is_worth_it([p.tile[a] for a in p.roots[k].axes]) for k in known)
    return frozenset(known if worth else ())


def joins_in_place(root: Root) -> bool:
    """Return whether the sums of such a root are the result: none is rounded."""
    assert root.eqn is not None
    return root.reduction.accumulators(root.eqn) == (root.outputs[0].dtype,)


def is_by_blas(root: Root) -> bool:
    """Return whether a root sums products of matrices that BLAS knows."""
    return root.kind == "reduce" and root.eqn is not None and _is_known(root.eqn)


def _is_known(eqn: Equation) -> bool:
    if eqn.name != "dot_general":
        return False
    (summed, _), (batch, _) = eqn.params["dimension_numbers"]
    result, operands = eqn.outputs[0], eqn.inputs
    matrices = max(a.ndim for a in operands) == MATRIX and result.ndim > 0
    plain = len(summed) == 1 and not batch
    types = {a.dtype for a in (result, *operands)}
    computed = not any(isinstance(a, Literal) for a in operands)
    return matrices and plain and computed and len(types) == 1 and types <= DTYPES


def _is_worth_it(domain: list[int]) -> bool:
    large = len(domain) > MATRIX and prod(domain) >= FEWEST
    return large and min(domain) >= NARROWEST


def room(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the shape of what is made of a product of this shape before it is added.

    NumPy's BLAS multiplies a small one; it knows `x.T @ x`, of which it computes half.
    """
    return shape if prod(shape) * itemsize <= ROOM else (0,)
