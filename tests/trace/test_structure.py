import timeit

import jax.numpy as jnp
import numpy as np
import pytest

from jask.trace.build import structure
from jask.trace.graph import Call, Node, Operation, Result
from tests.trace.graphs import Fixed, call, dense, one, source


def key(*targets):
    return structure(targets).key


def program(path="x.npy", *, dtype="float32", shape=(4, 3), axis=0, on_disk=True):
    x = source(shape, dtype, path, on_disk=on_disk)
    return one(Fixed(jnp.sum, (("axis", axis),)), one(jnp.sin, x))


def test_the_same_program_on_another_file_has_the_same_key():
    first, second = key(program("a.npy")), key(program("b.npy"))
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize(
    "change",
    [{"axis": 1}, {"dtype": "float64"}, {"shape": (4, 5)}, {"on_disk": False}],
    ids=str,
)
def test_another_argument_type_or_place_has_another_key(change):
    assert key(program()) != key(program(**change))


def test_the_order_of_operands_is_part_of_the_key():
    x, y = source((3,)), source((3,))
    s = one(jnp.sin, x)
    assert key(one(jnp.subtract, s, y)) != key(one(jnp.subtract, y, s))


def test_the_targets_are_part_of_the_key():
    s = one(jnp.sin, source((3,)))
    t = one(jnp.cos, s)
    assert key(t) != key(t, s)


def test_the_64_bit_flag_and_weak_operands_are_part_of_the_key():
    x, y = source((3,)), dense(np.float32(2))
    strong = key(one(jnp.multiply, x, y, x64=False))
    assert strong != key(one(jnp.multiply, x, y, x64=True))
    assert strong != key(one(jnp.multiply, x, y, x64=False, weak=(False, True)))


def test_the_value_of_a_scalar_operand_is_not_part_of_the_key():
    x = source((3,))
    weak = (False, True)
    two, three = dense(np.float64(2)), dense(np.float64(3))
    first = key(one(jnp.multiply, x, two, weak=weak))
    assert first == key(one(jnp.multiply, x, three, weak=weak))


def test_one_leaf_used_twice_is_not_two_leaves():
    x, y = source((3,)), source((3,))
    assert key(one(jnp.add, x, x)) != key(one(jnp.add, x, y))
    assert structure([one(jnp.add, x, x)]).leaves == (x,)
    assert structure([one(jnp.add, x, y)]).leaves == (x, y)


def test_two_sources_with_one_store_are_one_leaf():
    x = source((3,))
    again = type(x)(x.shape, x.dtype, x.store)
    assert structure([one(jnp.add, x, again)]).leaves == (x,)


def test_a_leaf_may_be_a_target():
    x = source((3,))
    assert structure([x, x]).leaves == (x,)


def test_leaves_are_listed_as_the_key_lists_them():
    x, y = source((3,)), dense(np.zeros((2, 3), "float32"))
    found = structure([one(jnp.add, one(jnp.sin, y), x)])
    assert [(s.shape, s.place) for s in found.key.leaves] == [
        ((2, 3), "memory"),
        ((3,), "disk"),
    ]
    assert found.leaves == (y, x)


def test_equal_calls_are_one_call():
    x = source((3,))
    twice = key(one(jnp.add, one(jnp.sin, x), one(jnp.sin, x)))
    s = one(jnp.sin, x)
    assert twice == key(one(jnp.add, s, s))


def test_results_of_one_call_are_told_apart():
    first, second = call(jnp.frexp, source((3,)))
    assert key(first) != key(second)


def test_the_key_holds_no_node():
    found = key(program())
    text = repr((found.calls, found.leaves, found.targets))
    assert "Source" not in text
    assert "FakeFile" not in text


def test_a_graph_of_fifty_nodes_has_its_key_in_little_time():
    x: Node = source((3,))
    for _ in range(50):
        x = Result(x.shape, x.dtype, Call(Operation(jnp.sin, "sin", False), (x,)), 0)
    best = min(timeit.repeat(lambda: structure([x]), number=20, repeat=10)) / 20
    assert best < 1e-3  # about 80 us on a quiet machine
