"""The rules that every plan keeps, as code: run in tests and when debugging.

1. Every result that is stored is written exactly once, box by box.
2. What a pass reads was written by an earlier one, or is a leaf.
3. What is loaded lies inside its value and is never empty.
4. The projected memory is within the budget, and no step loads more than that.
"""

from collections.abc import Sequence
from itertools import product

from jask.geometry.box import Box
from jask.plan.axes import pass_after
from jask.plan.ir import Pass, Plan
from jask.plan.lower import lower, spans_of
from jask.trace.ir import Program, Var


class PlanError(AssertionError):
    """A plan breaks its rules: a fault of jask."""


def check(plan: Plan, program: Program) -> None:
    """Raise PlanError where a plan breaks its rules."""
    written: set[Var] = set(program.leaves) | set(program.constants)
    for number, p in enumerate(plan.passes, start=1):
        late = [v for v in p.leaves if v not in written]
        _require(not late, f"pass {number} reads {late} before it is written")
        _check_pass(number, p)
        _check_loads(number, p)
        written |= {v for v in p.made if plan.places[v] != "block"}
    lost = [
        v for v in program.outputs if isinstance(v, Var) and v.size and v not in written
    ]
    _require(not lost, f"outputs {lost} are never written")
    _require(
        plan.projected <= plan.limits.memory,
        f"{plan.projected} bytes are over the budget of {plan.limits.memory}",
    )


def _check_pass(number: int, p: Pass) -> None:
    covered = [0] * len(p.roots)
    for index in product(*(range(n) for n in p.counts)):
        lowered = lower(p, index)
        for load in lowered.loads:
            inside = all(
                0 <= a < b <= n
                for (a, b), n in zip(load.box.intervals, load.leaf.shape, strict=True)
            )
            _require(inside, f"pass {number} loads {load.box} of {load.leaf.shape}")
        for k, domain in enumerate(lowered.domains):
            covered[k] += domain.size if domain is not None else 0
    for root, size in zip(p.roots, covered, strict=True):
        whole = 1
        for n in root.domain:
            whole *= n
        _require(
            size == whole, f"pass {number} covers {size} of {whole} of {root.label}"
        )
        if root.followers:
            after = pass_after(p, root)
            _require(
                after.counts == tuple(p.counts[root.axes[d]] for d in root.kept),
                f"pass {number} does not finish {root.label} tile by tile",
            )
            _check_follows(number, root.outputs, after)
            _check_pass(number, after)


def _check_loads(number: int, p: Pass) -> None:
    if p.is_stage:  # it reads parts as it likes
        return
    for index in product(*(range(n) for n in p.counts)):
        loads = lower(p, index).loads
        nbytes = sum(x.box.size * x.leaf.dtype.itemsize for x in loads)
        _require(
            nbytes <= p.memory,
            f"pass {number} loads {nbytes} bytes at {index}, over {p.memory} projected",
        )


def _check_follows(number: int, handed: Sequence[Var], after: Pass) -> None:
    for index in product(*(range(n) for n in after.counts)):
        tile = Box.of(spans_of(after, index))
        for load in lower(after, index).loads:
            _require(
                load.leaf not in handed or load.box == tile,
                f"pass {number} hands on {tile}, its followers want {load.box}",
            )


def _require(holds: bool, message: str) -> None:  # noqa: FBT001 (reads as an assertion)
    if not holds:
        raise PlanError(message)
