"""Functions of `jax.numpy` about shapes and types: they never read values."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from jask.numpy._table import Array, axes_tuple, is_array, ndim_of, shape_of
from jask.numpy.jax_names import diag_indices, tril_indices, triu_indices


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> [i.shape for i in jnp.diag_indices_from(jnp.zeros((3, 3)))]
    [(3,), (3,)]
    """
    shape = shape_of(arr)
    if len(set(shape)) != 1 or len(shape) < 2:
        msg = f"diag_indices_from: needs two or more equal axes; got shape {shape}."
        raise ValueError(msg)
    return tuple(diag_indices(shape[0], len(shape)))


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Return the indices of the lower triangle of a matrix.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> [i.shape for i in jnp.tril_indices_from(jnp.zeros((3, 3)))]
    [(6,), (6,)]
    """
    rows, columns = shape_of(arr)
    return tuple(tril_indices(rows, k, columns))


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Return the indices of the upper triangle of a matrix.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> [i.shape for i in jnp.triu_indices_from(jnp.zeros((3, 3)), k=1)]
    [(3,), (3,)]
    """
    rows, columns = shape_of(arr)
    return tuple(triu_indices(rows, k, columns))


def iscomplexobj(x: Any) -> bool:
    """Return whether an array or a scalar is of a complex type.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.iscomplexobj(jnp.zeros(3, jnp.complex64))
    True
    """
    return isinstance(x, complex) or (
        is_array(x) and bool(jnp.issubdtype(x.dtype, jnp.complexfloating))
    )


def isrealobj(x: Any) -> bool:
    """Return whether an array or a scalar is of a real type.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.isrealobj(jnp.zeros(3))
    True
    """
    return not iscomplexobj(x)


def ndim(a: Any) -> int:
    """Return the number of axes.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.ndim(jnp.zeros((3, 4)))
    2
    """
    return ndim_of(a) if is_array(a) else int(np.ndim(a))


def shape(a: Any) -> tuple[int, ...]:
    """Return the shape.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.shape(jnp.zeros((3, 4)))
    (3, 4)
    """
    return shape_of(a) if is_array(a) else tuple(np.shape(a))


def size(a: Any, axis: int | None = None) -> int:
    """Return the number of elements, or of those along an axis.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.size(jnp.zeros((3, 4)))
    12
    """
    lengths = shape(a)
    if axis is None:
        return int(np.prod(lengths, dtype=object))
    return int(np.prod([lengths[k] for k in axes_tuple(axis, len(lengths)) or ()]))


__all__ = [
    "diag_indices_from", "iscomplexobj", "isrealobj", "ndim", "shape", "size",
    "tril_indices_from", "triu_indices_from",
]  # fmt: skip
