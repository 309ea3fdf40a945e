"""`grad` and `value_and_grad` that take a loss on disk and evaluate once.

1. The function and its pullback are traced into one jaxpr; nothing is read.
2. The jaxpr is interpreted: operations on disk arrays make lazy nodes, and every value
   that must come to memory is noted until nothing is left that does not wait for one.
3. All noted values, and the gradients of disk arrays, are one evaluation. What was
   waiting for it is interpreted next; ordinary losses end after one round.

A function that looks at values while it is traced (`if loss > 0`) is differentiated
eagerly instead, which takes two evaluations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp

from jask._jax import Literal, is_lowering, run_equation
from jask.array import DiskArray, persist_all
from jask.hijax.apply import constant
from jask.hijax.gradients import beside
from jask.hijax.materialize import Materialize, in_memory, materialize
from jask.hijax.type import is_disk
from jask.trace.graph import Node
from jask.transforms.arguments import ArgNums, Arguments

__all__ = ["grad", "value_and_grad"]

_LOOKS_AT_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


def value_and_grad(
    fun: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that evaluates `fun` and its gradient at once.

    Parameters
    ----------
    fun
        Returns a scalar: in memory, or a disk array of shape `()`.
    argnums
        Which positional arguments to differentiate with respect to.
    has_aux
        Whether `fun` returns a pair of the scalar and something else.

    Returns
    -------
    Callable
        Returns `(value, gradient)`, or `((value, aux), gradient)`. The value is a
        jax.Array. The gradient of a disk array is a disk array; if the argument has a
        file, the gradient has been written to that name plus `.grad`.

    Raises
    ------
    TypeError
        If an argument to differentiate with respect to is not real or complex floating
        point, or the loss is not a real scalar.
    MemoryBudgetError
        If no plan fits the memory budget.

    Examples
    --------
    >>> import jask
    >>> x = jask.from_numpy(jnp.float32([1, 2]))
    >>> value, g = value_and_grad(lambda x: (x * x).sum())(x)
    >>> float(value), jask.materialize(g).tolist()
    (5.0, [2.0, 4.0])
    """

    @wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        task = _Task(fun, Arguments(argnums, args, kwargs), has_aux)
        value, aux, grads = task.run(want_value=True)
        return ((value, aux) if has_aux else value), grads

    return wrapped


