"""Every function of the standard on arrays in blocks, against array-api-strict.

Value, dtype and shape, over special values, empty arrays and random block sizes. What
a function rounds is stated with its case; where NumPy, on which array-api-strict
stands, is itself not what the standard says, the cases leave it out and
`tests/numpy/test_elementwise.py` has the standard's value.
"""

import types
import warnings
from typing import Any

import array_api_strict
import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jask
import jask.numpy as jnp
from jask.testing.same import assert_same
from tests.conformance import elementwise, matrices, reductions, shapes
from tests.conformance.case import Call, Case

CASES = {
    case.name: case
    for module in (elementwise, matrices, reductions, shapes)
    for case in module.CASES
}
BLOCKS = st.sampled_from([None, 16, 64, 1 << 20])
FEWER = settings(max_examples=max(1, settings().max_examples // 10))
"""There are 170 functions."""

SETTINGS = {
    "__array_namespace_info__",
    "get_array_api_strict_flags",
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}
FACTS = {"finfo", "iinfo"}
"""They return facts, which `tests/numpy/test_promotion.py` compares."""


def functions_of(module: Any, prefix: str = "") -> set[str]:
    return {
        prefix + n
        for n in module.__all__
        if isinstance(getattr(module, n), types.FunctionType)
    }


def test_every_function_of_the_standard_has_a_case():
    names = (
        functions_of(array_api_strict)
        | functions_of(array_api_strict.linalg, "linalg.")
        | functions_of(array_api_strict.fft, "fft.")
    )
    assert names - SETTINGS - FACTS == set(CASES)


def find(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def strict(value: Any) -> Any:
    """Return an argument for array-api-strict."""
    if isinstance(value, np.ndarray):
        return array_api_strict.asarray(value)
    if isinstance(value, np.dtype):
        return getattr(array_api_strict, value.name)
    return value


def disk(value: Any) -> Any:
    """Return an argument for jask."""
    return jask.from_numpy(value) if isinstance(value, np.ndarray) else value


def outcome(function: Any, given_call: Call, convert: Any) -> Any:
    args, kwargs = jax.tree.map(convert, (given_call.args, given_call.kwargs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's, of special values
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return function(*args, **kwargs)


def parts(value: Any) -> list[Any]:
    """Return the arrays of a result, or its other values."""
    if isinstance(value, tuple | list):
        return [p for v in value for p in parts(v)]
    return [value]


def plain(value: Any) -> Any:
    """Return an array as NumPy's; a dtype by name; anything else as it is."""
    if hasattr(value, "shape"):
        return np.asarray(value)
    if isinstance(value, np.dtype) or "DType" in type(value).__name__:
        return str(value).removeprefix("array_api_strict.")
    return value


def bound(case: Case, expected: np.ndarray[Any, Any]) -> float:
    """Return the largest difference that so many units in the last place make."""
    if not case.ulps or expected.dtype.kind not in "fc" or not expected.size:
        return 0.0
    size = np.abs(expected)
    largest = np.max(size, initial=0.0, where=np.isfinite(size))
    info = np.finfo(expected.dtype)
    return float(case.ulps * max(float(info.eps) * float(largest), float(info.tiny)))


def unsigned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return an array with positive zeros only."""
    return np.asarray(array + np.zeros((), array.dtype))


def compare(case: Case, found: Any, expected: Any) -> None:
    got, want = parts(found), parts(expected)
    assert len(got) == len(want)
    for f, e in zip(map(plain, got), map(plain, want), strict=True):
        if isinstance(e, np.ndarray):
            pair = (unsigned(f), unsigned(e)) if case.either_zero else (f, e)
            assert_same(*pair, sums=case.sums, error=bound(case, e))
        else:
            assert f == e


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_function_is_what_the_standard_says(name: str):
    case = CASES[name]

    @FEWER
    @given(call=case.calls, block=BLOCKS)
    def holds(call: Call, block: int | None) -> None:
        expected = outcome(find(array_api_strict, name), call, strict)
        with jask.config(block_bytes=block):
            found = outcome(find(jnp, name), call, disk)
            values = jax.tree.map(plain, found, is_leaf=lambda v: hasattr(v, "shape"))
        if case.check is not None:
            facts = [(p.shape, str(p.dtype)) for p in parts(found)]
            assert facts == [
                (p.shape, str(p.dtype).split(".")[1]) for p in parts(expected)
            ]
            case.check(call, values)
        else:
            compare(case, values, expected)

    holds()
