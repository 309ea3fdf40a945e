"""Every public function of array-api-extra, on files within and over the budget."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import jask
import jask.numpy as jnp
from jask import DiskArray

xpx = pytest.importorskip("array_api_extra")

LENGTH = 120_000
VECTOR = (np.arange(LENGTH) * 7919 % LENGTH).astype("float32") / 1000 - 20
MATRIX = VECTOR.reshape(-1, 4)
SMALL = np.asarray([3, 0, 1, 1], np.int32)
BUDGET = "150KB"
"""Less than a third of the files."""


@dataclass(frozen=True)
class Case:
    """How a function is called, and what NumPy gives."""

    call: Callable[..., Any]
    """Of the namespace and the files: the vector, the matrix, the small one."""

    expected: Callable[..., Any]
    """What it gives of arrays in memory."""

    streams: bool = True
    """Whether files may be larger than the memory budget."""


def nan_at(x: Any, xp: Any) -> Any:
    return xp.where(x > 15, xp.nan, x)


CASES: dict[str, Case] = {
    "angle": Case(
        lambda xp, v, m, s: xpx.angle(v + 1j), lambda v, m, s: np.angle(v + 1j)
    ),
    "apply_where": Case(
        lambda xp, v, m, s: xpx.apply_where(v > 0, v, xp.log, xp.negative),
        lambda v, m, s: np.where(v > 0, np.log(np.where(v > 0, v, 1)), -v),
    ),
    "apply_where, fill_value": Case(
        lambda xp, v, m, s: xpx.apply_where(
            m > 0, (m, m + 1), xp.multiply, fill_value=-1.0
        ),
        lambda v, m, s: np.where(m > 0, m * (m + 1), -1),
    ),
    "argpartition": Case(
        lambda xp, v, m, s: xp.take_along_axis(v, xpx.argpartition(v, 2))[2],
        lambda v, m, s: np.partition(v, 2)[2],
    ),
    "at": Case(
        lambda xp, v, m, s: xpx.at(m)[:, 1].add(m[:, 0], copy=True),
        lambda v, m, s: m + m[:, :1] * np.eye(4, dtype="f4")[1],
    ),
    "at a mask": Case(
        lambda xp, v, m, s: xpx.at(v, v > 0).multiply(2, copy=True),
        lambda v, m, s: np.where(v > 0, v * 2, v),
    ),
    "atleast_nd": Case(
        lambda xp, v, m, s: xpx.atleast_nd(v, ndim=3),
        lambda v, m, s: v[None, None],
    ),
    "broadcast_shapes": Case(
        lambda xp, v, m, s: xp.zeros(xpx.broadcast_shapes(m.shape, s.shape)),
        lambda v, m, s: np.zeros_like(m),
    ),
    "cov": Case(lambda xp, v, m, s: xpx.cov(m.T), lambda v, m, s: np.cov(m.T)),
    "create_diagonal": Case(
        lambda xp, v, m, s: xpx.create_diagonal(s, offset=-1),
        lambda v, m, s: np.diag(s, -1),
    ),
    "default_dtype": Case(
        lambda xp, v, m, s: xp.ones(2, dtype=xpx.default_dtype(xp)),
        lambda v, m, s: np.ones(2, jnp.zeros(0).dtype),
    ),
    "deg2rad": Case(lambda xp, v, m, s: xpx.deg2rad(m), lambda v, m, s: np.deg2rad(m)),
    "diag_indices": Case(
        lambda xp, v, m, s: xpx.diag_indices(3, xp=xp)[1],
        lambda v, m, s: np.diag_indices(3)[1],
    ),
    "expand_dims": Case(
        lambda xp, v, m, s: xpx.expand_dims(m, axis=(0, 2)),
        lambda v, m, s: np.expand_dims(m, (0, 2)),
    ),
    "isclose": Case(
        lambda xp, v, m, s: xpx.isclose(nan_at(m, xp), m * 1.00001, equal_nan=True),
        lambda v, m, s: np.isclose(nan_at(m, np), m * np.float32(1.00001)),
    ),
    "isin": Case(lambda xp, v, m, s: xpx.isin(m, s), lambda v, m, s: np.isin(m, s)),
    "kron": Case(lambda xp, v, m, s: xpx.kron(m, s), lambda v, m, s: np.kron(m, s)),
    "lazy_apply": Case(
        lambda xp, v, m, s: xpx.lazy_apply(lambda x: x + 1, s),
        lambda v, m, s: s + 1,
        streams=False,
    ),
    "nan_to_num": Case(
        lambda xp, v, m, s: xpx.nan_to_num(nan_at(m, xp), fill_value=5.0),
        lambda v, m, s: np.nan_to_num(nan_at(m, np), nan=5.0),
    ),
    "nanmax": Case(
        lambda xp, v, m, s: xpx.nanmax(nan_at(m, xp), axis=0),
        lambda v, m, s: np.nanmax(nan_at(m, np), axis=0),
    ),
    "nanmean": Case(
        lambda xp, v, m, s: xpx.nanmean(nan_at(m, xp), axis=0),
        lambda v, m, s: np.nanmean(nan_at(m, np), axis=0),
    ),
    "nanmin": Case(
        lambda xp, v, m, s: xpx.nanmin(nan_at(v, xp)),
        lambda v, m, s: np.nanmin(nan_at(v, np)),
    ),
    "nansum": Case(
        lambda xp, v, m, s: xpx.nansum(nan_at(m, xp), axis=1),
        lambda v, m, s: np.nansum(nan_at(m, np), axis=1),
    ),
    "nunique": Case(
        lambda xp, v, m, s: xpx.nunique(xp.round(v)),
        lambda v, m, s: np.unique(np.round(v)).size,
    ),
    "one_hot": Case(
        lambda xp, v, m, s: xpx.one_hot(s, 4), lambda v, m, s: np.eye(4)[s]
    ),
    "pad": Case(
        lambda xp, v, m, s: xpx.pad(m, ((1, 0), (2, 3)), constant_values=9),
        lambda v, m, s: np.pad(m, ((1, 0), (2, 3)), constant_values=9),
    ),
    "partition": Case(
        lambda xp, v, m, s: xpx.partition(v, 2)[2],
        lambda v, m, s: np.partition(v, 2)[2],
    ),
    "rad2deg": Case(lambda xp, v, m, s: xpx.rad2deg(m), lambda v, m, s: np.rad2deg(m)),
    "searchsorted": Case(
        lambda xp, v, m, s: xpx.searchsorted(xp.arange(-20.0, 40.0), v, side="right"),
        lambda v, m, s: np.searchsorted(np.arange(-20.0, 40.0), v, side="right"),
    ),
    "setdiff1d": Case(
        lambda xp, v, m, s: xpx.setdiff1d(v, v[:1000]),
        lambda v, m, s: np.setdiff1d(v, v[:1000]),
    ),
    "sinc": Case(lambda xp, v, m, s: xpx.sinc(m), lambda v, m, s: np.sinc(m)),
    "tril_indices": Case(
        lambda xp, v, m, s: xpx.tril_indices(4, m=3, xp=xp)[0],
        lambda v, m, s: np.tril_indices(4, m=3)[0],
    ),
    "triu_indices": Case(
        lambda xp, v, m, s: xpx.triu_indices(4, offset=1, xp=xp)[1],
        lambda v, m, s: np.triu_indices(4, k=1)[1],
    ),
    "union1d": Case(
        lambda xp, v, m, s: xpx.union1d(xp.round(v), s),
        lambda v, m, s: np.union1d(np.round(v), s),
    ),
    "unravel_index": Case(
        lambda xp, v, m, s: xpx.unravel_index(s, (2, 2))[0],
        lambda v, m, s: np.unravel_index(s, (2, 2))[0],
    ),
}


def test_every_function_has_a_case():
    names = {name.partition(",")[0].partition(" ")[0] for name in CASES}
    assert names == {n for n in xpx.__all__ if callable(getattr(xpx, n))}


@pytest.fixture
def files(tmp_path: Path) -> tuple[DiskArray, ...]:
    for name, x in (("v", VECTOR), ("m", MATRIX), ("s", SMALL)):
        np.save(tmp_path / f"{name}.npy", x)
    return tuple(jask.open(tmp_path / f"{name}.npy") for name in "vms")


@pytest.mark.filterwarnings("ignore:`xpx:DeprecationWarning")  # now in the standard
@pytest.mark.parametrize("name", CASES)
def test_a_function_gives_what_numpy_gives(name: str, files: Any, tmp_path: Path):
    case = CASES[name]
    expected = np.asarray(case.expected(VECTOR, MATRIX, SMALL))
    limit: dict[str, Any] = {"memory_budget": BUDGET} if case.streams else {}
    with jask.config(**limit, durable=False):
        found = case.call(jnp, *files)
        assert isinstance(found, (DiskArray, jax.Array))
        jask.save(tmp_path / "out.npy", found)
    values = np.load(tmp_path / "out.npy")
    assert values.shape == expected.shape
    np.testing.assert_allclose(values, expected, rtol=3e-5, atol=1e-5)
