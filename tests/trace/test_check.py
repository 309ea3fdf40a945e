import jax.numpy as jnp
import numpy as np
import pytest

from jask.trace.check import check
from jask.trace.ir import Var
from tests.trace.graphs import program_for

X = np.ones((4, 3), "float32")


def program():
    return program_for(lambda x: jnp.cos(jnp.sin(x)) * np.arange(3, dtype="f4"), X)


def swap(p):
    p.equations[0], p.equations[1] = p.equations[1], p.equations[0]
    for number, eqn in enumerate(p.equations):
        eqn.number = number


def retype(p):
    p.equations[0].outputs[0].dtype = np.dtype("float64")


def reshape(p):
    p.equations[0].outputs[0].shape = (3, 4)


def renumber(p):
    p.equations[0].number = 7


def repeat(p):
    p.equations.insert(1, p.equations[0])


def lose(p):
    del p.equations[-1]


def orphan(p):
    p.outputs = [Var((4, 3), np.dtype("float32"))]


def dead(p):
    p.outputs = [p.equations[0].outputs[0]]


def disown(p):
    p.equations[0].outputs[0].producer = None


def misplace(p):
    p.leaves[0].index = 3


def lie(p):
    (var,) = p.constants
    p.constants[var] = np.zeros(4, "float32")


@pytest.mark.parametrize(
    "damage",
    [
        swap,
        retype,
        reshape,
        renumber,
        repeat,
        lose,
        orphan,
        dead,
        disown,
        misplace,
        lie,
    ],
    ids=lambda f: f.__name__,
)
def test_a_damaged_program_is_found(damage):
    p = program()
    check(p)
    damage(p)
    with pytest.raises(AssertionError):
        check(p)
