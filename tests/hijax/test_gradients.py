"""The gradient of a file knows its place, by whatever way it was made."""

import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
import jask.numpy as dnp
from jask.trace.counters import COUNTERS

F32 = np.float32
A = np.random.default_rng(0).normal(size=(6, 3)).astype(F32)
W = jnp.asarray([1.0, -2.0, 0.5], F32)


@pytest.fixture(params=["npy", "npy in Fortran order", "raw"])
def x(request, tmp_path):
    if request.param.startswith("npy"):
        fortran = "Fortran" in request.param
        np.save(tmp_path / "x", np.asfortranarray(A) if fortran else A)
        return jask.open(tmp_path / "x.npy")
    A.tofile(tmp_path / "x.raw")
    return jask.open(tmp_path / "x.raw", dtype=F32, shape=A.shape)


def once(x: Any, w: Any = W) -> Any:
    return jask.materialize(dnp.sum(dnp.sin(x) * w))


def twice(x: Any, w: Any = W) -> Any:
    return jask.materialize(dnp.sum(dnp.sin(x) * w) + dnp.sum(x * x))


def right(f: Any) -> Any:
    return np.cos(A) * np.asarray(W) + (0 if f is once else 2 * A)


WAYS: dict[str, Any] = {
    "grad": jax.grad,
    "jit of grad": lambda f: jax.jit(jax.grad(f)),
    "grad of jit": lambda f: jax.grad(jax.jit(f)),
    "jask.grad": jask.grad,
    "jit of jask.grad": lambda f: jax.jit(jask.grad(f)),
    "grad of checkpoint": lambda f: jax.grad(jax.checkpoint(f)),
    "jit of grad of checkpoint": lambda f: jax.jit(jax.grad(jax.checkpoint(f))),
    "linearize and transpose": lambda f: (
        lambda x: jax.linear_transpose(jax.linearize(f, x)[1], x)(jnp.ones((), F32))[0]
    ),
    "vjp": lambda f: lambda x: jax.vjp(f, x)[1](jnp.ones((), F32))[0],
}


@pytest.mark.parametrize("f", [once, twice])
@pytest.mark.parametrize("way", WAYS)
def test_a_gradient_belongs_beside_its_file(way, f, x):
    g = WAYS[way](f)(x)
    before = COUNTERS.evaluations
    assert g.filename == f"{x.filename}.grad"
    assert COUNTERS.evaluations == before
    g.persist()
    assert f"file='{x.filename}.grad'" in repr(g)
    with pathlib.Path(g.filename).open("rb") as file:
        saved = np.load(file)
    # float32 gradients, summed in another order
    np.testing.assert_allclose(saved, right(f), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(g), right(f), rtol=1e-5)


def test_a_new_gradient_leaves_those_who_hold_the_old_one_alone(x):
    first = jax.grad(once)(x).persist()
    second = jax.grad(twice)(x).persist()
    assert first.filename == second.filename
    # float32 gradients, summed in another order
    np.testing.assert_allclose(np.asarray(first), right(once), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(second), right(twice), rtol=1e-5)


def test_what_is_made_of_a_gradient_is_no_gradient(x):
    g = jax.grad(once)(x)
    assert (g * F32(2)).filename is None
    assert jax.grad(once)(x * F32(2)).filename is None
    assert jax.jit(lambda g: g + g)(g).filename is None


def test_gradients_of_several_files_do_not_mix(tmp_path):
    for name in "ab":
        np.save(tmp_path / name, A)
    a, b = (jask.open(tmp_path / f"{n}.npy") for n in "ab")
    f = jax.jit(jax.grad(lambda a, b: jask.materialize(dnp.sum(a * b)), (0, 1)))
    assert [g.filename for g in f(a, b)] == [f"{x.filename}.grad" for x in (a, b)]
    assert [g.filename for g in f(b, a)] == [f"{x.filename}.grad" for x in (b, a)]


def test_a_folder_that_cannot_be_written_gets_no_gradient(x, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    for way in ("grad", "jit of grad", "jask.grad"):
        g = WAYS[way](once)(x)
        assert g.filename is None
        # float32 gradients, summed in another order
        np.testing.assert_allclose(np.asarray(g.persist()), right(once), rtol=1e-5)
    folder = pathlib.Path(x.filename).parent
    assert not [p for p in folder.iterdir() if "grad" in p.name]


def test_an_array_in_scratch_has_no_place_for_a_gradient():
    x = (jask.from_numpy(np.ones((600, 600), F32)) * F32(2)).persist()
    assert x.filename is not None
    g = jask.grad(lambda x: dnp.sum(x * x))(x)
    assert not str(g.filename).endswith(".grad")
    np.testing.assert_array_equal(np.asarray(g[0, :2]), [4, 4])
