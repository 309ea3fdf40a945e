"""Counters of what evaluation costs besides moving data, for tests and `explain`."""

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Counters:
    """How often each expensive stage ran in this process.

    Examples
    --------
    >>> Counters(traces=3).snapshot()["traces"]
    3
    """

    traces: int = 0
    """Operations traced to a jaxpr."""

    plans: int = 0
    """Programs planned."""

    compiles: int = 0
    """Kernels compiled."""

    evaluations: int = 0
    """Programs executed."""

    opaque_steps: int = 0
    """Steps that computed a whole array in memory for want of a rule."""

    def snapshot(self) -> dict[str, int]:
        """Return the present counts by name."""
        return asdict(self)


COUNTERS = Counters()
"""The counts of this process."""
