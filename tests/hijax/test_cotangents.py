"""Sums of cotangents that wait for the disk, and are brought together."""

import threading
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jask
from jask._jax import LateSum
from jask.hijax.cotangents import add_later

F32 = np.float32


def accumulator() -> Any:
    """Return a sum of three elements as JAX makes it, nothing added yet."""
    (ordinary,) = LateSum.__bases__
    return ordinary(jax.typeof(jnp.zeros(3, F32)))


def disk(*values: float) -> Any:
    return jask.from_numpy(np.asarray(values, F32))


class Bring:
    """Materializes arrays, and notes how many at once."""

    def __init__(self, *, at_most: int = 9) -> None:
        self.at_most, self.counts = at_most, list[int]()

    def __call__(self, parts: Sequence[Any]) -> list[Any]:
        self.counts.append(len(parts))
        if len(parts) > self.at_most:
            raise ValueError(len(parts))
        return [np.asarray(p) for p in parts]


def waiting(bring: Bring, *values: float) -> Any:
    late = accumulator()
    assert add_later(late, disk(*values), bring)
    return late


def equal(late: Any, *values: float) -> bool:
    return bool(np.array_equal(late.freeze(), values))


def test_the_first_sum_that_is_asked_for_brings_all_that_wait():
    bring = Bring()
    first, second = waiting(bring, 1, 2, 3), waiting(bring, 4, 5, 6)
    assert bring.counts == []
    assert equal(second, 4, 5, 6)
    assert equal(first, 1, 2, 3)
    assert bring.counts == [2]


def test_what_comes_later_is_brought_when_it_is_asked_for():
    bring = Bring()
    assert equal(waiting(bring, 1, 2, 3), 1, 2, 3)
    assert equal(waiting(bring, 4, 5, 6), 4, 5, 6)
    assert bring.counts == [1, 1]


def test_parts_of_one_sum_are_added_on_disk_and_to_what_is_in_memory():
    bring = Bring()
    late = accumulator()
    late.accum(jnp.asarray([100, 100, 100], F32))
    assert add_later(late, disk(1, 2, 3), bring)
    assert add_later(late, disk(10, 20, 30), bring)
    assert equal(late, 111, 122, 133)
    assert bring.counts == [1]


def test_a_sum_that_nobody_has_any_more_is_not_brought():
    bring = Bring()
    kept, dropped = waiting(bring, 1, 2, 3), waiting(bring, 4, 5, 6)
    del dropped
    assert equal(kept, 1, 2, 3)
    assert bring.counts == [1]


def test_what_is_asked_for_is_brought_alone_if_all_together_fail():
    bring = Bring(at_most=1)
    first, second = waiting(bring, 1, 2, 3), waiting(bring, 4, 5, 6)
    assert equal(second, 4, 5, 6)
    assert equal(first, 1, 2, 3)
    assert bring.counts == [2, 1, 1]


def test_an_error_of_what_is_asked_for_is_raised():
    with pytest.raises(ValueError, match="1"):
        waiting(Bring(at_most=0), 1, 2, 3).freeze()


def test_another_thread_gets_what_it_asks_for_and_nothing_else():
    bring, found = Bring(), list[bool]()
    first, second = waiting(bring, 1, 2, 3), waiting(bring, 4, 5, 6)
    thread = threading.Thread(target=lambda: found.append(equal(first, 1, 2, 3)))
    thread.start()
    thread.join()
    assert found == [True]
    assert equal(second, 4, 5, 6)
    assert bring.counts == [1, 1]


def test_a_trace_does_not_bring_what_waits_outside():
    bring = Bring()
    outside = waiting(bring, 1, 2, 3)
    jax.make_jaxpr(lambda: equal(waiting(bring, 7, 8, 9), 7, 8, 9))()
    assert bring.counts == [1]
    assert equal(outside, 1, 2, 3)
    assert bring.counts == [1, 1]


def test_accumulators_of_another_kind_cannot_wait():
    assert not add_later(object(), disk(1, 2, 3), Bring())
