"""jask.numpy beside jax.numpy as users have it: 64-bit types off."""

import warnings
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import jax
import jax.numpy as real
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from tests.numpy.calls import CALLS, WITHOUT_A_CALL, I, T
from tests.numpy.samples import on_disk, value
from tests.transformations.functions import A, Call

INDICES = {
    "argmax", "argmin", "argpartition", "argsort", "argwhere", "bincount",
    "count_nonzero", "diag_indices", "diag_indices_from", "digitize", "flatnonzero",
    "lexsort", "mask_indices", "nanargmax", "nanargmin", "nonzero",
    "ravel_multi_index", "searchsorted", "tril_indices", "tril_indices_from",
    "triu_indices", "triu_indices_from", "unique_all", "unique_counts",
    "unique_inverse",
}  # fmt: skip
"""Their integers are indices or counts: int64 always (docs/deviations.md)."""


@pytest.fixture(scope="module", autouse=True)
def _default_types() -> Iterator[None]:
    """Set the flag for the process, so that other threads see it too."""
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


def named(namespace: Any, name: str) -> Any:
    for part in name.split("."):
        namespace = getattr(namespace, part)
    return namespace


def test_every_function_has_a_call_or_a_reason():
    spaces = {"": jnp, "linalg.": jnp.linalg, "fft.": jnp.fft}
    names = {
        prefix + name
        for prefix, space in spaces.items()
        for name in space.__all__
        if isinstance(getattr(space, name), FunctionType | jnp.ufunc)
    }
    tried = {c.name for c in CALLS.values()}
    twice = {n for n in names if n.partition(".")[2] in tried}
    assert names - tried - twice == set(WITHOUT_A_CALL)


def same(found: Any, expected: Any, *, wide: bool = False) -> None:
    """Raise unless two results agree; `wide`: where one is int32, ours is int64."""
    if not hasattr(expected, "dtype"):
        assert found == expected
        return
    e = np.asarray(expected)
    dtype = np.dtype(np.int64) if wide and e.dtype == np.int32 else e.dtype
    assert (found.shape, found.dtype) == (e.shape, dtype)
    f = np.asarray(found)
    exact = e.dtype.kind in "biu"
    # float32: sums of blocks in another order, inverses of small systems
    bounds: Any = {} if exact else {"rtol": 5e-5, "atol": 1e-5, "equal_nan": True}
    kind = e.dtype if exact else np.promote_types(e.dtype, np.float32)
    np.testing.assert_allclose(f.astype(kind), e.astype(kind), **bounds)


def check(call: Call) -> None:
    """Compare the results of a call, and the warnings."""
    with warnings.catch_warnings(record=True) as model:
        warnings.simplefilter("always")
        args, kwargs = jax.tree.map(
            lambda v: real.asarray(v) if isinstance(v, np.ndarray) else v,
            (call.args, call.kwargs),
        )
        asked = [v for v in call.args if isinstance(v, np.dtype)]  # honoured by ours
        with jax.enable_x64(any(d.itemsize == 8 for d in asked)):
            expected = jax.tree.leaves(named(real, call.name)(*args, **kwargs))
    with warnings.catch_warnings(record=True) as own:
        warnings.simplefilter("always")
        args, kwargs = on_disk((call.args, call.kwargs))
        found = jax.tree.leaves(named(jnp, call.name)(*args, **kwargs))
        assert len(found) == len(expected)
        for i, (f, e) in enumerate(zip(found, expected, strict=True)):
            values = call.name.startswith("unique") and i == 0
            same(f, e, wide=call.name in INDICES and not values)
    categories = [{w.category for w in caught} for caught in (own, model)]
    assert categories[0] == categories[1]


def once() -> list[Any]:
    """Every call, of which only the first of each function is not slow."""
    first = {c.name: name for name, c in reversed(CALLS.items())}
    slow = dict.fromkeys(CALLS.keys() - set(first.values()), (pytest.mark.slow,))
    return [pytest.param(n, marks=slow.get(n, ())) for n in CALLS]


@pytest.mark.parametrize("name", once())
def test_a_function_gives_what_jax_numpy_gives(name: str):
    check(CALLS[name])


def some(names: Iterable[str], every: int) -> list[Any]:
    """Return parameters, of which only each so-manieth is not slow."""
    return [
        pytest.param(n, marks=() if i % every == 0 else (pytest.mark.slow,))
        for i, n in enumerate(names)
    ]


