"""Ctrl-C at a place that is chosen, not at a time.

Python handles a signal where a function begins and after a call of a built-in one: at
the events `call` and `c_return` of `sys.setprofile`.
"""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax

OURS = ("/jask/", threading.__file__)
"""Where an interrupt is tried: what it does within JAX is for JAX to say."""


def interrupted(work: Callable[[], object], place: int) -> bool:
    """Run `work`, interrupted at a place; return whether there is such a place.

    It raises, unless that is within a finalizer: there it is lost, as everywhere in
    Python.
    """
    left, lost = place, list[Any]()

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if event not in {"call", "c_return"} or not _is_ours(frame):
            return
        left -= 1
        if left < 0:
            sys.setprofile(None)
            raise KeyboardInterrupt

    hook, sys.unraisablehook = sys.unraisablehook, lost.append
    sys.setprofile(look)
    try:
        work()
    except (KeyboardInterrupt, jax.errors.JaxRuntimeError):
        return True
    finally:
        sys.setprofile(None)
        sys.unraisablehook = hook
    assert left >= 0 or lost, "the interrupt was lost"
    return left < 0


def _is_ours(frame: FrameType) -> bool:
    return any(part in frame.f_code.co_filename for part in OURS)
