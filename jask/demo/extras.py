"""What the demo needs beyond jask's own dependencies: the extra `jask[demo]`."""

import importlib
from typing import Any

from jask.errors import JaskError


class MissingExtraError(JaskError, ImportError):
    """A package of the extra is not installed."""


def extra(name: str) -> Any:
    """Return a module of the extra."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        msg = f'{error}; the demo needs it: pip install "jask[demo]".'
        raise MissingExtraError(msg) from error


def progress_bar(total: int, label: str, unit: str) -> Any:
    """Return a bar, shown on a terminal."""
    return extra("tqdm").tqdm(total=total, desc=label, unit=unit, disable=None)
