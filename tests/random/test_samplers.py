"""Every sampler of jax.random, with its values, over small blocks."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
from jask.trace.counters import COUNTERS

KEY = jax.random.key(11)
SHAPE = (37, 53)
EVEN = (32, 16)
"""A shape of which all blocks are alike: one kernel."""

A = np.linspace(0.4, 3, 16, dtype=np.float32)

EXACT: dict[str, tuple[Any, ...]] = {
    "bernoulli": (0.3, SHAPE),
    "bits": (SHAPE,),
    "cauchy": (SHAPE,),
    "exponential": (SHAPE,),
    "gumbel": (SHAPE,),
    "laplace": (SHAPE,),
    "logistic": (SHAPE,),
    "normal": (SHAPE,),
    "rademacher": (SHAPE,),
    "randint": (SHAPE, -3, 1000),
    "uniform": (SHAPE, np.float32, -1.0, 3.0),
}
"""Samplers whose every bit must be that of jax.random, with their arguments."""

CLOSE: dict[str, tuple[Any, ...]] = {
    "double_sided_maxwell": (0.5, 2.0, SHAPE),
    "gamma": (A, EVEN),
    "geometric": (0.3, SHAPE),
    "lognormal": (0.5, SHAPE),
    "maxwell": (SHAPE,),
    "pareto": (A, EVEN),
    "rayleigh": (A, EVEN),
    "triangular": (0.0, 1.0, 3.0, SHAPE),
    "truncated_normal": (-1.0, 0.5, SHAPE),
    "wald": (A, EVEN),
    "weibull_min": (1.0, 2.0, SHAPE),
}
"""Samplers that do arithmetic on such numbers: rounding may differ by how XLA fuses."""

SLOW: dict[str, tuple[Any, ...]] = {
    "ball": (3, 2, (32,)),
    "binomial": (9.0, 0.3, (32,)),
    "poisson": (A, EVEN),
    "beta": (A, A, EVEN),
    "chisquare": (A, EVEN),
    "dirichlet": (A[:4], (32,)),
    "f": (A, A, EVEN),
    "generalized_normal": (3.0, (32,)),
    "loggamma": (A, EVEN),
    "t": (A, EVEN),
}
"""Samplers that reject, or of gamma numbers, whose loops XLA compiles for seconds."""

WHOLE: dict[str, tuple[Any, ...]] = {
    "choice": (29, (7,), False),
    "multinomial": (5.0, jnp.ones(3, np.float32) / 3),
    "multivariate_normal": (jnp.zeros(2, np.float32), jnp.eye(2, dtype=np.float32)),
    "orthogonal": (4,),
    "permutation": (29,),
}
"""Samplers that need an array whole."""

OTHERS: dict[str, tuple[Any, ...]] = {
    "categorical": (jnp.log(jnp.arange(1, 13, dtype=np.float32).reshape(3, 4)),),
}

SAMPLERS = {**EXACT, **CLOSE, **SLOW, **WHOLE, **OTHERS}


def both(name: str, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Return what jask and jax.random draw, under a user's settings."""
    with jax.enable_x64(False), jax.numpy_dtype_promotion("standard"):
        want = getattr(jax.random, name)(KEY, *args, **kwargs)
        with jask.config(block_bytes=1024):
            got = jask.materialize(getattr(jask.random, name)(KEY, *args, **kwargs))
    return np.asarray(got), np.asarray(want)


def test_every_name_of_jax_random_is_here():
    theirs = {n for n in dir(jax.random) if not n.startswith("_")}
    assert theirs - {"random_gamma_p"} == set(jask.random.__all__)


def test_every_sampler_is_tested():
    made = {n for n in jask.random.__all__ if not is_handed_on(n)}
    assert made == set(SAMPLERS)


def is_handed_on(name: str) -> bool:
    return getattr(jask.random, name) is getattr(jax.random, name)


@pytest.mark.parametrize("name", EXACT)
def test_a_sampler_has_the_bits_of_jax_and_streams(name: str):
    before = COUNTERS.opaque_steps
    got, want = both(name, *EXACT[name])
    assert got.tobytes() == want.tobytes()
    np.testing.assert_array_equal(got, want, strict=True)
    assert COUNTERS.opaque_steps == before


