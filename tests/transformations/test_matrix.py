"""Each transformation of a function of each kind of rule agrees with JAX in memory."""

from typing import Any

import jax
import numpy as np
import pytest

from tests.transformations.cases import TRANSFORMS, in_memory, on_disk
from tests.transformations.kinds import KINDS

EVERYWHERE = ("elementwise", "contract")
"""Kinds whose every transformation is tried in the short run."""

ALWAYS = ("jit", "grad of several arguments", "vmap of both", "jit of grad")
"""Transformations that are tried with every kind in the short run."""


def pairs() -> list[Any]:
    found: list[Any] = []
    for i, kind in enumerate(KINDS):
        for j, name in enumerate(TRANSFORMS):
            short = kind == EVERYWHERE[j % 2] or ALWAYS[i % 4] == name
            marks = () if short else (pytest.mark.slow,)
            found.append(pytest.param(kind, name, id=f"{kind}-{name}", marks=marks))
    return found


@pytest.mark.parametrize(("kind", "name"), pairs())
def test_a_transformation_agrees_with_jax(kind: str, name: str) -> None:
    got = TRANSFORMS[name](on_disk(kind))
    want = TRANSFORMS[name](in_memory(kind))
    leaves = jax.tree.leaves(got)
    for g, right in zip(leaves, jax.tree.leaves(want), strict=True):
        assert (g.shape, g.dtype) == (right.shape, right.dtype)
        w = np.asarray(right)
        scale = max(1.0, float(np.max(np.abs(w), initial=0)))
        # float32, and a chain of up to three derivatives
        np.testing.assert_allclose(np.asarray(g), w, rtol=2e-4, atol=2e-5 * scale)
