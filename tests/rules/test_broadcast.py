"""The rule of broadcast_in_dim."""

import numpy as np
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from tests.rules.helpers import boxes, check_map, equation, numbers, shapes


@settings(max_examples=20)
@given(data=st.data(), shape=shapes(1, 4))
def test_a_broadcast_box_is_made_from_the_axes_that_are_not_stretched(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    axes = tuple(sorted(data.draw(st.sets(st.sampled_from(range(len(shape)))))))
    source = tuple(data.draw(st.sampled_from([1, shape[d]])) for d in axes)
    shape = (*shape, 3)
    x = numbers(source, np.float32)
    eqn = equation(
        lambda x: lax.broadcast_in_dim_p.bind(
            x, shape=shape, broadcast_dimensions=axes, sharding=None
        ),
        x,
    )
    check_map(eqn, data.draw(boxes(shape)), x)


def test_a_literal_may_be_broadcast() -> None:
    eqn = equation(lambda: lax.broadcast(np.float32(2.5), (4, 5)))
    check_map(eqn, Box((1, 0), (3, 2)))
