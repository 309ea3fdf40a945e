"""Ctrl-C at a place that is chosen, not at a time.

Python handles a signal where a function begins and after a call of a built-in one: at
the events `call` and `c_return` of `sys.setprofile`.
"""

import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax

OURS = ("/jask/", threading.__file__)
"""Where an interrupt is tried: what it does within JAX is for JAX to say."""

FINALIZERS = ("__del__", "_bury")
"""Functions that Python calls when an object goes; others are called by `weakref`."""


def interrupted(work: Callable[[], object], place: int) -> bool:
    """Run `work`, interrupted at a place; return whether there is such a place.

    If that is within a finalizer, where it would be lost as everywhere in Python, it
    comes at the next place that is not.
    """
    left, raised, lost = place, False, list[Any]()

    def look(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left, raised
        if event not in {"call", "c_return"} or not _is_ours(frame):
            return
        left -= 1
        if left < 0 and not _in_finalizer(frame):
            sys.setprofile(None)
            raised = True
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
    assert lost or not raised, "the interrupt was lost"
    return raised


def _is_ours(frame: FrameType) -> bool:
    return any(part in frame.f_code.co_filename for part in OURS)


def _in_finalizer(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_filename == weakref.__file__ or code.co_name in FINALIZERS:
            return True
        frame = frame.f_back
    return False
