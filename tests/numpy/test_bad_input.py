"""Bad input is an error at the call, of the kind that NumPy raises, with the names."""

import inspect
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import jask.numpy as jnp
from tests.numpy.samples import disk

X = disk(np.arange(1.0, 13.0, dtype=np.float32).reshape(3, 4))
BITS = disk(np.ones((3, 4), np.uint8))
PLACES = disk(np.zeros((3, 4), np.int64))

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "array_split": (X, 2),
    "compress": (disk(np.ones(3, bool)), X),
    "concat": ([X, X],),
    "concatenate": ([X, X],),
    "delete": (X, 1),
    "insert": (X, 1, 0.0),
    "nanpercentile": (X, 50.0),
    "nanquantile": (X, 0.5),
    "packbits": (BITS,),
    "partition": (X, 1),
    "argpartition": (X, 1),
    "percentile": (X, 50.0),
    "put_along_axis": (X, PLACES, 0.0),
    "quantile": (X, 0.5),
    "repeat": (X, 2),
    "roll": (X, 1),
    "split": (X, 2),
    "stack": ([X, X],),
    "take": (X, disk(np.zeros(2, int))),
    "take_along_axis": (X, PLACES),
    "top_k": (X, 1),
    "unpackbits": (BITS,),
}
"""Arguments before the axis; all others take arrays."""

MORE: dict[str, dict[str, Any]] = {"put_along_axis": {"inplace": False}}


def functions() -> list[str]:
    found = []
    for prefix, names in (("", jnp), ("linalg.", jnp.linalg), ("fft.", jnp.fft)):
        for name in names.__all__:
            f = getattr(names, name)
            if (
                isinstance(f, FunctionType)
                and "axis" in inspect.signature(f).parameters
            ):
                found.append(prefix + name)
    return found


def arguments(name: str, function: Any) -> tuple[Any, ...]:
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    needed = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind is not p.KEYWORD_ONLY and p.name != "axis"
    ]
    return (X,) * len(needed)


def named(name: str) -> Any:
    first, _, rest = name.rpartition(".")
    return getattr(getattr(jnp, first) if first else jnp, rest)


@pytest.mark.parametrize("name", sorted({*functions()} - {"apply_along_axis"}))
def test_an_axis_that_there_is_not_is_numpys_axis_error_at_the_call(name: str):
    function = named(name)
    with pytest.raises(np.exceptions.AxisError, match=r"axis .*out of bounds"):
        function(*arguments(name, function), axis=5, **MORE.get(name, {}))


@pytest.mark.parametrize("name", ["sum", "sort", "roll", "stack", "vecdot", "squeeze"])
def test_an_axis_that_is_no_integer_is_a_type_error(name: str):
    function = named(name)
    with pytest.raises(TypeError, match="float"):
        function(*arguments(name, function), axis=1.0)


@pytest.mark.parametrize("bad", ["text", object(), np.asarray(["a"]), None, {}, [1, 2]])
@pytest.mark.parametrize(
    "name",
    ["add", "all", "astype", "count_nonzero", "exp", "flip", "matmul", "reshape",
     "sort", "sum", "where"],
)  # fmt: skip
def test_what_is_no_array_is_a_type_error(name: str, bad: Any):
    more: dict[str, tuple[Any, ...]] = {
        "add": (X,), "astype": (float,), "matmul": (X,), "reshape": ((2,),),
        "where": (X, X),
    }  # fmt: skip
    with pytest.raises(TypeError, match=name):
        getattr(jnp, name)(bad, *more.get(name, ()))


@pytest.mark.parametrize("key", ["a", 1.5, {}, object(), (0, "a"), np.asarray([0.5])])
def test_a_key_that_is_none_is_an_index_or_type_error_that_says_what_may_be(key: Any):
    for call in (lambda: X[key], lambda: X.at[key].set(0.0)):
        with pytest.raises((IndexError, TypeError), match="an index"):
            call()


def test_no_dlpack_is_a_type_error():
    wrong: Any = "text"
    with pytest.raises(TypeError, match=r"from_dlpack.*str"):
        jnp.from_dlpack(wrong)


@pytest.mark.parametrize(
    ("name", "dtypes"),
    [
        ("bitwise_and", ("float32", "int32")),
        ("bitwise_left_shift", ("bool", "float64")),
        ("bitwise_or", ("complex64", "int8")),
        ("floor_divide", ("complex64", "complex128")),
        ("remainder", ("complex64", "int16")),
        ("subtract", ("bool", "bool")),
    ],
)
def test_a_type_error_names_the_dtypes(name: str, dtypes: tuple[str, str]):
    operands = [disk(np.ones(3, d)) for d in dtypes]
    with pytest.raises(TypeError) as error:
        getattr(jnp, name)(*operands)
    assert all(d in str(error.value) for d in dtypes)


def test_shapes_that_do_not_broadcast_are_an_error_at_the_call_with_both():
    with pytest.raises((TypeError, ValueError), match=r"\(3, 4\).*\(5,\)"):
        X + disk(np.ones(5, np.float32))


@pytest.mark.parametrize("name", ["ihfft", "rfft", "rfft2", "rfftn"])
def test_a_transform_of_no_points_is_an_error_at_the_call(name: str):
    nothing = disk(np.zeros((3, 0), np.float32))
    with pytest.raises(ValueError, match="at least one point"):
        named(f"fft.{name}")(nothing)
    some = {"n": 2} if name in ("ihfft", "rfft") else {"s": (2, 2)}
    assert np.asarray(named(f"fft.{name}")(nothing, **some)).any() == np.False_


@pytest.mark.parametrize("name", ["rfft", "rfft2", "rfftn"])
def test_a_transform_of_a_list_is_the_error_of_jax_numpy(name: str):
    with pytest.raises(TypeError, match=r"requires ndarray .*list"):
        named(f"fft.{name}")([1.0, 2.0])


def test_several_axes_are_a_type_error_where_one_is_taken():
    for axes in ((0, 1), (0, 0), (5,)):
        with pytest.raises(TypeError):
            jnp.argmax(X, axis=axes)


def test_a_number_is_repeated_as_a_line_of_one():
    found = jnp.repeat(disk(np.float32(2)), 3, axis=-1)
    assert np.asarray(found).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(np.exceptions.AxisError):
        jnp.repeat(disk(np.float32(2)), 3, axis=1)


IMPOSSIBLE: dict[str, Any] = {
    "zeros": lambda: jnp.zeros((2, -1)),
    "repeat": lambda: jnp.repeat(X, -1),
    "tile": lambda: jnp.tile(X, -1),
    "reshape": lambda: jnp.reshape(X, (-1, -1)),
    "reshape to nothing": lambda: jnp.reshape(X, (0, -1)),
    "transpose": lambda: jnp.transpose(X, (0,)),
    "flip": lambda: jnp.flip(X, (0, 0)),
    "moveaxis": lambda: jnp.moveaxis(X, (0, 0), (1, 0)),
    "arange": lambda: jnp.arange(0, 5, 0),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_length_or_an_axis_that_cannot_be_is_numpys_value_error(name: str):
    with pytest.raises(ValueError, match=r"must|cannot|repeated|needs"):
        IMPOSSIBLE[name]()
