import jax.numpy as jnp
import numpy as np

from jask.trace.views import view_leaves
from tests.trace.graphs import interpret, names, program_for

X = np.arange(24.0, dtype="float32")


def test_a_leaf_with_one_use_is_read_in_the_shape_of_its_reshape():
    program = view_leaves(program_for(lambda x: jnp.sum(x.reshape(4, 6), 0), X))
    assert names(program) == ["reduce_sum"]
    assert program.leaves[0].shape == (4, 6)
    (value,) = interpret(program, X.reshape(4, 6))
    np.testing.assert_array_equal(value, X.reshape(4, 6).sum(0))


def test_a_leaf_with_two_uses_keeps_its_shape():
    program = view_leaves(program_for(lambda x: (x.reshape(4, 6), jnp.sum(x)), X))
    assert program.leaves[0].shape == (24,)
