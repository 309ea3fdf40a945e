import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jask.trace.ir import Literal
from tests.trace.graphs import interpret, program_for

CASES = {
    "add": lambda: lax.add(jnp.float32(0.1), jnp.float32(0.2)),
    "div": lambda: lax.div(jnp.float32(1), jnp.float32(3)),
    "integer div": lambda: lax.div(jnp.int32(-7), jnp.int32(2)),
    "by zero": lambda: lax.div(jnp.float32(1), jnp.float32(0)),
    "sqrt of negative": lambda: lax.sqrt(jnp.float32(-1)),
    "overflow": lambda: lax.mul(jnp.float32(1e30), jnp.float32(1e30)),
    "wrap": lambda: lax.add(jnp.int8(127), jnp.int8(1)),
    "exp": lambda: lax.exp(jnp.float64(2)),
    "pow": lambda: lax.pow(jnp.float32(2), jnp.float32(0.5)),
    "bfloat16": lambda: lax.mul(jnp.bfloat16(1.1), jnp.bfloat16(1.1)),
    "float to int": lambda: lax.convert_element_type(jnp.float32(-2.7), jnp.int32),
    "int to float": lambda: lax.convert_element_type(jnp.int64(2**53 + 1), jnp.float32),
    "compare nan": lambda: lax.ne(jnp.float32(jnp.nan), jnp.float32(jnp.nan)),
    "complex": lambda: lax.mul(jnp.complex64(1 + 2j), jnp.complex64(3 - 1j)),
    "not": lambda: lax.bitwise_not(jnp.bool_(True)),
    "sign of zero": lambda: lax.neg(jnp.float32(0)),
    "select": lambda: lax.select_n(jnp.bool_(True), jnp.float32(1), jnp.float32(2)),
    "reshape": lambda: lax.reshape(jnp.ones((1, 1), "float32"), ()),
}


@pytest.mark.parametrize("case", [c for c in CASES if c != "reshape"])
def test_a_scalar_is_what_jax_computes(case):
    (atom,) = program_for(CASES[case]).outputs
    expected = np.asarray(CASES[case]())
    assert isinstance(atom, Literal)
    assert atom.dtype == expected.dtype
    assert atom.value.tobytes() == expected.tobytes()


def test_a_scalar_made_from_an_array_stays_an_equation():
    (atom,) = program_for(CASES["reshape"]).outputs
    assert not isinstance(atom, Literal)


def test_random_keys_are_not_scalars():
    def function(x):
        return x + jax.random.uniform(jax.random.key(3), x.shape, x.dtype)

    x = np.zeros((4, 3), "float32")
    (got,) = interpret(program_for(function, x), x)
    np.testing.assert_array_equal(got, function(jnp.asarray(x)))
