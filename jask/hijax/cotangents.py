"""When does the cotangent of an array in memory leave the disk? All of them together.

1. A backward pass adds cotangents to accumulators, and asks for a sum when it needs
   one: for an argument at the very end.
2. What comes from a disk array is noted with its accumulator, lazily, and summed so.
3. When the first sum is asked for, all that wait on this thread, in this trace, are
   materialized at once: the gradients of all parameters read the sources once.

Arrays in memory that the function computed from its arguments are asked for earlier.
"""

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from jask._jax import LateSum, current_trace, late_sum
from jask.hijax.type import call_hook

__all__ = ["add_later"]

type Bring = Callable[[Sequence[Any]], Sequence[Any]]
"""Materializes disk arrays together."""


class _Waiting(threading.local):
    """The accumulators of this thread whose sums were not asked for yet."""

    def __init__(self) -> None:
        self.sums: list[weakref.ref[LateSum]] = []


_waiting = _Waiting()


def add_later(accumulator: Any, cotangent: Any, bring: Bring) -> bool:
    """Add a disk array to a sum in memory when that is asked for.

    Returns whether the accumulator is of the kind that can wait.
    """
    late = late_sum(accumulator, lambda late: _settle(late, bring))
    if late is None:
        return False
    if late.part is None:
        late.part, late.trace = cotangent, current_trace()
        _waiting.sums.append(weakref.ref(late))
    else:
        late.part = call_hook("add", late.part, cotangent)
    return True


def _settle(asked: LateSum, bring: Bring) -> None:
    """Bring all that waits to memory, at least what is asked for."""
    alive = [s for r in _waiting.sums if (s := r()) is not None and s.part is not None]
    late = [s for s in alive if s.trace is asked.trace]
    _waiting.sums = [weakref.ref(s) for s in alive if s.trace is not asked.trace]
    if not any(s is asked for s in late):  # it comes from another thread
        late = [asked]
    try:
        values = bring([s.part for s in late])
    except Exception:  # some may be left behind by a pass that failed
        if len(late) == 1:
            raise
        late, values = [asked], bring([asked.part])
    for waited, value in zip(late, values, strict=True):
        waited.part = None
        waited.accum(value)
