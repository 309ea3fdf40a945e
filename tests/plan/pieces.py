"""The stages of a plan one by one, for programs made without any file."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jask.plan.axes import Links, make_pass
from jask.plan.decide import Decider
from jask.plan.ir import Limits, Pass, Place, Root
from jask.plan.roots import all_roots
from jask.trace.build import build, structure
from jask.trace.graph import Source
from jask.trace.ir import Equation, Program, Var
from jask.trace.rewrite import rewrite
from tests.plan.programs import call

LIMITS = Limits(memory=1 << 20, block=1 << 14, forced=True)


class Pieces(NamedTuple):
    """A program, where its values are, and which of their axes run together."""

    program: Program
    places: dict[Var, Place]
    links: Links

    def only(self, name: str) -> Equation:
        """Return the one equation of this name."""
        (found,) = (e for e in self.program.equations if e.name == name)
        return found

    def decide(self, limits: Limits = LIMITS, *, cautious: bool = False) -> Decider:
        """Decide which results are stored."""
        return Decider(self.program, self.places, limits, self.links, cautious=cautious)

    def roots(self, limits: Limits = LIMITS, *, cautious: bool = False) -> list[Root]:
        """Return what must be produced."""
        cut = self.decide(limits, cautious=cautious).cut
        outputs = (v for v in self.program.outputs if isinstance(v, Var))
        wanted = {v: self.places[v] for v in outputs}
        return all_roots(self.program, cut, wanted, self.places)

    def tiled(self, tile: tuple[int, ...] | dict[int, int]) -> Pass:
        """Return the pass over all roots, with tiles of this shape.

        The shape is that of the grid, or says how long a tile is along an axis of each
        length, where the order of the grid does not matter.
        """
        p = make_pass(self.roots(), self.links)
        p.tile = tuple(tile[n] for n in p.grid) if isinstance(tile, dict) else tile
        p.order = tuple(range(len(p.grid)))
        return p


def pieces(
    fn: Callable[..., Any], *operands: Source, limits: Limits = LIMITS
) -> Pieces:
    """Trace a function of files; results that are small stay in memory."""
    nodes = call(fn, *operands)
    program = rewrite(build(nodes, structure(nodes)))
    places: dict[Var, Place] = dict.fromkeys(program.leaves, "disk")
    places.update((v, "memory") for v in program.constants)
    for eqn in program.equations:
        for out in eqn.outputs:
            places[out] = "disk" if out.nbytes > limits.small else "memory"
    return Pieces(program, places, Links(program))
