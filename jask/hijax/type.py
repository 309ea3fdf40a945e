"""The type by which JAX knows a DiskArray: shape and dtype, never the file.

A jitted function is compiled once for all files of a shape. Operators, methods and
properties are attached once, for arrays and for tracers of them, by `attach_operator`,
`attach_method` and `attach_property`.
"""

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

import jax
import numpy as np

from jask._jax import (
    HiType,
    MappingSpec,
    ShapedArray,
    aval_method,
    aval_property,
    inside_lowered,
    is_gradient_asking,
    is_lax_asking,
    is_operator_asking,
    is_put_asking,
    is_scan_asking,
    register_hitype,
)
from jask.trace.graph import Node

__all__ = [
    "Axis",
    "DiskArrayType",
    "attach_method",
    "attach_operator",
    "attach_property",
    "axis_of",
    "hook",
    "is_disk",
    "is_inexact",
    "make_value",
    "node_of",
    "register_value",
]


@dataclass(frozen=True)
class Axis(MappingSpec):
    """Which axis of a disk array is mapped."""

    axis: int
    """Its position."""


def axis_of(spec: Any) -> int | None:
    """Return the position that a mapping specification names; None: not mapped."""
    return spec.axis if isinstance(spec, Axis) else spec


def is_inexact(dtype: Any) -> bool:
    """Return whether values of this type have derivatives."""
    return bool(jax.numpy.issubdtype(dtype, np.inexact))


