"""Operators, methods and properties of DiskArray, on values and on tracers alike.

Each is the function of the same meaning: an operator and its function cannot differ.
`attach` runs once, when `jask.numpy` is imported.
"""

from collections.abc import Callable
from typing import Any, Literal

from jask._jax import divert_operators
from jask.hijax.type import attach_method, attach_operator, attach_property
from jask.numpy import (
    _kernels,
    binary,
    dtypes,
    elementwise,
    indexing,
    jax_names,
    joining,
    linear,
    manipulation,
    searching,
    sorting,
    statistical,
    unary,
    utility,
)
from jask.numpy._engine import fetch, is_disk, is_traced, rebind
from jask.numpy._numpys import ufunc, without_out
from jask.numpy._table import (
    DEVICE,
    Array,
    call,
    check_operand,
    dtype_or_none,
    is_array,
    is_wide,
    ndim_of,
    shape_of,
)

type Method = Callable[..., Any]

BINARY: dict[str, Method] = {
    "add": binary.add,
    "and": binary.bitwise_and,
    "floordiv": binary.floor_divide,
    "lshift": binary.bitwise_left_shift,
    "matmul": linear.matmul,
    "mod": binary.remainder,
    "mul": binary.multiply,
    "or": binary.bitwise_or,
    "pow": elementwise.pow,
    "rshift": binary.bitwise_right_shift,
    "sub": binary.subtract,
    "truediv": binary.divide,
    "xor": binary.bitwise_xor,
}
"""Operators with a reflected and an in-place form."""

COMPARE: dict[str, Method] = {
    "eq": binary.equal,
    "ge": binary.greater_equal,
    "gt": binary.greater,
    "le": binary.less_equal,
    "lt": binary.less,
    "ne": binary.not_equal,
}
"""Comparisons."""

UNARY: dict[str, Method] = {
    "abs": unary.abs,
    "invert": unary.bitwise_invert,
    "neg": unary.negative,
    "pos": unary.positive,
}
"""Operators of one operand."""


def _operand(x: Any) -> bool:
    """Return whether an operator takes `x`; others may know how to handle it."""
    return is_array(x) or isinstance(x, (bool, int, float, complex)) or is_disk(x)


def _forward(function: Method) -> Method:
    """Return the method of `x op y`."""

    def method(self: Array, other: Any) -> Any:
        return function(self, other) if _operand(other) else NotImplemented

    return method


def _reflected(function: Method) -> Method:
    """Return the method of `y op x` where `y` does not know jask."""

    def method(self: Array, other: Any) -> Any:
        return function(other, self) if _operand(other) else NotImplemented

    return method


def _alone(function: Method) -> Method:
    """Return the method of `op x`: a ufunc is no method."""

    def method(self: Array) -> Any:
        return function(self)

    return method


def _divmod(x: Array, y: Any) -> tuple[Array, Array]:
    """Return the floor of the quotient and the remainder."""
    return binary.floor_divide(x, y), binary.remainder(x, y)


def astype(self: Array, dtype: Any, copy: bool = True, device: Any = None) -> Array:  # noqa: FBT001, FBT002 (the standard's signature)
    """Return the values converted to another dtype."""
    return dtypes.astype(self, dtype, copy=copy, device=device)


def reshape(self: Array, *shape: Any, order: str = "C") -> Array:
    """Return the same elements in another shape."""
    return manipulation.reshape(self, _unpacked(shape), order)


def transpose(self: Array, *axes: Any) -> Array:
    """Return the axes in another order, by default the reverse."""
    order = _unpacked(axes) if axes else None
    return manipulation.transpose(self, order)


def _unpacked(given: tuple[Any, ...]) -> Any:
    """Return `(2, 3)` for both `f(2, 3)` and `f((2, 3))`."""
    one = len(given) == 1 and (given[0] is None or isinstance(given[0], (tuple, list)))
    return given[0] if one else given


def clip(self: Array, min: Any = None, max: Any = None) -> Array:
    """Return the values limited to [min, max]."""
    return elementwise.clip(self, min, max)


def compress(
    self: Array,
    condition: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
) -> Array:
    """Return the parts along an axis where a condition holds."""
    return jax_names.compress(condition, self, axis, size=size, fill_value=fill_value)


def setitem(self: Array, key: Any, value: Any) -> None:
    """Make the name stand for the array with elements replaced; no file is written."""
    if is_traced(self):
        msg = (
            "x[key] = v rebinds an array and cannot be traced; write "
            "x = x.at[key].set(v)."
        )
        raise TypeError(msg)
    rebind(self, indexing.update(self, key, value, "set"))


