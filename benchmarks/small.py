"""Time calls on a few elements beside jax.numpy: `python benchmarks/small.py`.

1. The two libraries take turns in one process, so that a busy machine slows both.
2. Building is the call alone; evaluating asks for the value as well, and jax.numpy's
   value is waited for. The figure is the median over rounds of the mean of a round.
"""

import statistics
import time
from collections.abc import Callable

import jax.numpy
import numpy as np

import jask
import jask.numpy

ROUNDS = 15
CALLS = 300
CALLS_OF = {
    "sin(x)": lambda names, x, _: names.sin(x),
    "add(x, 1.0)": lambda names, x, _: names.add(x, 1.0),
    "add(x, y)": lambda names, x, y: names.add(x, y),
    "where(x > y, x, y)": lambda names, x, y: names.where(x > y, x, y),
}


def main() -> None:
    values = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    theirs = [jax.numpy.asarray(values), jax.numpy.asarray(values.T.reshape(3, 4))]
    ours = [jask.from_numpy(np.asarray(x)) for x in theirs]
    head = "call", "jax.numpy", "built", "evaluated", "built", "evaluated"
    print("microseconds, and times jax.numpy, of calls on 12 elements\n")
    print("| {:20} | {:9} | {:6} | {:9} | {:6} | {:9} |".format(*head))
    print("|" + "|".join("-" * n for n in (22, 11, 8, 11, 8, 11)) + "|")
    for name, call in CALLS_OF.items():
        times = in_turns(
            lambda call=call: call(jax.numpy, *theirs).block_until_ready(),
            lambda call=call: call(jask.numpy, *ours),
            lambda call=call: jask.materialize(call(jask.numpy, *ours)),
        )
        base, built, whole = (1e6 * t for t in times)
        print(
            f"| {name:20} | {base:9.1f} | {built:6.1f} | {whole:9.1f} "
            f"| {built / base:6.1f} | {whole / base:9.1f} |"
        )


def in_turns(*calls: Callable[[], object]) -> list[float]:
    """Return the seconds of each call, the median of rounds in which all take turns."""
    found: list[list[float]] = [[] for _ in calls]
    for call in calls:
        mean(call)  # compiles
    for _ in range(ROUNDS):
        for call, times in zip(calls, found, strict=True):
            times.append(mean(call))
    return list(map(statistics.median, found))


def mean(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS


if __name__ == "__main__":
    main()
