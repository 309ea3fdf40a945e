"""Jacobians and Hessians with disk arrays, as lazy disk arrays.

1. Each result, or each argument, has a basis: an identity matrix where the array is,
   lazily.
2. The pullback, or the pushforward, is mapped over it; one entry of a Jacobian is one
   element of a lazy array, so that nothing the size of a Jacobian is held.

JAX's own forms cut the basis as an array in memory.
"""

from collections.abc import Callable
from functools import partial, wraps
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from jask.hijax.apply import constant
from jask.hijax.type import DiskArrayType, is_disk, is_inexact
from jask.transforms.arguments import ArgNums, Arguments

__all__ = ["hessian", "jacfwd", "jacrev"]


def jacrev(
    fun: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `fun`, row by row.

    For functions with few results. Like `jax.jacrev`, for real functions, of disk
    arrays and of arrays in memory.

    Parameters
    ----------
    fun
        Takes and returns pytrees of arrays.
    argnums
        Which positional arguments to differentiate with respect to.
    has_aux
        Whether `fun` returns a pair of what is differentiated and something else.

    Returns
    -------
    Callable
        Returns, for each result, the derivatives with respect to the arguments, of
        shape `result.shape + argument.shape`; with respect to a disk array, a lazy disk
        array. With `has_aux`, a pair of these and the rest.

    Raises
    ------
    TypeError
        If an argument to differentiate with respect to, or a result, is not real.

    Examples
    --------
    >>> import jask
    >>> x = jask.from_numpy(jnp.float32([1, 2]))
    >>> jask.materialize(jacrev(lambda x: x * x)(x)).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    @wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = Arguments(argnums, args, kwargs)
        given.check("jacrev")
        call = partial(given.call, fun)
        vjp: Callable[..., Any] = jax.vjp
        y, pull, *aux = vjp(call, *given.chosen, has_aux=has_aux)
        leaves, tree = jax.tree.flatten(y)
        _require_real("jacrev", leaves, given.chosen)
        rows = []
        for k, leaf in enumerate(leaves):
            mapped = jax.vmap(lambda ct, k=k: pull(_only(k, ct, leaves, tree)))
            found = mapped(_basis(leaf))
            shape = jax.typeof(leaf).shape
            whole = jax.tree.map(partial(_unfolded, shape=shape), found)
            rows.append(whole[0] if given.single else whole)
        jacobian = jax.tree.unflatten(tree, rows)
        return (jacobian, *aux) if has_aux else jacobian

    return wrapped


def jacfwd(
    fun: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `fun`, column by column.

    For functions with few arguments; with the same parameters, results and errors as
    `jacrev`.

    Examples
    --------
    >>> import jask
    >>> x = jask.from_numpy(jnp.float32([1, 2]))
    >>> jask.materialize(jacfwd(lambda x: x * x)(x)).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """

    @wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = Arguments(argnums, args, kwargs)
        given.check("jacfwd")
        leaves, tree = jax.tree.flatten(given.chosen)
        push: Callable[..., Any] = jax.linearize
        y, pushed, *aux = push(partial(given.call, fun), *given.chosen, has_aux=has_aux)
        results, outer = jax.tree.flatten(y)
        _require_real("jacfwd", results, given.chosen)
        columns = []
        for k, leaf in enumerate(leaves):
            mapped = jax.vmap(lambda t, k=k: pushed(*_only(k, t, leaves, tree)))
            shape = jax.typeof(leaf).shape
            found = jax.tree.leaves(mapped(_basis(leaf)))
            columns.append(
                [_last(_unfolded(a, shape=shape), len(shape)) for a in found]
            )
        entries = [jax.tree.unflatten(tree, row) for row in zip(*columns, strict=True)]
        jacobian = jax.tree.unflatten(
            outer, [e[0] if given.single else e for e in entries]
        )
        return (jacobian, *aux) if has_aux else jacobian

    return wrapped


def hessian(
    fun: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `fun`.

    The Jacobian, forward, of the Jacobian, in reverse; with the same parameters and
    errors as `jacrev`.

    Examples
    --------
    >>> import jask
    >>> x = jask.from_numpy(jnp.float32([1, 2]))
    >>> jask.materialize(hessian(lambda x: (x * x * x).sum())(x)).tolist()
    [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(fun, argnums, has_aux=has_aux), argnums, has_aux=has_aux)


def _require_real(name: str, results: list[Any], chosen: Any) -> None:
    for leaf in (*results, *jax.tree.leaves(chosen)):
        dtype = jax.typeof(leaf).dtype
        if not is_inexact(dtype) or jnp.issubdtype(dtype, jnp.complexfloating):
            msg = f"{name} requires real-valued arguments and results; got {dtype}."
            raise TypeError(msg)


def _identity(shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return the identity matrix of an array's elements, rows in the array's shape."""
    return jnp.eye(shape[0], prod(shape[1:]), dtype=dtype).reshape(shape)


def _basis(x: Any) -> Any:
    """Return every unit array like `x`, stacked, where `x` is."""
    t = jax.typeof(x)
    shape = (prod(t.shape), *t.shape)
    if not is_disk(x):
        return _identity(shape, t.dtype)
    return constant(_identity, DiskArrayType(shape, t.dtype), name="identity")


def _only(k: int, value: Any, leaves: list[Any], tree: Any) -> Any:
    """Return a pytree of zeros like the leaves, with one value."""
    return jax.tree.unflatten(
        tree, [value if i == k else _zeros(x) for i, x in enumerate(leaves)]
    )


def _zeros(x: Any) -> Any:
    t = jax.typeof(x)
    if is_disk(x):
        return constant(jnp.zeros, DiskArrayType(t.shape, t.dtype), name="zeros")
    return jnp.zeros(t.shape, t.dtype)


def _unfolded(x: Any, *, shape: tuple[int, ...]) -> Any:
    """Return an array with its leading axis as these axes."""
    return x.reshape((*shape, *x.shape[1:]))


def _last(x: Any, count: int) -> Any:
    """Return an array with its leading axes behind the others."""
    return x.transpose((*range(count, len(x.shape)), *range(count)))
