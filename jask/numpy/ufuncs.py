"""`ufunc`: elementwise functions with methods, and how to make one's own.

1. What is a `jax.numpy.ufunc` there is a `ufunc` here: the function of the facade, with
   the model's facts (`nin`, `identity`) and its methods.
2. A method is the model's, lifted: `add.reduce` is a sum and streams as one.
3. Running maxima, minima, truths and logaddexps are scans of lax, which stream; other
   models' `accumulate` and `reduceat` are loops over elements, which run in memory.
4. `at` is `x.at[...]` where that has the operation.
"""

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

import jax.numpy as jnp
import numpy as np

from jask.numpy import _keys, _running, dtypes, indexing
from jask.numpy._lift import call_bound
from jask.numpy._table import (
    Array,
    Axis,
    Operand,
    axes_tuple,
    axis_index,
    call,
    check_operand,
    dtype_or_none,
    finish,
    is_array,
    is_wide,
    ndim_of,
    shape_of,
)


class ufunc:
    """An elementwise function of arrays, with NumPy's methods.

    Parameters
    ----------
    func
        A function of `nin` scalars, written with `jax.numpy`.
    nin, nout
        How many scalars it takes and returns.
    name, nargs, identity
        As in `jax.numpy.ufunc`.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> x = jnp.asarray([[1, 5], [4, 2]])
    >>> jask.materialize(jnp.maximum.reduce(x))
    Array([4, 5], dtype=int32)
    >>> jnp.add.outer(x, x).shape, jnp.add.identity
    ((2, 2, 2, 2), 0)
    """

    def __init__(
        self,
        func: Callable[..., Any],
        /,
        nin: int,
        nout: int,
        *,
        name: str | None = None,
        nargs: int | None = None,
        identity: Any = None,
    ) -> None:
        model = jnp.ufunc(func, nin, nout, name=name, nargs=nargs, identity=identity)
        self._init(model, self._of_scalars)

    def _init(self, model: Any, function: Callable[..., Any]) -> None:
        self._model = model
        self._function = function
        self.__name__ = self.__qualname__ = model.__name__
        self.__doc__ = model.__doc__

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "ufunc":
        """Return a function of the facade as the ufunc that it is in `jax.numpy`."""
        made = cls.__new__(cls)
        made._init(getattr(jnp, function.__name__), function)
        made.__doc__, made.__module__ = function.__doc__, function.__module__
        signature = inspect.signature(function)
        made.__signature__ = signature  # type: ignore[attr-defined]
        return made

    nin = property(lambda self: self._model.nin, doc="How many operands there are.")
    nout = property(lambda self: self._model.nout, doc="How many results there are.")
    nargs = property(lambda self: self._model.nargs, doc="As in `jax.numpy.ufunc`.")
    identity = property(lambda self: self._model.identity, doc="What changes nothing.")

    def __call__(self, *operands: Operand, **options: Any) -> Any:
        """Apply the function to arrays that broadcast together."""
        if options:
            self._refuse_other("", options)
        return self._function(*operands)

    def _of_scalars(self, *operands: Operand) -> Any:
        if len(operands) != self.nin:
            msg = f"{self.__name__}: takes {self.nin} operands; got {len(operands)}."
            raise TypeError(msg)
        return call(_running.called, *operands, name=self.__name__, model=self._model)

    def _refuse_other(self, method: str, options: dict[str, Any]) -> None:
        """Raise for options of NumPy's that arrays which do not change cannot have."""
        name = f"{self.__name__}{method}"
        for key, value in options.items():
            if key not in ("out", "where"):
                msg = f"{name}() got an unexpected keyword argument {key!r}"
                raise TypeError(msg)
            if value is not None:
                msg = (
                    f"{name}: {key} must be None, arrays are immutable; got {value!r}."
                )
                raise NotImplementedError(msg)

    def _check_binary(self, method: str, **options: Any) -> str:
        """Return the name of a method, for a function of two operands and one result.

        ValueError for other functions.
        """
        if self.nin != 2 or self.nout != 1:
            msg = (
                f"{self.__name__}.{method}: needs a function of two operands with one "
                f"result; got {self.nin} and {self.nout}."
            )
            raise ValueError(msg)
        self._refuse_other(f".{method}", options)
        return f"{self.__name__}.{method}"

    def reduce(  # noqa: PLR0917 - jax.numpy's signature
        self,
        a: Operand,
        axis: Axis = 0,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,  # noqa: FBT001, FBT002 - the same
        initial: Operand = None,
        where: Operand = None,
    ) -> Array:
        """Combine the elements along an axis: `add.reduce` is a sum."""
        name = self._check_binary("reduce", out=out)
        axes: Any = axes_tuple(axis, ndim_of(check_operand(name, a)))
        return self._applied(
            _running.reduced, name, a, initial, where, dtype=dtype,
            axis=axes[0] if axes and len(axes) == 1 else axes,
            keepdims=keepdims is True,
        )  # fmt: skip

    def accumulate(
        self, a: Operand, axis: int = 0, dtype: Any = None, out: None = None
    ) -> Array:
        """Combine each element with those before it: `add.accumulate` is `cumsum`."""
        name = self._check_binary("accumulate", out=out)
        options = {"axis": _one_axis(name, a, axis), "dtype": dtype}
        return self._applied(_running.accumulated, name, a, **options)

    def reduceat(
        self,
        a: Operand,
        indices: Operand,
        axis: int = 0,
        dtype: Any = None,
        out: None = None,
    ) -> Array:
        """Combine the elements from each index to the next; the last to the end."""
        name = self._check_binary("reduceat", out=out)
        options = {"axis": _one_axis(name, a, axis), "dtype": dtype}
        return self._applied(_running.reduced_at, name, a, indices, **options)

    def _applied(
        self,
        kernel: Callable[..., Any],
        name: str,
        *operands: Operand,
        dtype: Any,
        **options: Any,
    ) -> Array:
        """Return what a kernel makes of operands, in a dtype if one is given."""
        for given in operands:
            if given is not None:
                check_operand(name, given)
        options |= {"model": self._model, "dtype": dtype_or_none(dtype)}
        options["wide"] = is_wide(options["dtype"])
        return call(kernel, *operands, name=name, **options)

    def outer(self, A: Operand, B: Operand, /) -> Array:
        """Apply the function to all pairs of an element of A and one of B."""
        name = self._check_binary("outer")
        check_operand(name, A), check_operand(name, B)
        return call(_running.outer, A, B, name=name, model=self._model)

    def at(
        self,
        a: Operand,
        indices: Any,
        b: Operand = None,
        /,
        *,
        inplace: bool = True,
    ) -> Array:
        """Apply the function to elements at indices; `inplace` must be False."""
        name = f"{self.__name__}.at"
        if inplace:
            msg = f"{name}: arrays do not change; x = {name}(x, ..., inplace=False)."
            raise NotImplementedError(msg)
        method = _METHODS.get(self.__name__)
        if method is None or b is None or dtypes.isdtype(a.dtype, "bool"):
            return self._at(name, a, indices, b)
        if method in ("max", "min"):
            a = dtypes.astype(a, dtypes.result_type(a, b), copy=False)
        return indexing.update(a, indices, b, method)

    def _at(self, name: str, a: Operand, indices: Any, b: Operand) -> Array:
        """Return `a` updated at indices by the model, in a loop over them."""
        parsed = _keys.parse(shape_of(check_operand(name, a)), indices)
        key = indexing.without_masks(parsed)
        entries = list(key.entries)
        while key.arrays and _is_whole(entries[-1]):
            entries.pop()
        key = _keys.Key(tuple(entries), key.shape)
        if key.arrays and any(isinstance(e, slice) for e in entries):
            msg = f"{name}: a slice cannot stand beside index arrays; got {indices!r}."
            raise TypeError(msg)
        values = () if b is None else (check_operand(name, b),)
        return call(
            _running.updated, a, key.arrays, values, name=name, wide=True,
            model=self._model, key=_keys.frozen(key),
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same function."""
        return isinstance(other, ufunc) and bool(self._model == other._model)

    def __hash__(self) -> int:
        """Return what is the same for the same function."""
        return hash(self._model)

    def __reduce__(self) -> str:
        """Return the name under which the function is found again."""
        return str(self.__name__)

    def __repr__(self) -> str:
        """Return the name."""
        return f"<jask.numpy.ufunc {self.__name__!r}>"


def _is_whole(entry: Any) -> bool:
    """Return whether an entry of a key is a slice of everything."""
    return isinstance(entry, slice) and entry == slice(None)


_METHODS = {
    "add": "add",
    "maximum": "max",
    "minimum": "min",
    "multiply": "multiply",
    "subtract": "subtract",
}
"""What `x.at[...]` calls a function."""


def _one_axis(name: str, a: Operand, axis: Any) -> int:
    """Return an axis counted from the front; ValueError for several or all."""
    if axis is None or isinstance(axis, (list, tuple)):
        msg = f"{name}: needs one axis; got {axis}."
        raise ValueError(msg)
    return axis_index(axis, ndim_of(check_operand(name, a)))


def frompyfunc(
    func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None
) -> ufunc:
    """Make a ufunc of a function of scalars.

    Parameters
    ----------
    func
        A function of `nin` scalars, written with `jax.numpy`. Make it once, not in a
        loop: a new function object is traced again.
    nin, nout : int
        How many scalars it takes and returns.
    identity : scalar, optional
        What a reduction starts from.

    Returns
    -------
    ufunc
        Called, it streams as its primitives do; its `reduce` and `accumulate` are loops
        over elements, in memory.

    Examples
    --------
    >>> import jask
    >>> import jask.numpy as jnp
    >>> overlap = jnp.frompyfunc(lambda x, y: x * y + 1, 2, 1)
    >>> jask.materialize(overlap(jnp.asarray([2, 3]), 10))
    Array([21, 31], dtype=int32)
    """
    return ufunc(func, nin, nout, identity=identity)


def vectorize(
    pyfunc: Callable[..., Any],
    *,
    excluded: Any = frozenset(),
    signature: str | None = None,
) -> Callable[..., Any]:
    """Make a function of arrays from one of scalars, or of small arrays.

    Parameters
    ----------
    pyfunc
        A function written with `jax.numpy`. Make it once, not in a loop.
    excluded : set of ints and strings
        Arguments, by position or by name, that are handed on as they are.
    signature : str, optional
        The axes that it works on, such as `"(m,n),(n)->(m)"`; the others are mapped.

    Returns
    -------
    Callable
        Takes arrays that broadcast; lazy, and streams as its primitives do.

    Examples
    --------
    >>> import jax, jask
    >>> import jask.numpy as jnp
    >>> dots = jnp.vectorize(jax.numpy.dot, signature="(n),(n)->()")
    >>> jask.materialize(dots(jnp.asarray([[1, 2], [3, 4]]), jnp.asarray([1, 1])))
    Array([3, 7], dtype=int32)
    """
    kept = frozenset(excluded)
    model = jnp.vectorize(pyfunc, excluded=kept, signature=signature)
    name = getattr(pyfunc, "__name__", "vectorized")

    def vectorized(*args: Any, **kwargs: Any) -> Any:
        bound, traced = _bound(args, kwargs, kept)
        return call_bound(model, name, bound, traced)

    return finish(vectorized, name, __name__, inspect.getdoc(pyfunc) or "")


def _bound(
    args: tuple[Any, ...], kwargs: dict[str, Any], kept: frozenset[Any]
) -> tuple[inspect.BoundArguments, frozenset[str]]:
    """Return arguments by name, and the names of those that may be operands."""
    named = {f"_{i}": x for i, x in enumerate(args)} | kwargs
    last = len(args)
    kinds = [Parameter.POSITIONAL_ONLY] * last + [Parameter.KEYWORD_ONLY] * len(kwargs)
    made = inspect.Signature(list(map(Parameter, named, kinds)))
    traced = [k for i, k in enumerate(named) if (i if i < last else k) not in kept]
    return inspect.BoundArguments(made, named), frozenset(traced)


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> Any:
    """Find the order in which `einsum` combines its operands, from their shapes.

    Parameters
    ----------
    subscripts : str
        As for `einsum`.
    *operands : array
        Their values are not looked at.
    optimize : bool, str or tuple
        As in `jax.numpy.einsum_path`.

    Returns
    -------
    tuple
        The path, which `einsum(..., optimize=path)` takes, and a text about it.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> a, b = jnp.zeros((2, 30)), jnp.zeros((30, 2))
    >>> jnp.einsum_path("ij,jk,kl->il", a, b, a)[0]
    [(0, 1), (0, 1)]
    """
    hollow = [np.broadcast_to(np.zeros((), x.dtype), x.shape) if is_array(x) else x
              for x in operands]  # fmt: skip
    return jnp.einsum_path(subscripts, *hollow, optimize=optimize)


def doctests(names: Mapping[str, Any]) -> dict[str, str]:
    """Return the examples of the ufuncs of a module, which doctest would not find."""
    return {n: str(f.__doc__) for n, f in names.items() if isinstance(f, ufunc)}


__all__ = ["einsum_path", "frompyfunc", "ufunc", "vectorize"]
