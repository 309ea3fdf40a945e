"""jit, grad, vmap and jit(grad) of every differentiable function of jask.numpy."""

from types import FunctionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from tests.transformations.functions import CALLS, WITHOUT_A_ROW, Call

F32 = np.float32


@pytest.fixture(autouse=True)
def _default_promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


def test_every_function_has_a_row_or_a_reason():
    tried = {c.name for c in CALLS.values()}
    spaces = {"": dnp, "linalg.": dnp.linalg, "fft.": dnp.fft}
    names = {
        prefix + name
        for prefix, space in spaces.items()
        for name in space.__all__
        if isinstance(getattr(space, name), FunctionType | dnp.ufunc)
    }
    named_twice = {n for n in names if n.partition(".")[2] in tried}
    assert names - tried - named_twice == WITHOUT_A_ROW - tried
    assert not tried & WITHOUT_A_ROW


def is_number(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


class Function:
    """A call as a function of its floating-point arrays."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.leaves, self.tree = jax.tree.flatten((call.args, call.kwargs))
        self.places = [i for i, x in enumerate(self.leaves) if is_number(x)]

    @property
    def arrays(self) -> list[Any]:
        return [self.leaves[i] for i in self.places]

    def of(self, np_: Any, *arrays: Any) -> list[Any]:
        leaves = [
            np_.asarray(x) if isinstance(x, np.ndarray) else x for x in self.leaves
        ]
        for i, x in zip(self.places, arrays, strict=True):
            leaves[i] = x
        args, kwargs = jax.tree.unflatten(self.tree, leaves)
        f = np_
        for part in self.call.name.split("."):
            f = getattr(f, part)
        found: list[Any] = jax.tree.leaves(f(*args, **kwargs))
        return found

    def loss(self, np_: Any, *arrays: Any) -> Any:
        """A scalar in which every result has a weight."""
        outs = [y for y in self.of(np_, *arrays) if y.dtype.kind == "f"]
        parts = [np_.sum(np_.cos(y + F32(i))) for i, y in enumerate(outs)]
        return sum(parts[1:], parts[0])


def batch(arrays: list[Any]) -> list[Any]:
    return [np.stack([x, x * F32(1.01)]) for x in arrays]


def run(f: Function, np_: Any, place: Any, kind: str) -> Any:
    places = tuple(range(len(f.arrays)))
    arrays = [place(x) for x in f.arrays]
    if kind == "jit":
        return jax.jit(lambda *xs: f.of(np_, *xs))(*arrays)
    gradient = jax.grad(lambda *xs: jask.materialize(f.loss(np_, *xs)), places)
    if kind == "grad":
        return gradient(*arrays)
    if kind == "jit of grad":
        return jax.jit(gradient)(*arrays)
    return jax.vmap(lambda *xs: f.of(np_, *xs))(*map(place, batch(f.arrays)))


def params() -> list[Any]:
    found = []
    for i, name in enumerate(CALLS):
        for j, kind in enumerate(("jit", "grad", "vmap", "jit of grad")):
            marks = () if i % 12 == 3 * j else (pytest.mark.slow,)
            found.append(pytest.param(name, kind, marks=marks, id=f"{name}-{kind}"))
    return found


@pytest.mark.parametrize(("name", "kind"), params())
def test_a_function_is_transformed_as_in_jax_numpy(name: str, kind: str) -> None:
    f = Function(CALLS[name])
    want = run(f, jnp, jnp.asarray, kind)
    got = run(f, dnp, jask.from_numpy, kind)
    for g, w in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert (g.shape, g.dtype) == (w.shape, w.dtype)
        # sums over blocks, and inverses of small systems, in float32
        np.testing.assert_allclose(np.asarray(g), w, rtol=5e-4, atol=2e-5)
