"""What is refused says so, what is named instead works, and the page tells both."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
from tests.transformations import table
from tests.transformations.refusals import REFUSALS, Refusal

A = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)


@pytest.fixture(autouse=True)
def _default_promotion():
    with jax.numpy_dtype_promotion("standard"):
        yield


@pytest.mark.parametrize("row", REFUSALS, ids=[r.what for r in REFUSALS])
def test_what_is_refused_has_a_form_that_works(row: Refusal) -> None:
    with pytest.raises(row.error, match=row.message):
        row.refused(jask.from_numpy(A))
    got = np.asarray(row.works(jask.from_numpy(A)))
    # float32 gradients, summed in another order
    np.testing.assert_allclose(got, row.right(jnp.asarray(A)), rtol=1e-5)


def test_the_page_is_up_to_date() -> None:
    assert table.main(["--check"]) == 0, "run: python -m tests.transformations.table"
