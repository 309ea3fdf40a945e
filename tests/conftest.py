"""Profiles, options and fixtures that every test shares."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

if not Path("/dev/nvidiactl").exists():  # else JAX would look for accelerators
    os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")

settings.register_profile(
    "base",
    deadline=None,  # the first call of a shape compiles
    suppress_health_check=[HealthCheck.too_slow],
)
_base = settings.get_profile("base")
settings.register_profile("dev", _base, max_examples=25)
settings.register_profile(
    "ci", _base, max_examples=100, derandomize=True, print_blob=True, database=None
)
settings.register_profile("soak", _base, max_examples=2_000, stateful_step_count=100)
settings.register_profile("replay", _base, phases=[Phase.explicit, Phase.reuse])
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
)

_GATED = ("slow", "memory")


def pytest_addoption(parser: pytest.Parser) -> None:
    for name in _GATED:
        parser.addoption(f"--{name}", action="store_true", help=f"run {name} tests")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    for name in _GATED:
        if not config.getoption(f"--{name}"):
            skip = pytest.mark.skip(reason=f"needs --{name}")
            for item in items:
                if name in item.keywords:
                    item.add_marker(skip)
