"""Bounds of integers known while planning."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st

import jask.rules as _rules  # noqa: F401 - fills the tables
from jask.geometry.box import Box
from jask.rules import bounds as bounds_module
from jask.rules.bounds import bounds
from jask.trace.ir import Literal, Var
from tests.rules.helpers import boxes
from tests.trace.graphs import program_for

N = 12
FUNCTIONS: dict[str, Callable[[], Any]] = {
    "iota": lambda: jnp.arange(N),
    "affine": lambda: 3 * jnp.arange(N) - 5,
    "downwards": lambda: 7 - jnp.arange(N),
    "negative wraps": lambda: jnp.where(
        jnp.arange(N) - 4 < 0, jnp.arange(N) - 4 + N, jnp.arange(N) - 4
    ),
    "clipped": lambda: jnp.clip(jnp.arange(N) - 3, 0, 5),
    "remainder": lambda: jax.lax.rem(jnp.arange(N) + 2, jnp.full(N, 5)),
    "quotient": lambda: jax.lax.div(jnp.arange(N), jnp.full(N, 4)),
    "flipped": lambda: jnp.flip(jnp.arange(N)),
    "joined": lambda: jnp.concatenate([jnp.arange(5), jnp.arange(N - 5) * 10]),
    "strided": lambda: jnp.arange(3 * N)[1::3],
    "extremes": lambda: jnp.maximum(jnp.arange(N), 4) - jnp.minimum(jnp.arange(N), 9),
    "narrowed": lambda: (jnp.arange(N) * 2).astype("int8"),
    "negated": lambda: -jnp.arange(N),
    "truths": lambda: (jnp.arange(N) >= 3) & (jnp.arange(N) <= 7),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@given(box=boxes((N,)))
def test_every_element_lies_between_the_bounds(name: str, box: Box) -> None:
    with jax.enable_x64(True):
        values = np.asarray(FUNCTIONS[name]())[box.slices]
    program = program_for(lambda _: FUNCTIONS[name](), np.zeros(1, "f4"))
    found = bounds(program.outputs[0], box)
    assert found is not None
    assert found[0] <= values.min()
    assert values.max() <= found[1]


@pytest.mark.parametrize("name", ["iota", "affine", "downwards", "flipped"])
def test_bounds_of_a_monotonous_sequence_are_its_ends(name: str) -> None:
    program = program_for(lambda _: FUNCTIONS[name](), np.zeros(1, "f4"))
    values = sorted(np.asarray(FUNCTIONS[name]())[3:6].tolist())
    found = bounds(program.outputs[0], Box((3,), (6,)))
    assert found == (values[0], values[-1])


@given(value=st.integers(-9, 9))
def test_a_literal_is_its_own_bounds(value: int) -> None:
    assert bounds(Literal(np.asarray(value)), Box((), ())) == (value, value)


def test_a_value_that_is_used_twice_is_followed_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def doubled() -> Any:
        i = jnp.arange(N, dtype="int64")
        for _ in range(20):
            i = i + i
        return i

    program = program_for(lambda _: doubled(), np.zeros(1, "f4"))
    followed: list[Any] = []
    add = bounds_module._STEPS["add"]

    def counted(ranges: Any) -> Any:
        followed.append(ranges)
        return add(ranges)

    monkeypatch.setattr(bounds_module, "_STEPS", {"add": counted})
    assert bounds(program.outputs[0], Box((0,), (N,))) == (0, (N - 1) << 20)
    assert len(followed) == 20


def test_data_floats_and_what_would_wrap_have_no_bounds() -> None:
    assert bounds(Var((3,), np.dtype("i4")), Box((0,), (3,))) is None
    assert bounds(Literal(np.asarray(1.5)), Box((), ())) is None
    program = program_for(
        lambda _: (jnp.arange(N) * 100).astype("int8"), np.zeros(1, "f4")
    )
    assert bounds(program.outputs[0], Box((3,), (6,))) is None
