"""Followers: roots made of another root's tiles, each as soon as it is finished.

`relu(a @ b) + c` after a product that ends a pass, `cumsum(x) * 2` or `max(cumsum(x))`
after a scan need not store the large result and read it again in a later pass.

1. A root can follow a host whose tiles are what its own are made of, one to one: each
   equation on the way from the host's result is elementwise, or a transposition.
2. Its axes are then axes of the host's result: it is laid on the host's tiles.
3. A result that only its own followers read is stored nowhere.

What asks for other boxes of the result (`diff`, a broadcast against more axes, a second
product) does not follow: the result is stored for it.
"""

from collections.abc import Iterable, Mapping, Sequence

from jask.plan.cost import is_product
from jask.plan.cut import Cuts, make_root
from jask.plan.ir import Place, Root
from jask.rules._table import RULES
from jask.rules.elementwise import Elementwise
from jask.trace.ir import Equation, Program, Var

type Axes = tuple[int, ...]


def can_follow(eqn: Equation, cut: Cuts, program: Program, least: int) -> bool:
    """Return whether a reduction can follow one of the results that are cut.

    Not where its result meets that one again (as in a softmax): in memory, beside the
    tile, both can be had from one reading. `least` is the size of a large result.
    """
    root = make_root("reduce", eqn.outputs, eqn, cut)
    for leaf in root.leaves:
        kind, ending = cut.get(leaf), leaf.producer
        if kind in {"reduce", "scan"} and ending and leaf.nbytes > least:
            host = make_root(kind, ending.outputs, ending, cut)
            if axes_of_follower(root, host) is not None:
                return not _meets(program, leaf, eqn.outputs)
    return False


def _meets(program: Program, source: Var, results: Sequence[Var]) -> bool:
    """Return whether what is made of the results is joined with the source again."""
    beside, after = {source}, set(results)
    for eqn in program.equations:
        operands = {a for a in eqn.inputs if isinstance(a, Var)}
        if operands & after:
            if operands & beside:
                return True
            after.update(eqn.outputs)
        elif operands & beside and not after & set(eqn.outputs):
            beside.update(eqn.outputs)
    return False


def axes_of_follower(root: Root, host: Root) -> Axes | None:
    """Return the axis of the host's result of each domain axis of a root.

    None if it cannot follow.
    """
    axes: dict[Var, Axes] = {o: tuple(range(o.ndim)) for o in host.outputs}
    for eqn in root.equations:
        found = [(a, axes[a]) for a in eqn.inputs if isinstance(a, Var) and a in axes]
        if found:
            moved = _moved(eqn, found)
            if moved is None:
                return None
            axes.update((o, moved) for o in eqn.outputs)
    if root.kind == "map":
        return axes.get(root.outputs[0])
    return _folded(root, host, axes) if root.kind == "reduce" else None


def _moved(eqn: Equation, operands: Sequence[tuple[Var, Axes]]) -> Axes | None:
    """Return the axes of an equation's results, given those of some operands."""
    first = operands[0][1]
    if eqn.name == "transpose":
        return tuple(first[p] for p in eqn.params["permutation"])
    same = isinstance(RULES.get(eqn.name), Elementwise) and all(
        a.shape == eqn.outputs[0].shape and axes == first for a, axes in operands
    )
    return first if same else None


def _folded(root: Root, host: Root, axes: Mapping[Var, Axes]) -> Axes | None:
    """Return the axes of a reduction's domain.

    Tiles of a fold that several workers share are finished in no fixed order: nothing
    that adds up may follow it.
    """
    assert root.eqn is not None
    ordered = host.kind == "scan" or is_product(host)
    if not ordered or root.rule.kind != "reduce":
        return None
    mine = [
        k for k, a in enumerate(root.eqn.inputs) if isinstance(a, Var) and a in axes
    ]
    sources = root.reduction.sources(root.eqn)
    if len(mine) != 1 or any(k != mine[0] for k, _ in sources):
        return None
    operand = root.eqn.inputs[mine[0]]
    assert isinstance(operand, Var)
    found = tuple(axes[operand][axis] for _, axis in sources)
    return found if len(found) == operand.ndim else None


def unstored(roots: Sequence[Root], wanted: Mapping[Var, Place]) -> Iterable[Var]:
    """Return the results that only followers of their own root read."""
    for root in roots:
        others = (r for r in roots if r is not root)
        read = {v for r in others for f in (r, *r.followers) for v in f.leaves}
        for out in root.outputs:
            followed = any(out in f.leaves for f in root.followers)
            if followed and out not in wanted and out not in read:
                yield out