@dataclass(frozen=True, eq=False)
class DiskArrayType(HiType):
    """Shape and dtype of a disk array, as JAX sees it while tracing.

    Examples
    --------
    >>> DiskArrayType((6, 3), np.dtype("float32"))
    disk_f32[6,3]
    """

    shape: tuple[int, ...]
    """Number of elements along each axis."""

    dtype: np.dtype[Any]
    """Element type."""

    def __eq__(self, other: object) -> bool:
        """Return whether both are disk arrays of one shape and dtype."""
        return type(other) is DiskArrayType and (
            (self.shape, self.dtype) == (other.shape, other.dtype)
        )

    def __hash__(self) -> int:
        """Return the hash of shape and dtype."""
        return hash((DiskArrayType, self.shape, self.dtype))

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` is told besides the truth.

        `jax.grad` wants a loss whose type is an instance of JAX's own array type. A
        scalar passes for one; its cotangent may then arrive in memory. While it checks,
        every disk array does, so that it says what is wrong with a shape or a dtype. A
        primitive of `jax.lax` would say that the type is unexpected: it is told more.
        """
        if is_lax_asking():
            raise TypeError(_refusal(self))
        is_scalar = self.shape == () and is_inexact(self.dtype)
        return ShapedArray if is_scalar or is_gradient_asking() else DiskArrayType

    weak_type = False
    """Disk arrays are never weakly typed."""

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes of the whole array."""
        return self.size * int(self.dtype.itemsize)

    @property
    def in_memory(self) -> Any:
        """The type of an in-memory array of this shape and dtype."""
        return ShapedArray(self.shape, self.dtype)

    # ---- lowering

    def lo_ty(self) -> list[Any]:
        """Return the lowered types: one int32, the handle of a live node."""
        return [ShapedArray((), np.dtype(np.int32))]

    def lower_val(self, value: Any) -> list[Any]:
        """Return the handle of a value."""
        return [_hooks["lower"](self, value)]

    def lower_val2(self, value: Any) -> Any:
        """Return the handle of what a jaxpr within another one returns."""
        with inside_lowered():
            return HiType.lower_val2(self, value)

    def raise_val(self, handle: Any) -> Any:
        """Return the value that a handle names."""
        return _hooks["raise"](self, handle)

    # ---- derivatives

    def to_tangent_aval(self) -> "DiskArrayType":
        """Return the type of tangents."""
        return DiskArrayType(self.shape, self.in_memory.to_tangent_aval().dtype)

    def to_ct_aval(self) -> "DiskArrayType":
        """Return the type of cotangents."""
        return self.to_tangent_aval()

    def vspace_zero(self) -> Any:
        """Return zeros of this type."""
        return _hooks["zero"](self)

    def vspace_add(self, x: Any, y: Any) -> Any:
        """Return the sum of two values of this type."""
        return _hooks["add"](x, y)

    # ---- mapped axes

    def dec_rank(self, size: int | None, spec: Any) -> "DiskArrayType":  # noqa: ARG002 (JAX's signature)
        """Return the type of one element along an axis."""
        axis = axis_of(spec)
        if axis is None:
            return self
        return DiskArrayType(self.shape[:axis] + self.shape[axis + 1 :], self.dtype)

    def inc_rank(self, size: int | None, spec: Any) -> "DiskArrayType":
        """Return the type of `size` such values along a new axis."""
        axis = axis_of(spec)
        if axis is None:
            return self
        shape = (*self.shape[:axis], size, *self.shape[axis:])
        return DiskArrayType(shape, self.dtype)  # type: ignore[arg-type]

    def leading_axis_spec(self) -> Axis:
        """Return the specification of the leading axis."""
        return Axis(0)

    # ---- what JAX asks of any array type

    @property
    def array_abstraction_level(self) -> int:
        """Where jax.lax ends up when it is given a scalar: refused."""
        raise TypeError(_refusal(self))

    def update(self, **_: Any) -> NoReturn:
        """Refuse: jax.lax asks for the type of a result of its own."""
        raise TypeError(_refusal(self))

    @property
    def mat(self) -> Any:
        """The manual axis type of an ordinary array."""
        return self.in_memory.mat

    @property
    def memory_space(self) -> Any:
        """The memory space of an ordinary array."""
        return self.in_memory.memory_space

    @property
    def sharding(self) -> Any:
        """The sharding of an ordinary array: none."""
        return self.in_memory.sharding

    def str_short(
        self,
        short_dtypes: bool = False,  # noqa: ARG002, FBT001, FBT002 (JAX's signature)
        mesh_axis_types: bool = False,  # noqa: ARG002, FBT001, FBT002 (JAX's signature)
    ) -> str:
        """Return how a jaxpr shows the type."""
        return f"disk_{short_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        """Return how a jaxpr shows the type."""
        return self.str_short()

    def __str__(self) -> str:
        """Return how a jaxpr shows the type."""
        if is_put_asking():
            msg = (
                "jax.device_put of a disk array is not possible: there is no device to "
                f"put it on; got {self!r}. Use jask.materialize(x) to load it first."
            )
            raise NotImplementedError(msg)
        return self.str_short()


def _refusal(t: DiskArrayType) -> str:
    return (
        f"A disk array must not be passed to jax.numpy or jax.lax, which would load "
        f"all of its {t.nbytes} bytes; got {t}. Use the function of the same name in "
        f"jask.numpy, jask.lift(fn), or jask.materialize(x) to load it."
    )


_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c"}


def short_name(dtype: Any) -> str:
    """Return JAX's short name of a dtype, such as `f32`."""
    name = str(np.dtype(dtype).name)
    stem = name.rstrip("0123456789")
    if stem in _SHORT:
        return _SHORT[stem] + name[len(stem) :]
    return {"bfloat16": "bf16"}.get(name, name)


# ---- values


_hooks: dict[str, Callable[..., Any]] = {}
_classes: list[type] = []


def hook(name: str, function: Callable[..., Any]) -> None:
    """Say how the type lowers, raises, adds, makes zeros and so on."""
    _hooks[name] = function


def call_hook(name: str, *args: Any) -> Any:
    """Call what a module above this one said."""
    return _hooks[name](*args)


def register_value(cls: type, make: Callable[[type, Node], Any]) -> None:
    """Make a class of values known to JAX; `make(cls, node)` returns one."""
    _classes.append(cls)
    _hooks["make"] = make
    register_hitype(cls, _type_of)
    attach_method("_split", _refuse_jacobian)


def _type_of(x: Any) -> DiskArrayType:
    """Return the type of an array; refuse to `lax.scan` what it can not walk along."""
    found = DiskArrayType(x.shape, x.dtype)
    if is_scan_asking():
        msg = (
            "jax.lax.map, and jax.lax.scan without length=, cannot walk along a disk "
            f"array: JAX does not ask for its length; got {found}. Use jask.map or "
            "jask.scan, which take the rows in blocks."
        )
        raise ValueError(msg)
    return found


def _refuse_jacobian(x: Any, *_: Any) -> NoReturn:
    """Refuse what JAX calls to cut a Jacobian, or the basis it is made from."""
    msg = (
        "jax.jacrev, jax.jacfwd and jax.hessian with a disk array are not possible: "
        f"JAX cuts the derivatives as arrays in memory; got {jax.typeof(x)}. Use "
        "jask.jacrev, jask.jacfwd or jask.hessian."
    )
    raise NotImplementedError(msg)


def make_value(node: Node) -> Any:
    """Return the DiskArray that holds a node."""
    return _hooks["make"](_classes[0], node)


def node_of(x: Any) -> Node:
    """Return the node of a DiskArray."""
    node: Node = x.node
    return node


def is_disk(x: Any) -> bool:
    """Return whether `x` is a DiskArray or a tracer of one."""
    if type(x) in _classes or isinstance(x, tuple(_classes)):
        return True
    return isinstance(x, jax.core.Tracer) and isinstance(jax.typeof(x), DiskArrayType)


# ---- operators, methods and properties


def attach_operator(name: str, function: Callable[..., Any]) -> None:
    """Give arrays and tracers an operator such as `__add__`."""
    setattr(_classes[0], name, function)
    setattr(DiskArrayType, "_" + name.strip("_"), staticmethod(function))


def attach_method(name: str, function: Callable[..., Any]) -> None:
    """Give arrays and tracers a method; `function` takes the array first."""
    setattr(_classes[0], name, function)
    setattr(DiskArrayType, name, aval_method(function))


def attach_property(name: str, function: Callable[..., Any]) -> None:
    """Give arrays and tracers a property, computed by `function` of the array."""
    setattr(_classes[0], name, property(function))
    setattr(DiskArrayType, name, aval_property(function))


def _conversion(kind: str, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return how a tracer becomes a Python number: only if its value is known."""

    def converted(tracer: Any) -> Any:
        value = tracer.to_concrete_value()
        if value is not None:
            return convert(value)
        if kind == "bool":
            raise jax.errors.TracerBoolConversionError(tracer)
        if kind == "index":
            raise jax.errors.TracerIntegerConversionError(tracer)
        raise jax.errors.ConcretizationTypeError(
            tracer, f"{kind}() of a disk array needs its value."
        )

    return converted


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
}
for _name, _convert in _CONVERSIONS.items():
    setattr(DiskArrayType, f"_{_name}", staticmethod(_conversion(_name, _convert)))


def _length(tracer: Any) -> int:
    if not tracer.shape:
        raise TypeError("len() of a 0-d array")
    return int(tracer.shape[0])


def _rows(tracer: Any) -> Iterator[Any]:
    return (tracer[i] for i in range(_length(tracer)))


setattr(DiskArrayType, "_len", staticmethod(_length))  # noqa: B010 (no type checker knows it)
setattr(DiskArrayType, "_iter", staticmethod(_rows))  # noqa: B010 (no type checker knows it)


def _refuse_writing(name: str) -> Callable[..., NoReturn]:
    """Return the method of tracers that says what needs a value."""

    def refused(tracer: Any, *_: Any, **__: Any) -> NoReturn:
        raise jax.errors.ConcretizationTypeError(
            tracer,
            f"{name}() needs the values of a disk array, which a traced function does "
            f"not have. Return the array, and call {name}() on what comes out.",
        )

    return refused


for _name in ("persist", "to_memmap", "item"):
    setattr(DiskArrayType, _name, aval_method(_refuse_writing(_name)))


def _refuse_filename(tracer: Any) -> NoReturn:
    """Say why a tracer has no file; hasattr() is False, as without this message."""
    msg = (
        f"A traced disk array has no filename: a function is compiled once for all "
        f"files of a shape; got {jax.typeof(tracer)}. Ask the array that is passed in."
    )
    raise AttributeError(msg)


setattr(DiskArrayType, "filename", aval_property(_refuse_filename))  # noqa: B010 (no type checker knows it)


def refuse_jax(x: Any) -> Any:
    """Refuse to become an ordinary JAX array: it would be loaded quietly.

    To an operator of one, `w * x`, it answers with itself, and is asked next.
    """
    if is_operator_asking():
        return x
    raise TypeError(_refusal(jax.typeof(x)))


setattr(DiskArrayType, "__jax_array__", aval_method(refuse_jax))  # noqa: B010 (no type checker knows it)
