"""Helpers for testing jask and what is built on it."""

import pytest

pytest.register_assert_rewrite("jask.testing.stores")

from jask.testing.stores import (  # noqa: E402 - after the line above
    CountingStore,
    FailingStore,
    SlowStore,
    StoreMachine,
    StoreTests,
    WrappedStore,
)

__all__ = [
    "CountingStore",
    "FailingStore",
    "SlowStore",
    "StoreMachine",
    "StoreTests",
    "WrappedStore",
]


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})
