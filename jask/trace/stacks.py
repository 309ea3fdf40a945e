"""Decompositions of stacks of matrices: one equation for each result.

The results of an LU, QR, singular value or eigenvalue decomposition differ in shape, so
that one equation could not be computed box by box. But the matrices of a stack are
independent of each other, and each result has the axes of the stack first. So the
program holds an equation for each result that is used; XLA computes a decomposition
once where a kernel asks for several of its results.

A single matrix is left as it is: it is computed in memory.
"""

from functools import lru_cache
from math import prod
from typing import Any

from jask import _jax
from jask.trace.ir import Atom

DECOMPOSITIONS = frozenset(
    {
        "eig",
        "eigh",
        "hessenberg",
        "lu",
        "qr",
        "svd",
        "tridiagonal",
    }
)
"""Primitives of a matrix (or stack of matrices), whose results differ in shape."""


def stacked_name(name: str) -> str:
    """Return the name of the equation that makes one result for a stack.

    Examples
    --------
    >>> stacked_name("lu")
    'lu of a stack'
    """
    return f"{name} of a stack"


class OneResult:
    """A decomposition of which only the result with the number `part` is returned."""

    multiple_results = False

    def __init__(self, primitive: _jax.Primitive) -> None:
        self.primitive, self.name = primitive, stacked_name(primitive.name)

    def bind(self, *operands: Any, part: int, **params: Any) -> Any:
        """Decompose; return one result."""
        return self.primitive.bind(*operands, **params)[part]


@lru_cache
def one_result(primitive: Any) -> OneResult:
    """Return the primitive that makes one result of this one."""
    return OneResult(primitive)


def is_stack(name: str, operand: Atom) -> bool:
    """Return whether this primitive of this operand decomposes several matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from jask.trace.ir import Var
    >>> is_stack("lu", Var((9, 3, 3), np.dtype("f4")))
    True
    >>> is_stack("lu", Var((3, 3), np.dtype("f4")))
    False
    """
    many = name in DECOMPOSITIONS and prod(operand.shape[:-2]) > 1
    return many and 0 not in operand.shape
