"""Random keys as the numbers that they are made of.

A program knows numbers only: keys of shape S become uint32 arrays of shape S + (2,) (or
whatever the generator's keys are made of).

1. A primitive that makes, splits or uses keys becomes what JAX's generator does for
   it. For the default generator that is a hash of each element's position in the
   array, so any block of it can be made alone, with the same bits.
2. A primitive that only moves keys about becomes itself, over one more axis at the end.
3. A loop or a branch that carries keys carries their numbers.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from jask import _jax
from jask._primitives import keyed_gamma

__all__ = ["IDENTITIES", "concerns_keys", "is_key", "numbers_of", "without_keys"]

type Emit = Callable[..., Any]

IDENTITIES = frozenset({"random_wrap", "random_unwrap", "random_clone"})
"""Primitives that return the numbers of their operand."""


def is_key(dtype: Any) -> bool:
    """Return whether a dtype is that of random keys.

    Examples
    --------
    >>> is_key(jax.random.key(0).dtype), is_key(np.dtype("uint32"))
    (True, False)
    """
    is_plain = isinstance(dtype, np.dtype)
    return not is_plain and bool(jax.numpy.issubdtype(dtype, jax.dtypes.prng_key))


def numbers_of(value: Any) -> Any:
    """Return an array, and of an array of keys what they are made of.

    Examples
    --------
    >>> numbers_of(jax.random.key(7)).tolist()
    [0, 7]
    """
    dtype = getattr(value, "dtype", None)
    return jax.random.key_data(value) if is_key(dtype) else value


def concerns_keys(eqn: Any) -> bool:
    """Return whether an equation of JAX has operands or results that are keys."""
    return any(map(_holds_keys, (*eqn.invars, *eqn.outvars)))


def without_keys(eqn: Any) -> Any:
    """Return the closed jaxpr, on numbers alone, of an equation with keys."""
    name = eqn.primitive.name
    emit = _BY_NAME.get(name)
    fn = _moved(eqn) if emit is None else partial(emit, eqn)
    with jax.threefry_partitionable(True):  # noqa: FBT003 - JAX's own signature
        return jax.make_jaxpr(fn)(*map(_numeric, eqn.invars))


def _holds_keys(atom: Any) -> bool:
    return is_key(getattr(atom.aval, "dtype", None))


def _numeric(atom: Any) -> jax.ShapeDtypeStruct:
    """Return the type of the numbers that an operand is made of."""
    aval = atom.aval
    if _holds_keys(atom):
        shape = (*aval.shape, *_jax.generator(aval.dtype).key_shape)
        return jax.ShapeDtypeStruct(shape, np.dtype(np.uint32))
    weak = bool(getattr(aval, "weak_type", False))
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=weak)


def _each(ndim: int, fn: Emit) -> Emit:
    """Return a function of one key as a function of an array of keys."""
    for _ in range(ndim):
        fn = jax.vmap(fn)
    return fn


def _seed(eqn: Any, seeds: Any) -> Any:
    return _each(np.ndim(seeds), eqn.params["impl"].seed)(seeds)


def _split(eqn: Any, keys: Any) -> Any:
    generator, ndim = _generator(eqn)
    shape = eqn.params["shape"]
    return _each(ndim, lambda key: generator.split(key, shape))(keys)


def _fold_in(eqn: Any, keys: Any, data: Any) -> Any:
    generator, ndim = _generator(eqn)
    out = eqn.outvars[0].aval.shape
    size = len(generator.key_shape)
    own = keys.shape[-size:]
    keys = jax.numpy.broadcast_to(
        keys.reshape((1,) * (len(out) - ndim) + keys.shape), (*out, *own)
    )
    return _each(len(out), generator.fold_in)(keys, jax.numpy.broadcast_to(data, out))


def _bits(eqn: Any, keys: Any) -> Any:
    generator, ndim = _generator(eqn)
    width, shape = eqn.params["bit_width"], eqn.params["shape"]
    return _each(ndim, lambda key: generator.random_bits(key, width, shape))(keys)


def _gamma(eqn: Any, keys: Any, a: Any) -> Any:
    """Split a key for each element; what is done with it is one primitive."""
    generator, ndim = _generator(eqn)
    rest = np.shape(a)[ndim:]
    each = _each(ndim, lambda key: generator.split(key, rest))(keys)
    log = eqn.params["log_space"]
    return keyed_gamma.bind(each, a, log_space=log, generator=generator.name)


def _generator(eqn: Any) -> tuple[Any, int]:
    """Return the generator of the first operand, and how many axes of keys it has."""
    aval = eqn.invars[0].aval
    return _jax.generator(aval.dtype), len(aval.shape)


def _moved(eqn: Any) -> Emit:
    """Return a primitive over one more axis at the end of its keys."""
    params = {k: _without_keys_inside(v) for k, v in eqn.params.items()}
    if any(params[k] is not v for k, v in eqn.params.items()):
        return partial(eqn.primitive.bind, **params)
    axes = tuple(-1 if _holds_keys(atom) else None for atom in eqn.invars)
    return jax.vmap(partial(eqn.primitive.bind, **params), in_axes=axes, out_axes=-1)


def _without_keys_inside(param: Any) -> Any:
    """Return a parameter; functions in it that take or return keys, on numbers."""
    if isinstance(param, tuple):
        changed = tuple(map(_without_keys_inside, param))
        pairs = zip(changed, param, strict=True)
        return param if all(a is b for a, b in pairs) else changed
    if not isinstance(param, _jax.Jaxpr):
        return param
    atoms = (*param.invars, *param.outvars)
    return _on_numbers(param) if any(map(_holds_keys, atoms)) else param


def _on_numbers(closed: Any) -> Any:
    """Return a jaxpr that takes and returns numbers where another has keys."""
    run = _jax.as_function(closed)

    def numeric(*values: Any) -> Any:
        args = [
            _jax.as_keys(value, var.aval.dtype) if _holds_keys(var) else value
            for value, var in zip(values, closed.invars, strict=True)
        ]
        return [numbers_of(out) for out in run(*args)]

    return jax.make_jaxpr(numeric)(*map(_numeric, closed.invars))


_BY_NAME: Mapping[str, Emit] = {
    "random_seed": _seed,
    "random_split": _split,
    "random_fold_in": _fold_in,
    "random_bits": _bits,
    "random_gamma": _gamma,
}
"""What JAX's generators do for a primitive, by its name; they take the equation first.
"""
