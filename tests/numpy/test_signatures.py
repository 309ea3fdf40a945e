"""Names and signatures of the standard, against array-api-strict."""

import inspect
import types
from typing import Any

import array_api_strict
import pytest

import jask.numpy as jnp

OWN = {"Device", "ArrayAPIStrictFlags"}


def standard_functions() -> list[tuple[str, Any, Any]]:
    found = []
    for prefix, theirs, ours in (
        ("", array_api_strict, jnp),
        ("linalg.", array_api_strict.linalg, jnp.linalg),
        ("fft.", array_api_strict.fft, jnp.fft),
    ):
        for name in theirs.__all__:
            model = getattr(theirs, name)
            if isinstance(model, types.FunctionType) and "strict" not in name:
                found.append((prefix + name, model, getattr(ours, name)))
    return found


FUNCTIONS = standard_functions()


def test_the_standard_has_its_full_number_of_functions():
    assert len(FUNCTIONS) > 150


def test_every_name_of_the_standard_is_exported():
    names = {n for n in array_api_strict.__all__ if "strict" not in n}
    assert names - OWN - set(jnp.__all__) == {"__version__"}


def positional(signature: inspect.Signature) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in signature.parameters.values() if p.kind in kinds]


@pytest.mark.parametrize(
    ("model", "ours"), [f[1:] for f in FUNCTIONS], ids=[f[0] for f in FUNCTIONS]
)
def test_every_call_that_the_standard_allows_is_accepted(model: Any, ours: Any):
    theirs, own = inspect.signature(model), inspect.signature(ours)
    variadic = any(p.kind is p.VAR_POSITIONAL for p in own.parameters.values())
    assert variadic or len(positional(own)) >= len(positional(theirs))
    for ask, have in zip(positional(theirs), positional(own), strict=False):
        if ask.kind is ask.POSITIONAL_OR_KEYWORD:
            assert (have.name, have.kind) == (ask.name, ask.kind)
        if ask.default is not ask.empty:
            assert have.default == ask.default or ask.default is None
    for ask in theirs.parameters.values():
        if ask.kind is ask.KEYWORD_ONLY:
            have = own.parameters[ask.name]
            assert have.kind in (have.KEYWORD_ONLY, have.POSITIONAL_OR_KEYWORD)
            if "UNDEF" not in repr(ask.default):
                assert have.default == ask.default


def test_every_function_has_a_docstring_and_a_home():
    values = {n: getattr(jnp, n) for n in jnp.__all__}
    own = {n: v for n, v in values.items() if isinstance(v, types.FunctionType)}
    foreign = {"issubdtype", "promote_types", "isscalar", "iterable"}
    printing = {"get_printoptions", "set_printoptions", "printoptions"}
    for name in own.keys() - foreign - printing:
        assert own[name].__doc__, name
        assert own[name].__module__.startswith("jask.numpy"), name


def test_out_is_not_a_parameter():
    assert "out" not in inspect.signature(jnp.sum).parameters
    assert "method" not in inspect.signature(jnp.isin).parameters
    with pytest.raises(TypeError, match="unexpected keyword"):
        jnp.sum(a=jnp.ones(3))