def dlpack(
    self: Array,
    /,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Evaluate and hand the values, which nobody else holds, to another library."""
    del copy
    (value,) = fetch("__dlpack__", self)
    return value.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device)


def dlpack_device(_self: Array, /) -> tuple[int, int]:
    """Return that values are handed over in host memory."""
    return (1, 0)


def to_device(self: Array, device: Any, /, *, stream: Any = None) -> Array:
    """Return the array itself: there is one device."""
    if device != DEVICE or stream is not None:
        msg = f"to_device: must be {DEVICE!r}, without a stream; got {device!r}."
        raise ValueError(msg)
    return self


def array_namespace(_self: Array, /, *, api_version: str | None = None) -> Any:
    """Return `jask.numpy`."""
    import jask.numpy as namespace  # noqa: PLC0415 - the namespace imports this module

    if api_version not in (None, *SUPPORTED):
        msg = (
            f"the API version must be one of {SUPPORTED} or None; got {api_version!r}."
        )
        raise ValueError(msg)
    return namespace


SUPPORTED = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""Versions of the standard that the namespace satisfies."""


def tolist(self: Array) -> Any:
    """Evaluate; return the elements as nested lists of Python scalars."""
    return fetch("tolist", self)[0].tolist()


def tobytes(self: Array, order: Literal["C", "F", "A", "K"] = "C") -> bytes:
    """Evaluate; return the bytes of the elements, in row-major order by default."""
    found: bytes = fetch("tobytes", self)[0].tobytes(order)
    return found


def view(self: Array, dtype: Any = None, type: Any = None) -> Array:
    """Return the same bits as elements of another dtype; the last axis follows."""
    if type is not None:
        msg = f"view: the type must be None; got {type!r}."
        raise NotImplementedError(msg)
    target = dtype_or_none(dtype) or self.dtype
    wide = is_wide(target)
    return call(_kernels.view, self, name="view", wide=wide, dtype=target)


def byteswap(self: Array) -> Array:
    """Return the elements with their bytes in the other order."""
    return call(_kernels.byteswap, self, name="byteswap")


def contains(self: Array, value: Any) -> Array:
    """Return whether an array of one axis has an element of this value."""
    if ndim_of(self) != 1 or shape_of(check_operand("in", value)):
        msg = (
            "`value in x` looks for one number in an array of one axis; got shapes "
            f"{shape_of(value)} and {shape_of(self)}. See jask.numpy.isin."
        )
        raise ValueError(msg)
    return utility.any(binary.equal(self, value))


NUMPYS: dict[str, Method] = {
    "all": utility.all,
    "any": utility.any,
    "argmax": searching.argmax,
    "argmin": searching.argmin,
    "clip": clip,
    "compress": compress,
    "cumprod": jax_names.cumprod,
    "cumsum": jax_names.cumsum,
    "max": statistical.max,
    "mean": statistical.mean,
    "min": statistical.min,
    "prod": statistical.prod,
    "ptp": jax_names.ptp,
    "round": elementwise.round,
    "std": statistical.std,
    "sum": statistical.sum,
    "trace": jax_names.trace,
    "var": statistical.var,
}
"""Methods that NumPy's functions of the same name call, with `out=None`."""

METHODS: dict[str, Method] = {
    "argpartition": jax_names.argpartition,
    "argsort": sorting.argsort,
    "astype": astype,
    "byteswap": byteswap,
    "choose": jax_names.choose,
    "conj": unary.conj,
    "conjugate": unary.conj,
    "copy": jax_names.copy,
    "diagonal": jax_names.diagonal,
    "dot": jax_names.dot,
    "flatten": manipulation.ravel,
    "nonzero": searching.nonzero,
    "ravel": manipulation.ravel,
    "repeat": joining.repeat,
    "reshape": reshape,
    "searchsorted": searching.searchsorted,
    "sort": sorting.sort,
    "squeeze": manipulation.squeeze,
    "swapaxes": manipulation.swapaxes,
    "take": indexing.take,
    "to_device": to_device,
    "tolist": tolist,
    "tobytes": tobytes,
    "transpose": transpose,
    "view": view,
    "__array_namespace__": array_namespace,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
}
"""Methods, as jax.Array has them."""

PROPERTIES: dict[str, Callable[[Any], Any]] = {
    "T": manipulation.transpose,
    "at": indexing.At,
    "device": lambda _: DEVICE,
    "imag": unary.imag,
    "itemsize": lambda x: x.dtype.itemsize,
    "mT": linear.matrix_transpose,
    "real": unary.real,
    "weak_type": lambda _: False,
}
"""Properties, as jax.Array has them."""


MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
"""Comparisons with the operands exchanged."""


def _met_on_the_right() -> dict[str, Method]:
    """Return what an operator of a traced JAX array does with an array on disk."""
    found = {name: _reflected(function) for name, function in BINARY.items()}
    found |= {a: _forward(COMPARE[b]) for a, b in MIRRORED.items()}
    return found


def attach() -> None:
    """Give DiskArray and its tracers their operators, methods and properties."""
    for name, function in BINARY.items():
        attach_operator(f"__{name}__", _forward(function))
        attach_operator(f"__r{name}__", _reflected(function))
    for name, function in COMPARE.items():
        attach_operator(f"__{name}__", _forward(function))
    divert_operators(is_disk, _met_on_the_right())
    for name, function in UNARY.items():
        attach_operator(f"__{name}__", _alone(function))
    attach_operator("__divmod__", _forward(_divmod))
    attach_operator("__rdivmod__", _reflected(_divmod))
    attach_operator("__round__", lambda x, n=0: elementwise.round(x, n))
    attach_operator("__getitem__", indexing.getitem)
    attach_operator("__setitem__", setitem)
    attach_operator("__contains__", contains)
    attach_operator("__array_ufunc__", ufunc)
    for name, function in METHODS.items():
        attach_method(name, function)
    for name, function in NUMPYS.items():
        attach_method(name, without_out(function))
    for name, getter in PROPERTIES.items():
        attach_property(name, getter)
