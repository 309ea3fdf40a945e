"""Elementwise functions that have more to say than a row of `unary` or `binary`."""

import operator

import jax.numpy as jnp
import numpy as np

from jask.numpy import _kernels
from jask.numpy._table import Array, Operand, call, check_out


def pow(x1: Operand, x2: Operand, /) -> Array:
    """Power.

    A single integer exponent in memory is part of the program (the power is computed
    by multiplications); any other exponent is a run-time operand.

    Parameters
    ----------
    x1, x2 : array or scalar
        Base and exponent; their shapes must broadcast.

    Returns
    -------
    array
        The broadcast shape; the promoted dtype.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.pow(jnp.asarray([2.0, 3.0]), 3))
    Array([ 8., 27.], dtype=float32)
    """
    exponent = _whole(x2)
    if exponent is not None and hasattr(x1, "dtype"):
        return call(_kernels.static_power, x1, name="pow", exponent=exponent)
    return call(jnp.power, x1, x2, name="pow")


def _whole(x: Operand) -> int | None:
    """Return one integer in memory as Python's; None for anything else."""
    if type(x) is int:
        return x
    single = isinstance(x, (np.ndarray, np.generic)) and not x.shape
    return int(x) if single and x.dtype.kind in "iu" else None


def round(x: Operand, /, decimals: int = 0, *, out: None = None) -> Array:
    """Nearest value with this many decimals; halves go to the even neighbour.

    Parameters
    ----------
    x : array
        The operand.
    decimals : int
        How many digits to keep behind the point; negative: before it.
    out : None
        For compatibility: arrays are immutable.

    Returns
    -------
    array
        The shape and the dtype of `x`.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.round(jnp.asarray([0.5, 1.5, 2.4])))
    Array([0., 2., 2.], dtype=float32)
    """
    check_out("round", out)
    return call(jnp.round, x, name="round", decimals=operator.index(decimals))


def clip(x: Operand, /, min: Operand = None, max: Operand = None) -> Array:
    """Values limited to at least `min` and at most `max`.

    Parameters
    ----------
    x : array
        The operand.
    min, max : array, scalar or None
        The limits, which broadcast with `x`; None: no limit.

    Returns
    -------
    array
        The broadcast shape; the dtype of `x` where the limits are scalars.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.clip(jnp.asarray([-2, 0, 9]), 0, 5))
    Array([0, 0, 5], dtype=int32)
    """
    return call(_kernels.clip, x, min, max, name="clip")


__all__ = ["clip", "pow", "round"]
