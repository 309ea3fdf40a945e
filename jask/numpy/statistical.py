"""Statistical functions of the standard: reductions and running sums."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from jask.numpy import _cumulative, _kernels
from jask.numpy._table import (
    Array,
    Axis,
    Operand,
    as_dtype,
    axes_tuple,
    axis_index,
    call,
    check_operand,
    check_out,
    default_dtype,
    documented_reduction,
    dtype_or_none,
    finish,
    is_wide,
    ndim_of,
    shape_of,
)


def reduce(
    name: str,
    kernel: Callable[..., Any],
    x: Operand,
    axis: Axis,
    keepdims: Any,
    *,
    out: None,
    where: Operand = None,
    initial: Operand = None,
    dtype: Any = None,
    **static: Any,
) -> Array:
    """Apply a reduction; what every function of this chapter comes down to."""
    check_out(name, out)
    check_operand(name, x)
    options = {
        "axis": axes_tuple(axis, ndim_of(x)),
        "keepdims": keepdims is True,
        **static,
    }
    target = dtype_or_none(dtype)
    if target is not None:
        options["dtype"] = target
    wide = is_wide(target)
    if where is None and initial is None:
        return call(kernel, x, name=name, wide=wide, **options)
    return call(
        _kernels.reduce_where,
        x,
        where,
        initial,
        name=name,
        wide=wide,
        function=kernel,
        **options,
    )


def _summation(
    name: str, kernel: Callable[..., Any], summary: str, example: str
) -> Callable[..., Array]:
    """Return a sum-like reduction: small integers become the default integer."""

    def function(
        x: Operand,
        /,
        axis: Axis = None,
        dtype: Any = None,
        *,
        out: None = None,
        keepdims: bool = False,
        initial: Operand = None,
        where: Operand = None,
        promote_integers: bool = True,
    ) -> Array:
        return reduce(
            name,
            kernel,
            x,
            axis,
            keepdims,
            out=out,
            dtype=dtype,
            initial=initial,
            where=where,
            **({} if promote_integers else {"promote_integers": False}),
        )

    dtypes = "the dtype of `x`, small integers as the default integer"
    doc = documented_reduction(function, name, summary, dtypes, example)
    return finish(function, name, __name__, doc)


def _extreme(
    name: str, kernel: Callable[..., Any], summary: str, example: str
) -> Callable[..., Array]:
    """Return a reduction without an identity: an empty axis is a ValueError."""

    def function(
        x: Operand,
        /,
        axis: Axis = None,
        *,
        out: None = None,
        keepdims: bool = False,
        initial: Operand = None,
        where: Operand = None,
    ) -> Array:
        if initial is None:
            check_not_empty(name, x, axis)
        given = {"out": out, "initial": initial, "where": where}
        return reduce(name, kernel, x, axis, keepdims, **given)

    doc = documented_reduction(function, name, summary, "the dtype of `x`", example)
    return finish(function, name, __name__, doc)


def check_not_empty(name: str, x: Operand, axis: Axis) -> None:
    """Raise ValueError where there is nothing to choose from."""
    shape = shape_of(check_operand(name, x))
    axes = axes_tuple(axis, len(shape))
    lengths = shape if axes is None else tuple(shape[a] for a in axes)
    rest = (
        () if axes is None else tuple(n for k, n in enumerate(shape) if k not in axes)
    )
    if 0 in lengths and 0 not in rest:
        msg = f"{name}: an axis of length 0 has no {name}; got shape {shape}."
        raise ValueError(msg)


sum = _summation(
    "sum", jnp.sum, "Sum of the elements", "[1.0, 2.5] -> Array(3.5, dtype=float32)"
)
prod = _summation(
    "prod",
    jnp.prod,
    "Product of the elements",
    "[2.0, 2.5] -> Array(5., dtype=float32)",
)
max = _extreme(
    "max",
    jnp.max,
    "Largest element; NaN if there is one",
    "[1.0, 2.5] -> Array(2.5, dtype=float32)",
)
min = _extreme(
    "min",
    jnp.min,
    "Smallest element; NaN if there is one",
    "[1.0, 2.5] -> Array(1., dtype=float32)",
)


def mean(
    x: Operand,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    out: None = None,
    keepdims: bool = False,
    where: Operand = None,
) -> Array:
    """Arithmetic mean.

    Parameters
    ----------
    x : array
        The operand.
    axis : int, tuple of ints or None
        Axes to reduce; None: all.
    dtype : dtype, optional
        Of the result; default: that of `x`, the default float for integers.
    out : None
        For compatibility: arrays are immutable.
    keepdims : bool
        Keep the reduced axes with length one.
    where : array, optional
        Elements to take.

    Returns
    -------
    array
        The shape of `x` without the reduced axes. Blocks are combined in a wider type.
        Reads nothing until a value is asked for; then streams in one pass.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> jask.materialize(jnp.mean(jnp.asarray([1.0, 2.5])))
    Array(1.75, dtype=float32)
    """
    given = {"out": out, "dtype": dtype, "where": where}
    return reduce("mean", jnp.mean, x, axis, keepdims, **given)


def _spread(
    name: str, kernel: Callable[..., Any], summary: str, example: str
) -> Callable[..., Array]:
    """Return var or std."""

    def function(
        x: Operand,
        /,
        axis: Axis = None,
        dtype: Any = None,
        *,
        out: None = None,
        correction: float = 0.0,
        keepdims: bool = False,
        ddof: float = 0,
        where: Operand = None,
        mean: Operand = None,
    ) -> Array:
        options: dict[str, Any] = {"dtype": dtype, "correction": correction or ddof}
        check_out(name, out)
        if mean is None:
            options["where"] = where
            return reduce(name, kernel, x, axis, keepdims, out=None, **options)
        options["axis"] = axes_tuple(axis, ndim_of(x))
        options["keepdims"] = keepdims is True
        options["dtype"] = dtype_or_none(dtype)
        options |= {"wide": is_wide(options["dtype"]), "function": kernel}
        return call(_kernels.spread_about, x, mean, where, name=name, **options)

    dtypes = "real; the dtype of `x`, the default float for integers"
    doc = documented_reduction(function, name, summary, dtypes, example)
    return finish(function, name, __name__, doc)


var = _spread(
    "var", jnp.var, "Variance", "[1.0, 2.0, 6.0, 7.0] -> Array(6.5, dtype=float32)"
)
std = _spread(
    "std",
    jnp.std,
    "Standard deviation",
    "[1.0, 1.0, 5.0, 5.0] -> Array(2., dtype=float32)",
)


def _running(
    name: str, summary: str, example: str, *, product: bool
) -> Callable[..., Array]:
    """Return cumulative_sum or cumulative_prod."""

    def function(
        x: Operand,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        out: None = None,
        include_initial: bool = False,
    ) -> Array:
        check_out(name, out)
        ndim = ndim_of(x)
        if axis is None and ndim != 1:
            msg = (
                f"{name}: axis must be given unless the array has one axis; got {ndim}."
            )
            raise ValueError(msg)
        target = as_dtype(dtype) if dtype is not None else summed_dtype(x)
        return call(
            _cumulative.cumulative,
            x,
            name=name,
            wide=is_wide(target),
            axis=axis_index(0 if axis is None else axis, ndim),
            dtype=target,
            include_initial=include_initial is True,
            product=product,
        )

    dtypes = "small integers as the default integer"
    doc = documented_reduction(function, name, summary, dtypes, example)
    return finish(function, name, __name__, doc)


def summed_dtype(x: Operand) -> np.dtype[Any]:
    """Return the dtype of a sum: the default integer for integers narrower than it."""
    dtype: np.dtype[Any] = np.dtype(x.dtype)
    if dtype.kind not in "biu":
        return dtype
    wide = default_dtype(int)
    if dtype.kind == "u":
        wide = np.dtype(f"u{wide.itemsize}")
    return dtype if dtype.itemsize >= wide.itemsize and dtype.kind != "b" else wide


cumulative_sum = _running(
    "cumulative_sum",
    "Sums up to each element",
    "[1.0, 2.5] -> Array([1. , 3.5], dtype=float32)",
    product=False,
)
cumulative_prod = _running(
    "cumulative_prod",
    "Products up to each element",
    "[2.0, 2.5] -> Array([2., 5.], dtype=float32)",
    product=True,
)

__all__ = [
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum",
    "var",
]  # fmt: skip
