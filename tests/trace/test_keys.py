"""Programs with random keys: the bits of JAX, on numbers alone."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jask.trace.check import check
from jask.trace.keys import is_key, numbers_of
from tests.trace.graphs import interpret, program_for

NUMBERS = np.asarray([3, 7], np.uint32)


def key_of(numbers: Any) -> Any:
    return jax.random.wrap_key_data(numbers, impl="threefry2x32")


def with_scan(key: Any) -> Any:
    def step(key, _):
        key, now = jax.random.split(key)
        return key, jax.random.bits(now, (3,), np.uint32)

    return jax.lax.scan(step, key, None, length=4)[1]


def with_while(key: Any) -> Any:
    def again(state):
        return state[0] < 3

    def body(state):
        return state[0] + 1, jax.random.split(state[1])[0]

    last = jax.lax.while_loop(again, body, (jnp.int32(0), key))[1]
    return jax.random.bits(last, (4,), np.uint32)


def with_cond(key: Any) -> Any:
    first = jax.random.bits(key, (), np.uint32)
    other = jax.lax.cond(
        first > 9, lambda key: jax.random.fold_in(key, 1), lambda key: key, key
    )
    return jax.random.bits(other, (4,), np.uint32)


PROGRAMS = {
    "bits": lambda key: jax.random.bits(key, (4, 3), np.uint32),
    "narrow bits": lambda key: jax.random.bits(key, (4, 3), np.uint8),
    "bits of many keys": jax.vmap(lambda key: jax.random.bits(key, (3,), np.uint32)),
    "split": lambda key: jax.random.key_data(jax.random.split(key, (2, 3))),
    "fold_in": lambda key: jax.random.key_data(jax.random.fold_in(key, 5)),
    "fold_in of many": lambda key: jax.random.key_data(
        jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(5))
    ),
    "a key of its own": lambda key: jax.random.bits(
        jax.random.key(jax.random.bits(key, (), np.uint32)), (4,), np.uint32
    ),
    "clone": lambda key: jax.random.bits(jax.random.clone(key), (4,), np.uint32),
    "choice of keys": lambda key: jax.random.key_data(
        jnp.where(jnp.asarray([True, False]), jax.random.split(key), key)
    ),
    "moving keys about": lambda key: jax.random.key_data(
        jnp.concatenate(
            [jax.random.split(key, (2, 3)).T[1:], jax.random.split(key)[None]]
        )
    ),
    "picking a key": lambda key: jax.random.key_data(
        jax.random.split(key, 5)[jax.random.bits(key, (), np.uint32) % jnp.uint32(5)]
    ),
    "scan": with_scan,
    "while": with_while,
    "cond": with_cond,
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_programs_on_keys_give_the_bits_of_jax(case: str):
    function = PROGRAMS[case]
    many = case == "bits of many keys"
    numbers = np.arange(8, dtype=np.uint32).reshape(4, 2) if many else NUMBERS
    program = program_for(lambda x: function(key_of(x)), numbers)
    check(program)
    (got,) = interpret(program, numbers)
    want = np.asarray(function(key_of(numbers)))
    np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.parametrize("generator", ["rbg", "philox4x32", "threefry4x32"])
def test_other_generators_have_their_own_bits(generator: str):
    keys = jax.random.key(5, impl=generator)
    numbers = np.asarray(jax.random.key_data(keys))

    def function(x):
        key = jax.random.wrap_key_data(x, impl=generator)
        return jax.random.bits(jax.random.split(key)[1], (4, 3), np.uint32)

    (got,) = interpret(program_for(function, numbers), numbers)
    np.testing.assert_array_equal(got, np.asarray(function(numbers)), strict=True)


def test_a_key_among_the_constants_of_a_function_is_its_numbers():
    key = jax.random.key(9)
    program = program_for(lambda x: x + jax.random.uniform(key, x.shape, x.dtype), X)
    (got,) = interpret(program, X)
    want = X + np.asarray(jax.random.uniform(key, X.shape, X.dtype))
    np.testing.assert_array_equal(got, want, strict=True)


X = np.zeros((4, 3), np.float32)


def test_bits_are_the_partitionable_ones_whatever_the_setting():
    def function(x):
        return jax.random.bits(key_of(x), (5,), np.uint32)

    want = np.asarray(function(NUMBERS))
    with jax.threefry_partitionable(False):
        program = program_for(function, NUMBERS)
    (got,) = interpret(program, NUMBERS)
    np.testing.assert_array_equal(got, want, strict=True)


def test_only_keys_are_keys():
    assert is_key(jax.random.key(0).dtype)
    assert not any(map(is_key, (np.dtype("uint32"), jnp.bfloat16, None)))
    assert numbers_of(3.0) == 3.0