@pytest.mark.parametrize(
    "name", [*CLOSE, *(pytest.param(n, marks=pytest.mark.slow) for n in SLOW)]
)
def test_a_sampler_that_computes_has_the_values_of_jax_and_streams(name: str):
    before = COUNTERS.opaque_steps
    got, want = both(name, *SAMPLERS[name])
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    # a few roundings of float32; quotients of gamma numbers lose some more, and so do
    # the truncated normals that are nearly zero
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-7)
    assert COUNTERS.opaque_steps == before


@pytest.mark.parametrize("name", [*WHOLE, *OTHERS])
def test_other_samplers_have_the_values_of_jax(name: str):
    got, want = both(name, *SAMPLERS[name])
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint64"])
def test_bits_of_every_width_are_those_of_jax(dtype: str):
    got = jask.materialize(jask.random.bits(KEY, SHAPE, dtype))
    want = jax.random.bits(KEY, SHAPE, dtype)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_normal_numbers_of_every_type_are_those_of_jax(dtype: str):
    got = jask.materialize(jask.random.normal(KEY, SHAPE, jnp.dtype(dtype)))
    want = jax.random.normal(KEY, SHAPE, jnp.dtype(dtype))
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


def test_complex_normal_numbers_are_those_of_jax():
    got = jask.materialize(jask.random.normal(KEY, SHAPE, "complex64"))
    want = jax.random.normal(KEY, SHAPE, "complex64")
    # divided by the square root of two, before or after a rounding
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=3e-7)


@pytest.mark.parametrize("sampler", ["uniform", "normal"])
def test_an_explicit_64_bit_type_is_honoured_whatever_the_flag(sampler: str):
    with jax.enable_x64(False):
        x = getattr(jask.random, sampler)(KEY, SHAPE, "float64")
    assert x.dtype == np.float64
    want = getattr(jax.random, sampler)(KEY, SHAPE, "float64")
    np.testing.assert_array_equal(np.asarray(x), np.asarray(want), strict=True)


@pytest.mark.parametrize("generator", ["threefry4x32", "philox2x32", "philox4x32"])
def test_other_counting_generators_stream_too(generator: str):
    key = jax.random.key(4, impl=generator)
    before = COUNTERS.opaque_steps
    with jask.config(block_bytes=1024):
        got = jask.materialize(jask.random.uniform(key, SHAPE, np.float32))
    want = jax.random.uniform(key, SHAPE, np.float32)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)
    assert COUNTERS.opaque_steps == before


def test_a_key_as_plain_numbers_is_a_key():
    raw = jax.random.PRNGKey(5)
    for key in (raw, np.asarray(raw)):
        got = jask.materialize(jask.random.uniform(key, SHAPE, np.float32))
        want = jax.random.uniform(raw, SHAPE, np.float32)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


def test_parameters_may_be_on_disk_and_given_by_name():
    low = jask.from_numpy(np.zeros((37, 1), np.float32))
    got = jask.random.uniform(KEY, SHAPE, minval=low, maxval=np.float32(2), dtype="f4")
    want = jax.random.uniform(KEY, SHAPE, minval=0.0, maxval=2.0, dtype="f4")
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want), strict=True)


def test_rows_of_a_disk_array_are_chosen_as_jax_chooses():
    a = np.arange(60, dtype=np.float32).reshape(20, 3)
    got = jask.random.choice(KEY, jask.from_numpy(a), (5,))
    np.testing.assert_array_equal(np.asarray(got), jax.random.choice(KEY, a, (5,)))
    got = jask.random.permutation(KEY, jask.from_numpy(a))
    np.testing.assert_array_equal(np.asarray(got), jax.random.permutation(KEY, a))


WRONG: dict[str, Callable[[], Any]] = {
    "a seed": lambda: jask.random.normal(0, (3,)),
    "no key": lambda: jask.random.normal((3,)),
    "floats": lambda: jask.random.normal(np.zeros(2), (3,)),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_not_a_key_is_refused_by_name(case: str):
    with pytest.raises(TypeError, match=r"must be a random key, made by jax\.random"):
        WRONG[case]()


def test_several_keys_at_once_are_refused_as_in_jax():
    with pytest.raises(ValueError, match=r"Use jax\.vmap"):
        jask.random.normal(jax.random.split(KEY), (3,))


def test_wrong_parameters_are_refused_at_the_call():
    with pytest.raises(TypeError, match="out_sharding"):
        jask.random.normal(KEY, (3,), out_sharding=None)
    with pytest.raises(ValueError, match="float"):
        jask.random.normal(KEY, (3,), np.int32)
    with pytest.raises(ValueError, match="negative"):
        jask.random.normal(KEY, (-3,))