def grad(
    fun: Callable[..., Any], argnums: ArgNums = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `fun`.

    Like `value_and_grad`, with the same parameters and errors, without the value.

    Returns
    -------
    Callable
        Returns the gradient, or with `has_aux` `(gradient, aux)`.

    Examples
    --------
    >>> import jask
    >>> g = grad(lambda x: (x * x).sum())(jask.from_numpy(jnp.float32([1, 2])))
    >>> jask.materialize(g).tolist()
    [2.0, 4.0]
    """

    @wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        task = _Task(fun, Arguments(argnums, args, kwargs), has_aux)
        _, aux, grads = task.run(want_value=False)
        return (grads, aux) if has_aux else grads

    return wrapped


@dataclass(frozen=True)
class _Task:
    """One call of a differentiated function."""

    fun: Callable[..., Any]
    given: Arguments
    has_aux: bool

    def run(self, *, want_value: bool) -> tuple[Any, Any, Any]:
        """Return value (None if not wanted), aux and gradients."""
        self.given.check("grad")
        leaves = jax.tree.leaves((self.given.args, self.given.kwargs))
        if is_lowering() or any(isinstance(x, jax.core.Tracer) for x in leaves):
            value, aux, grads = self.differentiate(
                *self.given.chosen, want_value=want_value
            )
        else:
            value, aux, grads = self.at_once(want_value=want_value)
        return value, aux, grads[0] if self.given.single else grads

    def at_once(self, *, want_value: bool) -> tuple[Any, Any, Any]:
        """Differentiate concrete arguments with one evaluation."""
        chosen = self.given.chosen
        plain: list[_Parted] = []

        def traced(*chosen: Any) -> Any:
            value, aux, grads = self.differentiate(*chosen, want_value=want_value)
            plain.append(_Parted.of(aux))
            return value, plain[-1].arrays, grads

        try:
            closed, shape = jax.make_jaxpr(traced, return_shape=True)(*chosen)
        except _LOOKS_AT_VALUES:
            value, aux, grads = self.differentiate(*chosen, want_value=want_value)
            persist_all(_placed(grads, chosen))
            return value, aux, grads
        outs = interpret(closed, jax.tree.leaves(chosen))
        value, arrays, grads = jax.tree.unflatten(jax.tree.structure(shape), outs)
        return value, plain[-1].whole(arrays), grads

    def differentiate(self, *chosen: Any, want_value: bool) -> tuple[Any, Any, Any]:
        """Return value, aux and gradients by JAX's reverse mode."""
        call = partial(self.given.call, self.fun)
        vjp: Callable[..., Any] = jax.vjp
        value, pull, *aux = vjp(call, *chosen, has_aux=self.has_aux)
        _check_loss(value)
        grads = pull(_one_like(value))
        if not want_value:
            value = None
        elif is_disk(value):
            value = materialize(value)
        return value, aux[0] if aux else None, grads


@dataclass(frozen=True)
class _Parted:
    """What a function returns besides the loss: arrays, and anything else."""

    leaves: list[Any]
    tree: Any
    places: list[int]
    """Where the arrays are among the leaves."""

    @classmethod
    def of(cls, aux: Any) -> "_Parted":
        """Take a pytree apart."""
        leaves, tree = jax.tree.flatten(aux)
        return cls(leaves, tree, [i for i, x in enumerate(leaves) if _has_type(x)])

    @property
    def arrays(self) -> list[Any]:
        """The leaves that JAX can trace."""
        return [self.leaves[i] for i in self.places]

    def whole(self, arrays: Sequence[Any]) -> Any:
        """Return the pytree with other arrays."""
        leaves = list(self.leaves)
        for i, x in zip(self.places, arrays, strict=True):
            leaves[i] = x
        return jax.tree.unflatten(self.tree, leaves)


def _has_type(x: Any) -> bool:
    try:
        jax.typeof(x)
    except TypeError:
        return False
    return True


def _placed(grads: Any, chosen: Any) -> list[DiskArray]:
    """Return the gradients of disk arrays, each told where it belongs."""
    pairs = zip(jax.tree.leaves(grads), jax.tree.leaves(chosen), strict=True)
    placed = []
    for gradient, x in pairs:
        if isinstance(gradient, DiskArray) and isinstance(x, DiskArray):
            gradient._put(beside(x._stored))
            placed.append(gradient)
    return placed


def _one_like(value: Any) -> Any:
    if not is_disk(value):
        return jnp.ones((), jax.typeof(value).dtype)
    return constant(jnp.ones, jax.typeof(value), name="one")


def _check_loss(value: Any) -> None:
    try:
        t = jax.typeof(value)
    except TypeError:
        msg = (
            f"Gradient only defined for scalar-output functions. The loss must be a "
            f"number; got {type(value).__name__}: {value!r:.80}."
        )
        raise TypeError(msg) from None
    if t.shape != ():
        msg = (
            f"Gradient only defined for scalar-output functions. The loss must have "
            f"shape (); got {t.shape}. Reduce it, for example with .sum()."
        )
        raise TypeError(msg)
    if not jnp.issubdtype(t.dtype, jnp.floating):
        msg = f"The loss must be real; got {t.dtype}."
        raise TypeError(msg)


# ---- one evaluation


def interpret(closed: Any, args: Sequence[Any]) -> list[Any]:
    """Run a jaxpr on lazy arrays, evaluating what is materialized together.

    Parameters
    ----------
    closed
        A closed jaxpr whose last results are the gradients of its arguments.
    args
        Its flat arguments.

    Returns
    -------
    list
        Its flat results; gradients on disk are persisted.
    """
    jaxpr = closed.jaxpr
    env = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    env |= dict(zip(jaxpr.invars, args, strict=True))
    unkept = list(zip(jaxpr.outvars[-len(args) :], args, strict=True))
    remaining = _needed(jaxpr)
    while remaining or unkept:
        remaining, noted = _round(remaining, env)
        ready = [(v, x) for v, x in unkept if isinstance(v, Literal) or v in env]
        unkept = [pair for pair in unkept if pair not in ready]
        grads = [_read(env, v) for v, _ in ready]
        kept = _placed(grads, [x for _, x in ready])
        values = persist_all(kept, besides=[x.node for _, x in noted])
        for (eqn, _), value in zip(noted, values, strict=True):
            (out,) = eqn.outvars
            env[out] = in_memory(value, out.aval.dtype)
    return [_read(env, atom) for atom in jaxpr.outvars]


def first_nodes(closed: Any, args: Sequence[Any]) -> list[Node]:
    """Return what running a jaxpr on lazy arrays evaluates first, as one program."""
    jaxpr = closed.jaxpr if hasattr(closed, "jaxpr") else closed
    env = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    env |= dict(zip(jaxpr.invars, args, strict=True))
    _, noted = _round(_needed(jaxpr), env)
    known = [env[v] for v in jaxpr.outvars if not isinstance(v, Literal) and v in env]
    nodes = [x.node for _, x in noted]
    return nodes + [x.node for x in known if isinstance(x, DiskArray)]


def _needed(jaxpr: Any) -> list[Any]:
    """Return the equations on which the results depend; each materializes one array.

    So one whose operand waits for a value does not keep the others from the round.
    """
    wanted = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    kept = []
    for eqn in chain.from_iterable(map(_parts, reversed(jaxpr.eqns))):
        if wanted.intersection(eqn.outvars) or eqn.effects:
            kept.append(eqn)
            wanted.update(v for v in eqn.invars if not isinstance(v, Literal))
    return kept[::-1]


def _parts(eqn: Any) -> list[Any]:
    if not _is_materialize(eqn):
        return [eqn]
    pairs = zip(eqn.invars, eqn.outvars, strict=True)
    return [eqn.replace(invars=[x], outvars=[y]) for x, y in reversed(list(pairs))]


def _is_materialize(eqn: Any) -> bool:
    return isinstance(eqn.params.get("_prim"), Materialize)


def _read(env: dict[Any, Any], atom: Any) -> Any:
    return atom.val if isinstance(atom, Literal) else env[atom]


def _round(
    eqns: Sequence[Any], env: dict[Any, Any]
) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """Run what needs no evaluation; return what waits, and what is to be evaluated."""
    waiting, noted = [], []
    for eqn in eqns:
        if any(not isinstance(v, Literal) and v not in env for v in eqn.invars):
            waiting.append(eqn)
            continue
        values = [_read(env, v) for v in eqn.invars]
        if _is_materialize(eqn):
            noted.append((eqn, values[0]))
            continue
        env.update(zip(eqn.outvars, run_equation(eqn, values), strict=True))
    return waiting, noted
