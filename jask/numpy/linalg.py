"""The linear algebra extension of the standard, and `jax.numpy.linalg` beyond it.

Products, norms, traces and diagonals stream. Factorisations need each matrix in
memory: a stack of small matrices is fine, one large matrix is a MemoryBudgetError.
"""

from functools import partial

import jax.numpy as jnp

from jask.numpy import _lift
from jask.numpy.linear import matmul, matrix_transpose, tensordot, vecdot

_lifted = partial(_lift.lifted, module=__name__)
_of_one = partial(_lifted, first=("x",))

cholesky = _of_one(jnp.linalg.cholesky, "Cholesky factor of positive definite matrices")
cond = _lifted(jnp.linalg.cond, "Condition number")
cross = _lifted(jnp.linalg.cross, "Cross product of vectors of three elements")
det = _of_one(jnp.linalg.det, "Determinant of square matrices")
diagonal = _lifted(jnp.linalg.diagonal, "Diagonal of the last two axes")
eig = _lifted(jnp.linalg.eig, "Eigenvalues and eigenvectors of square matrices")
eigh = _of_one(jnp.linalg.eigh, "Eigenvalues and eigenvectors of Hermitian matrices")
eigvals = _lifted(jnp.linalg.eigvals, "Eigenvalues of square matrices")
eigvalsh = _of_one(jnp.linalg.eigvalsh, "Eigenvalues of Hermitian matrices")
inv = _of_one(jnp.linalg.inv, "Inverse of square matrices")
lstsq = _lifted(jnp.linalg.lstsq, "Least squares")
matrix_norm = _lifted(jnp.linalg.matrix_norm, "Norm of the last two axes")
matrix_power = _lifted(
    jnp.linalg.matrix_power, "Integer power of square matrices", first=("x", "n")
)
matrix_rank = _of_one(jnp.linalg.matrix_rank, "Rank of matrices")
multi_dot = _lifted(jnp.linalg.multi_dot, "Product of several matrices")
norm = _lifted(jnp.linalg.norm, "Norm of vectors or matrices")
outer = _lifted(jnp.linalg.outer, "Outer product of two vectors")
pinv = _of_one(jnp.linalg.pinv, "Pseudo-inverse of matrices")
qr = _of_one(jnp.linalg.qr, "QR factorisation")
slogdet = _of_one(jnp.linalg.slogdet, "Sign and logarithm of the determinant")
solve = _lifted(jnp.linalg.solve, "Solution of linear equations", first=("x1", "x2"))
svd = _of_one(jnp.linalg.svd, "Singular value decomposition")
svdvals = _lifted(jnp.linalg.svdvals, "Singular values")
tensorinv = _of_one(jnp.linalg.tensorinv, "Inverse of a tensor as a linear map")
tensorsolve = _lifted(jnp.linalg.tensorsolve, "Solution of a tensor equation")
trace = _lifted(jnp.linalg.trace, "Sum of the diagonal of the last two axes")
vector_norm = _lifted(jnp.linalg.vector_norm, "Norm along axes")

__all__ = [
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals",
    "eigvalsh", "inv", "lstsq", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "multi_dot", "norm", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "tensorinv", "tensorsolve",
    "trace", "vecdot", "vector_norm",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})