@pytest.mark.parametrize("name", some(CALLS, 20))
def test_a_function_gives_the_same_in_blocks_of_a_few_elements(name: str):
    with jask.config(block_bytes=16):
        check(CALLS[name])


DTYPES = ("bool", "int8", "uint32", "float16", "bfloat16", "float32", "complex64")
SCALARS = (True, 2, 2.5, 1j, np.float32(2), np.float64(2), np.int64(2))
BINARY = [
    n
    for n in dir(real)
    if isinstance(getattr(real, n), real.ufunc) and getattr(real, n).nin == 2
]
SOFT: dict[str, Any] = {
    **{n: (lambda xp, x, s, n=n: getattr(xp, n)(x, s)) for n in BINARY},
    **{f"{n}, reversed": (lambda xp, x, s, n=n: getattr(xp, n)(s, x)) for n in BINARY},
    "where": lambda xp, x, s: xp.where(x == x, x, s),
    "where, reversed": lambda xp, x, s: xp.where(x == x, s, x),
    "clip": lambda xp, x, s: xp.clip(x, s, s),
    "append": lambda xp, x, s: xp.append(x, s),
    "full_like": lambda xp, x, s: xp.full_like(x, s),
    "isclose": lambda xp, x, s: xp.isclose(x, s),
    "select": lambda xp, x, s: xp.select([x == x], [x], s),
    "pad": lambda xp, x, s: xp.pad(x, 1, constant_values=s),
    "insert": lambda xp, x, s: xp.insert(x, 0, s),
    "polyval": lambda xp, x, s: xp.polyval(x, s),
    "linspace": lambda xp, x, s: xp.linspace(x, s, 3),
    "interp": lambda xp, x, s: xp.interp(s, x, x),
    "outer": lambda xp, x, s: xp.outer(x, s),
    "dot": lambda xp, x, s: xp.dot(x, s),
    "result_type": lambda xp, x, s: xp.zeros((), xp.result_type(x, s)),
    "x + s": lambda xp, x, s: x + s,
    "s / x": lambda xp, x, s: s / x,
    "x ** s": lambda xp, x, s: x**s,
    "x // s": lambda xp, x, s: x // s,
    "x @ s": lambda xp, x, s: x @ xp.asarray([s, s]),
}


def outcome(function: Any, xp: Any, x: Any, scalar: Any) -> Any:
    """Return the dtype of what a function gives, or the kind of its error."""
    try:
        if xp is real:
            return jax.eval_shape(lambda x: function(xp, x, scalar), x).dtype
        return function(xp, x, scalar).dtype
    except (TypeError, ValueError):
        return "error"


@pytest.mark.parametrize("name", SOFT)
def test_scalars_give_way_to_arrays_as_in_jax_numpy(name: str):
    function = SOFT[name]
    found, expected = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in DTYPES:
            for s in SCALARS:
                key = dtype, type(s).__name__
                found[key] = outcome(function, jnp, jnp.ones(2, dtype), s)
                model = jax.ShapeDtypeStruct((2,), dtype)
                expected[key] = outcome(function, real, model, s)
    assert {k: v for k, v in found.items() if v != expected[k]} == {}


METHODS = {
    "reduce": lambda f, x, dtype: f.reduce(x, 1, dtype),
    "accumulate": lambda f, x, dtype: f.accumulate(x, 1, dtype),
    "reduceat": lambda f, x, dtype: f.reduceat(x, np.asarray([0, 2]), 1, dtype),
}
BITS = {"bitwise_and", "bitwise_or", "bitwise_xor"}


