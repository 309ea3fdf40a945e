"""What JAX, or jask, refuses to do with a disk array, and what does it instead."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import jask
import jask.numpy as dnp


class Refusal(NamedTuple):
    """A row of the table."""

    what: str
    why: str
    instead: str
    refused: Callable[[Any], Any]
    error: type[Exception]
    message: str
    works: Callable[[Any], Any]
    right: Callable[[Any], Any]
    """The same in memory."""


REFUSALS = (
    Refusal(
        "`jax.lax.map`, and `jax.lax.scan` without `length=`, over a disk array",
        "JAX does not ask a type that is not its own for its length; of a traced "
        "array it asks nothing, and its message names `length` only",
        "`jask.map`, `jask.scan`, or `length=`",
        lambda x: jax.lax.map(dnp.sum, x),
        ValueError,
        "Use jask.map or jask.scan",
        lambda x: jask.map(jnp.sum, x),
        lambda x: jax.lax.map(jnp.sum, x),
    ),
    Refusal(
        "`jax.jacrev` with respect to a disk array",
        "JAX cuts the Jacobian as an array in memory",
        "`jask.jacrev`",
        jax.jacrev(lambda x: jask.materialize(dnp.sum(x * x, axis=1))),
        NotImplementedError,
        "jask.jacrev",
        jask.jacrev(lambda x: dnp.sum(x * x, axis=1)),
        jax.jacrev(lambda x: jnp.sum(x * x, axis=1)),
    ),
    Refusal(
        "`jax.jacfwd` with a result on disk",
        "JAX cuts the Jacobian as an array in memory",
        "`jask.jacfwd`",
        jax.jacfwd(lambda x: dnp.sum(x * x, axis=1)),
        NotImplementedError,
        "jask.jacfwd",
        jask.jacfwd(lambda x: dnp.sum(x * x, axis=1)),
        jax.jacfwd(lambda x: jnp.sum(x * x, axis=1)),
    ),
    Refusal(
        "`jax.hessian` with respect to a disk array",
        "JAX cuts the Jacobian as an array in memory",
        "`jask.hessian`",
        jax.hessian(lambda x: jask.materialize(dnp.sum(x * x * x))),
        NotImplementedError,
        "jask.hessian",
        jask.hessian(lambda x: dnp.sum(x * x * x)),
        jax.hessian(lambda x: jnp.sum(x * x * x)),
    ),
    Refusal(
        "a function of `jax.numpy` or `jax.lax` on a disk array",
        "it would load all of it",
        "the function of the same name in `jask.numpy`, or `jask.lift`",
        jnp.sin,
        TypeError,
        "jask.lift",
        jask.lift(jnp.sin),
        jnp.sin,
    ),
    Refusal(
        "an array in memory at an index on disk, such as `jax.numpy.ones(9)[i]`",
        "it would load all of the index",
        "the other array with `jask.numpy.asarray`, or the index with "
        "`jask.materialize`",
        lambda x: jnp.arange(9.0)[(x > 0).astype(int)],
        TypeError,
        r"jask\.materialize",
        lambda x: dnp.asarray(jnp.arange(9.0))[(x > 0).astype(int)],
        lambda x: jnp.arange(9.0)[(x > 0).astype(int)],
    ),
    Refusal(
        "`jax.device_put` of a disk array",
        "there is no device to put it on",
        "`jask.materialize`",
        jax.device_put,
        NotImplementedError,
        r"Use jask\.materialize",
        lambda x: jax.device_put(jask.materialize(x)),
        lambda x: x,
    ),
    Refusal(
        "reverse mode through `jax.lax.while_loop`",
        "JAX does not know the number of steps; so in memory too",
        "`jax.lax.fori_loop` or `jax.lax.scan` with a known number of steps",
        jax.grad(
            lambda x: dnp.sum(
                jax.lax.while_loop(
                    lambda y: jask.materialize(dnp.sum(y * y)) > 1, lambda y: y / 2, x
                )
            )
        ),
        ValueError,
        "Reverse-mode",
        jax.grad(lambda x: dnp.sum(jax.lax.fori_loop(0, 3, lambda _, y: y / 2, x))),
        lambda x: jnp.full_like(x, 1 / 8),
    ),
)
"""Rows of the table of refusals."""
