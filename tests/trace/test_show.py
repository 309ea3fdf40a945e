import jax.numpy as jnp
import numpy as np

from jask.trace.show import show
from tests.trace.graphs import program_for


def test_a_program_reads_like_a_jaxpr():
    def function(x):
        return jnp.sum(x * 2, 0) + np.arange(3, dtype="float32")

    text = show(program_for(function, np.ones((4, 3), "float32")))
    assert text.splitlines() == [
        "leaves a:f32[4,3]",
        "constants b:f32[3]",
        "  c:f32[4,3] = mul a 2.0:f32[]",
        "  d:f32[3] = reduce_sum[axes=(0,)] c",
        "  e:f32[3] = add d b",
        "return e",
    ]


def test_names_go_on_after_z():
    def function(x):
        for _ in range(30):
            x = jnp.sin(x)
        return x

    text = show(program_for(function, np.float32(1)))
    assert "  aa:f32[] = sin z" in text
    assert text.endswith("return ae")
