"""Rules of transpose, rev, reshape, squeeze."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax

from jask.geometry.box import Box
from jask.rules._table import RULES, Link
from tests.geometry.strategies import reshapes
from tests.rules.helpers import boxes, check_map, equation, numbers, shapes


@settings(max_examples=15)
@given(data=st.data(), shape=shapes(0, 4))
def test_a_transposed_box_is_the_box_of_the_transpose(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    x = numbers(shape, np.float32)
    eqn = equation(lambda x: lax.transpose_p.bind(x, permutation=tuple(order)), x)
    check_map(eqn, data.draw(boxes(eqn.outputs[0].shape)), x)


@settings(max_examples=10)
@given(data=st.data(), shape=shapes(1, 3))
def test_a_reversed_box_is_the_mirrored_box(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    dims = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    x = numbers(shape, np.float32)
    eqn = equation(lambda x: lax.rev(x, tuple(dims)), x)
    check_map(eqn, data.draw(boxes(shape)), x)


@settings(max_examples=40)
@given(data=st.data(), pair=reshapes())
def test_a_box_of_a_reshape_is_found_in_the_operand(
    data: st.DataObject, pair: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    before, after = pair
    x = np.arange(np.prod(before, dtype=int)).reshape(before)
    eqn = equation(
        lambda x: lax.reshape_p.bind(
            x, new_sizes=after, dimensions=None, sharding=None
        ),
        x,
    )
    check_map(eqn, data.draw(boxes(after)), x)


@pytest.mark.parametrize("after", [(20, 3), (3, 4, 5), (60,), (6, 10)])
def test_a_reshape_with_dimensions_reads_the_transpose(after: tuple[int, ...]) -> None:
    x = np.arange(60).reshape(3, 4, 5)
    eqn = equation(lambda x: lax.reshape(x, after, (2, 0, 1)), x)
    box = Box(tuple(n // 3 for n in after), tuple(n - 1 for n in after))
    check_map(eqn, box, x)


def test_squeeze_drops_axes() -> None:
    x = numbers((1, 4, 1, 5), np.float32)
    eqn = equation(lambda x: lax.squeeze(x, (0, 2)), x)
    check_map(eqn, Box((1, 2), (3, 4)), x)
    links = set(RULES["squeeze"].links(eqn))
    assert links == {Link(0, 1, 0), Link(0, 3, 1)}


def test_aligned_tiles_of_a_reshape_share_a_kernel() -> None:
    x = numbers((100, 8, 8), np.float32)
    eqn = equation(lambda x: lax.reshape(x, (6400,)), x)
    needs = [
        RULES["reshape"].need(eqn, Box((640 * i,), (640 * (i + 1),))) for i in range(10)
    ]
    boxes_seen = {n.boxes[0].shape for n in needs if n.boxes[0] is not None}
    assert boxes_seen == {(10, 8, 8)}
    assert len({(n.key, len(n.offsets)) for n in needs}) == 1


def test_a_reshape_of_an_empty_array_has_no_links() -> None:
    x = numbers((0, 3), np.float32)
    eqn = equation(lambda x: lax.reshape(x, (3, 0)), x)
    assert list(RULES["reshape"].links(eqn)) == []
