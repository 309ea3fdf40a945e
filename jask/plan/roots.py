"""Roots: what a pass must produce, and which passes come before it.

1. Every cut result and every output is a root (`cut`).
2. Its level is the number of passes that must come before.
3. A root that wants just the tiles of an earlier one follows it (`follow`): both are
   made at the same level.
4. A root that nobody waits for moves to a later level where a root reads the same file,
   so that the file is read once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf

from jask.plan.cut import Cuts, make_root
from jask.plan.follow import axes_of_follower
from jask.plan.ir import Place, Root
from jask.trace.ir import Program, Var


def all_roots(
    program: Program,
    cut: Cuts,
    wanted: Mapping[Var, Place],
    places: Mapping[Var, Place],
    followed: int | None = None,
) -> list[Root]:
    """Return everything that must be produced, with its level.

    `followed` is the size in bytes from which a result has followers; None: there are
    none.
    """
    used = {a for e in program.equations for a in e.inputs}
    found: list[Root] = []
    for eqn in program.equations:
        stored = [o for o in eqn.outputs if o in cut]
        if not stored:
            continue
        kind = cut[stored[0]]
        if kind == "map":
            needed = (o for o in stored if o.size and (o in used or o in wanted))
            found.extend(make_root("map", (o,), None, cut) for o in needed)
        elif kind == "stage":
            needed = (o for o in stored if o in used or o in wanted)
            found.append(make_root(kind, tuple(needed), eqn, cut))
        else:
            found.append(make_root(kind, eqn.outputs, eqn, cut))
    asked = (o for o in dict.fromkeys(program.outputs) if isinstance(o, Var) and o.size)
    found.extend(make_root("map", (o,), None, cut) for o in asked if o not in cut)
    found = _Levels(places, followed).assign(found)
    _postpone(found, places)
    return found


class _Levels:
    """Gives each root its level, or the root that it follows."""

    def __init__(self, places: Mapping[Var, Place], followed: int | None) -> None:
        self.places = places
        self.followed = inf if followed is None else followed
        self.made: dict[Var, int] = {}
        self.hosts: dict[Var, Root] = {}
        self.read: set[Var] = set()

    def assign(self, roots: Sequence[Root]) -> list[Root]:
        """Return the roots that follow no other; all are in program order."""
        return [root for root in roots if not self._follows(root)]

    def _follows(self, root: Root) -> bool:
        host = next((h for h in self._hosts(root) if self._ready(root, h)), None)
        root.level = host.level if host else self._after(root.leaves)
        if host:
            host.followers.append(root)
        for out in root.outputs:
            self.made.setdefault(out, root.level)
            if host is None and root.kind in {"reduce", "scan"}:
                self.hosts[out] = root
        self.read.update(root.leaves)
        return host is not None

    def _after(self, leaves: Iterable[Var]) -> int:
        return max((self.made[v] + 1 for v in leaves if v in self.made), default=0)

    def _hosts(self, root: Root) -> Iterator[Root]:
        """Yield the roots that this one can follow, those with large results first."""
        for leaf in sorted(root.leaves, key=lambda v: -v.nbytes):
            host = self.hosts.get(leaf)
            axes = None if host is None else axes_of_follower(root, host)
            if leaf.nbytes > self.followed and host and axes is not None:
                root.axes = axes
                yield host

    def _ready(self, root: Root, host: Root) -> bool:
        """Return whether all else is there when the host runs; it may wait for it."""
        others = [v for v in root.leaves if v not in host.outputs]
        level = self._after(others)
        if level > host.level and self._may_wait(host, others):
            host.level = level
            self.made.update(dict.fromkeys(host.outputs, level))
        return level <= host.level

    def _may_wait(self, host: Root, others: Iterable[Var]) -> bool:
        """Return whether a host can run later, and would share no reading by not."""
        files = _files(host, self.places)
        beside = (self.hosts[v] for v in others if v in self.hosts)
        shares = any(files & _files(other, self.places) for other in beside)
        return not shares and not self.read & set(host.outputs)


def _postpone(roots: Sequence[Root], places: Mapping[Var, Place]) -> None:
    last = max((r.level for r in roots), default=0)
    for root in reversed(roots):
        files = _files(root, places)
        outputs = set(root.made)
        waiting = [r.level for r in roots if r is not root and outputs & _read(r)]
        latest = min(waiting, default=last + 1) - 1
        near = {r.level for r in roots if r is not root and files & _files(r, places)}
        later = [n for n in near if root.level < n <= latest]
        if root.level not in near and later:
            root.level = min(later)


def _read(root: Root) -> set[Var]:
    return {v for r in (root, *root.followers) for v in r.leaves}


def _files(root: Root, places: Mapping[Var, Place]) -> set[Var]:
    return {v for v in root.leaves if places[v] == "disk"}