@pytest.mark.parametrize("method", ["reduceat", "outer", "at"])
@pytest.mark.parametrize("name", some(BINARY, 6))
def test_a_method_of_a_ufunc_gives_what_the_model_gives(name: str, method: str):
    x = I if name in BITS else A
    calls: dict[str, Any] = {
        "reduceat": lambda f, x: f.reduceat(x, np.asarray([0, 2]), 1),
        "outer": lambda f, x: f.outer(x, x[0]),
        "at": lambda f, x: f.at(x, np.asarray([1, 0, 1]), x[0, 1], inplace=False),
    }
    found = calls[method](getattr(jnp, name), jask.from_numpy(x))
    same(found, calls[method](getattr(real, name), real.asarray(x)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["int16", "float16", "float32", "float64", "int64"])
def test_a_method_has_the_dtype_that_is_asked_for(method: str, dtype: str):
    call = METHODS[method]
    found = call(jnp.add, jask.from_numpy(I), dtype)
    with jax.enable_x64(np.dtype(dtype).itemsize == 8):
        same(found, call(real.add, real.asarray(I), dtype))


WITH_DTYPE: dict[str, Any] = {
    **{
        name: (lambda xp, x, dtype, name=name: getattr(xp, name)(x, dtype=dtype))
        for name in [
            "sum",
            "prod",
            "mean",
            "std",
            "var",
            "nansum",
            "nanprod",
            "nanmean",
            "nanstd",
            "nanvar",
            "trace",
            "asarray",
            "array",
            "zeros_like",
            "ones_like",
            "empty_like",
        ]
    },
    **{
        name: (
            lambda xp, x, dtype, name=name: getattr(xp, name)(x, axis=1, dtype=dtype)
        )
        for name in [
            "cumsum",
            "cumprod",
            "cumulative_sum",
            "cumulative_prod",
            "nancumsum",
            "nancumprod",
        ]
    },
    **{
        name: (lambda xp, x, dtype, name=name: getattr(xp, name)([x, x], dtype=dtype))
        for name in ["concatenate", "stack", "vstack", "hstack"]
    },
    **{
        name: (lambda xp, _, dtype, name=name: getattr(xp, name)(3, dtype=dtype))
        for name in ["zeros", "ones", "empty", "eye", "identity", "tri", "arange"]
    },
    "full": lambda xp, _, dtype: xp.full((2,), 2, dtype=dtype),
    "full_like": lambda xp, x, dtype: xp.full_like(x, 2, dtype=dtype),
    "linspace": lambda xp, _, dtype: xp.linspace(0, 8, 5, dtype=dtype),
    "logspace": lambda xp, _, dtype: xp.logspace(0, 2, 3, dtype=dtype),
    "geomspace": lambda xp, _, dtype: xp.geomspace(1, 4, 3, dtype=dtype),
    "indices": lambda xp, _, dtype: xp.indices((2, 3), dtype=dtype),
    "fromfunction": lambda xp, _, dtype: xp.fromfunction(
        lambda i, j: i + j, (2, 3), dtype=dtype
    ),
    "astype": lambda xp, x, dtype: xp.astype(x, dtype),
    "x.astype": lambda xp, x, dtype: x.astype(dtype),
    "linalg.trace": lambda xp, x, dtype: xp.linalg.trace(x, dtype=dtype),
    **{
        name: (
            lambda xp, x, dtype, name=name: getattr(xp, name)(
                xp.astype(x, xp.int8), x[0], preferred_element_type=dtype
            )
        )
        for name in ("matmul", "dot", "inner")
    },
}


def model_of(name: str, dtype: str) -> Any:
    """Return what jax.numpy makes; None where it refuses the dtype."""
    try:
        return WITH_DTYPE[name](real, real.asarray(I), dtype)
    except (TypeError, ValueError):
        return None


def check_dtype(name: str, dtype: str, expected: Any) -> None:
    """Compare with what jax.numpy makes, or refuses."""
    if expected is None:
        with pytest.raises((TypeError, ValueError)):
            WITH_DTYPE[name](jnp, jask.from_numpy(I), dtype)
        return
    same(WITH_DTYPE[name](jnp, jask.from_numpy(I), dtype), expected)


@pytest.mark.parametrize("dtype", some(["float32", "int32", "float16"], 3))
@pytest.mark.parametrize("name", WITH_DTYPE)
def test_a_dtype_that_is_asked_for_is_what_jax_numpy_makes(name: str, dtype: str):
    check_dtype(name, dtype, model_of(name, dtype))


@pytest.mark.parametrize("dtype", some(["float64", "complex128", "int64"], 3))
@pytest.mark.parametrize("name", WITH_DTYPE)
def test_64_bits_that_are_asked_for_are_given_without_a_warning(name: str, dtype: str):
    with jax.enable_x64(True):
        model = model_of(name, dtype)
    check_dtype(name, dtype, model)


def test_materialize_says_that_64_bits_are_cut():
    x = jask.from_numpy(np.asarray([1.0, 2.0]))
    with pytest.warns(UserWarning, match="float64"):
        found = jask.materialize(x * 2)
    assert found.dtype == np.float32
    assert value(x * T[0, :2]).dtype == np.float64
