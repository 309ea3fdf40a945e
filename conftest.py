"""What the examples in docstrings and in docs/ run under: a user's settings.

The tests turn 64-bit types and strict promotion on (tests/conftest.py); an example
shows what somebody sees who has only installed jask, in a folder of its own.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import jax
import pytest

from jask.config import current, set_memory_budget

collect_ignore = [] if find_spec("optax") else ["docs/training.md"]
"""Pages whose examples need a package that is not there."""

collect_ignore_glob = ["docs/examples/*.py"]
"""Scripts, which tests/docs runs each in a process of its own."""


@pytest.fixture(autouse=True)
def _as_a_user_sees_it(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    monkeypatch.chdir(tmp_path)
    budget = current().memory_budget
    with jax.enable_x64(new_val=False), jax.numpy_dtype_promotion("standard"):
        yield
    set_memory_budget(budget)
