"""A plan in words: what `jask.explain` prints."""

from jask.plan.ir import Pass, Plan, Root
from jask.trace.ir import Program, Var

_UNITS = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def size(nbytes: int) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> size(1_500_000), size(12)
    ('1.5 MB', '12 B')
    """
    for unit, name in _UNITS:
        if nbytes >= 0.9995 * unit:  # what rounds to 1000 kB is 1 MB
            digits = f"{nbytes / unit:.3g}"
            return f"{round(nbytes / unit) if 'e' in digits else digits} {name}"
    return f"{nbytes} B"


def describe(plan: Plan, program: Program) -> str:
    """Return the passes of a plan, what they read and write, and why."""
    disk = [v for v in program.leaves if plan.places.get(v) == "disk"]
    used = {v for p in plan.passes for v in p.leaves}
    least = sum(v.nbytes for v in disk if v in used)
    outputs = {
        v for v in program.outputs if isinstance(v, Var) and plan.places[v] == "disk"
    }
    least_written = sum(v.nbytes for v in outputs)
    reads = sum(p.reads for p in plan.passes)
    writes = sum(p.writes for p in plan.passes)
    head = (
        f"{len(plan.passes)} {'pass' if len(plan.passes) == 1 else 'passes'}: "
        f"reads {size(reads)} (least possible {size(least)}), "
        f"writes {size(writes)} (least possible {size(least_written)}), "
        f"projected peak {size(plan.projected)} "
        f"of a budget of {size(plan.limits.memory)}, "
        f"scratch {size(_scratch(plan, outputs))}"
    )
    lines = [head]
    for number, p in enumerate(plan.passes, start=1):
        lines += _pass_lines(number, p, plan)
    if plan.decisions:
        lines.append("decisions:")
        lines += [f"  {d}" for d in plan.decisions]
    return "\n".join(lines)


def _scratch(plan: Plan, outputs: set[Var]) -> int:
    made = {v for p in plan.passes for v in p.made}
    return sum(v.nbytes for v in made - outputs if plan.places[v] == "disk")


def _pass_lines(number: int, p: Pass, plan: Plan) -> list[str]:
    over = p.memory > plan.limits.memory - plan.kept
    steps = f"{p.steps} {'step' if p.steps == 1 else 'steps'}"
    head = (
        f"pass {number}: {steps} of tile {_shape(p.tile)} over {_shape(p.grid)}, "
        f"{p.workers} {'worker' if p.workers == 1 else 'workers'}, "
        f"{size(p.memory)} in flight{' <-- over the budget' if over else ''}"
    )
    lines = [head]
    lines += [f"  reads  {_value(v, plan)}" for v in p.leaves]
    for root in p.roots:
        lines += [f"  {_verb(root)} {_value(v, plan)}" for v in root.outputs]
        for after in root.followers:
            lines += [
                f"    then {_verb(after)} {_value(v, plan)}" for v in after.outputs
            ]
    return lines


def _verb(root: Root) -> str:
    verbs = {"map": "maps  ", "reduce": "folds ", "scan": "scans ", "opaque": "whole "}
    name = root.eqn.name if root.eqn else root.producer_name
    return f"{verbs.get(root.kind, 'stages')} {name}:"


def _value(v: Var, plan: Plan) -> str:
    shape = ",".join(map(str, v.shape))
    return f"{v.dtype.name}[{shape}] {plan.places[v]} {size(v.nbytes)}"


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "one"
