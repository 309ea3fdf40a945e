"""Handles: the int32 numbers that stand for nodes while a jitted function runs.

1. A handle is (slot, generation): 20 and 11 bits. A slot is used again only after many
   others, with the next generation, so a handle that outlived its node is recognised.
2. An argument of a call is *lent*: it gets a fresh handle in a buffer of its own, which
   XLA reads in place. XLA keeps the buffer exactly as long as a call that could read it
   is in flight; when it lets go, the node may be released.
3. A constant of a program is *pinned*: its callback holds the handle, so it lives as
   long as the compiled program.
4. A node *built* by a callback lives as long as a lent handle it was made from: that is
   an argument of the same call. Without one it is an *orphan*, released when nothing
   has touched it for `GRACE` seconds in which no callback ran.
5. A handle that a call returns is *owed* until its value is known; nothing that died
   after it was returned is released before.
6. What `lax.scan` walks or stacks has a vector of handles, one for each row.

See docs/decisions/0002-handle-lifetime.md for what was rejected and why.
"""

import gc
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

import numpy as np

from jask._jax import in_place
from jask.trace.graph import Node

__all__ = ["TABLE", "Owed", "Table"]

SLOT_BITS = 20
GENERATION_BITS = 11
REST = 1024
"""A slot is used again only when as many others are free."""
GRACE = 600.0
"""Seconds without a callback after which an untouched orphan is released."""
ALIGNMENT = 64
"""Bytes; XLA on CPU reads a buffer in place if it is aligned so."""


class Owed:
    """A handle that a call in flight returns: a promise of a node."""

    __slots__ = ("__weakref__", "_node", "_read", "value")

    def __init__(self, value: Any, read: Callable[[Any], Node]) -> None:
        self.value = value
        self._read = read
        self._node: Node | None = None

    @property
    def settled(self) -> bool:
        """Whether the node is known."""
        return self._node is not None

    def ready(self) -> bool:
        """Return whether the call has ended."""
        return self.settled or bool(self.value.is_ready())

    def node(self) -> Node:
        """Return the node; waits for the call that returns it."""
        if self._node is None:
            self._node = self._read(self.value)
            self.value = None
        return self._node


class _Watch(weakref.ref[Any]):
    """A weak reference to the buffer of a handle."""

    __slots__ = ("handle",)

    handle: int


class Pin:
    """Keeps a handle alive; held by the callback of a program."""

    __slots__ = ("__weakref__", "handle")

    def __init__(self, handle: int) -> None:
        self.handle = np.int32(handle)


type Kind = Literal["lent", "pinned", "orphan", "child"]


@dataclass(slots=True)
class _Entry:
    node: Node
    kind: Kind
    """On what its life depends: XLA's buffer, a pin, time, or its root."""
    root: int
    """The handle whose end is its end; itself, unless it is a child."""
    touched: float = 0.0
    children: list[int] = field(default_factory=list)
    attached: list[Any] = field(default_factory=list)
    """Objects that live as long as the entry."""


class Table:
    """The live nodes of this process. Safe to call from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: dict[int, _Entry] = {}
        self._watches: dict[int, _Watch] = {}
        self._generations: list[int] = []
        self._free: deque[int] = deque()
        self._dead: deque[_Watch] = deque()  # appended to by the garbage collector
        self._resting: deque[tuple[int, int]] = deque()
        self._owed: deque[tuple[int, weakref.ref[Owed]]] = deque()
        self._clock = 0
        self._orphans: dict[int, None] = {}
        self._running = 0
        self._idle_since = time.monotonic()
        self._swept = 0.0

    def __len__(self) -> int:
        """Return the number of live nodes."""
        with self._lock:
            return len(self._entries)

    # ---- from Python

    def lend(self, node: Node, rows: Sequence[Node] | None = None) -> Any:
        """Return a handle for one call, as a jax.Array that must be its argument.

        With the rows of the node: one handle for each.
        """
        buffer, numbers = _aligned_int32(() if rows is None else (len(rows),))
        with self._lock, self._made(node, "lent") as handle:
            numbers[...] = handle if rows is None else self._children(handle, rows)
            value = in_place(numbers)
            exact = value.unsafe_buffer_pointer() == numbers.ctypes.data
            self._entries[handle].kind = "lent" if exact else "pinned"
            self._watch(handle, buffer if exact else value)
        return value

    def pin(self, node: Node) -> Pin:
        """Return a handle that lives as long as the returned object."""
        with self._lock, self._made(node, "pinned") as handle:
            pin = Pin(handle)
            self._watch(handle, pin)
        return pin

    def parts(self, pin: Pin, nodes: Sequence[Node]) -> Any:
        """Return handles for nodes that live as long as what is pinned."""
        with self._lock:
            return np.asarray(self._children(int(pin.handle), nodes), np.int32)

    @contextmanager
    def _made(self, node: Node, kind: Kind) -> Iterator[int]:
        """Yield a new handle; what cuts the block short, Ctrl-C too, ends its life."""
        self.collect()
        handle = self._new(node, kind)
        try:
            yield handle
        except BaseException:
            self._watches.pop(handle, None)
            self._release(handle)
            raise

    def _watch(self, handle: int, owner: Any) -> None:
        watch = _Watch(owner, self._dead.append)  # not Python's: Ctrl-C cannot enter
        watch.handle = handle
        self._watches[handle] = watch

    def owe(self, value: Any, read: Callable[[Any], Node]) -> Owed:
        """Return the promise for a handle that a call returned, and how to read it."""
        owed = Owed(value, read)
        if owed.ready():
            owed.node()
            return owed
        with self._lock:
            self._clock += 1
            self._owed.append((self._clock, weakref.ref(owed)))
        return owed

    # ---- from callbacks

    @contextmanager
    def running(self) -> Iterator[None]:
        """Tell that a callback runs, so that orphans do not age."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                self._idle_since = time.monotonic()

    def node(self, handle: int) -> Node:
        """Return the node that a handle names."""
        with self._lock:
            entry = self._entries.get(handle)
            if entry is None:
                msg = f"the disk array with handle {handle} is not alive any more"
                raise RuntimeError(msg)
            self._entries[entry.root].touched = time.monotonic()
            return entry.node

    def build(
        self, node: Node, parents: Sequence[int], rows: Sequence[Node] | None = None
    ) -> Any:
        """Return a handle for a node that a callback made from these handles.

        With the rows of the node: one handle for each.
        """
        with self._lock:
            self.collect()
            root = self._root(parents)
            handle = self._new(node, "orphan" if root is None else "child", root)
            if root is None:
                self._orphans[handle] = None
                self._entries[handle].touched = time.monotonic()
            else:
                self._entries[root].children.append(handle)
            found = handle if rows is None else self._children(handle, rows)
            return np.asarray(found, np.int32)

    def _children(self, parent: int, nodes: Sequence[Node]) -> list[int]:
        """Return handles for nodes that live as long as a handle's node."""
        entry = self._entries[parent]
        made = [self._new(node, "child", entry.root) for node in nodes]
        entry.children.extend(made)
        return made

    def attach(self, make: Callable[[], Any], parents: Sequence[int]) -> None:
        """Make an object that lives as long as the call that passed these handles."""
        with self._lock:
            root = self._root(parents)
            if root is not None:
                self._entries[root].attached.append(make())

    # ---- releasing

    def collect(self) -> None:
        """Release what nothing can read any more."""
        with self._lock:
            self._settle()
            self._clock += 1
            while self._dead:
                handle = self._dead.popleft().handle
                self._watches.pop(handle, None)
                self._resting.append((self._clock, handle))
            oldest = self._owed[0][0] if self._owed else self._clock + 1
            while self._resting and self._resting[0][0] < oldest:
                self._end(self._resting.popleft()[1])
            if self._orphans:
                self._sweep()

    def drain(self) -> None:
        """Release all orphans too; only when no jitted call is in flight."""
        gc.collect()
        with self._lock:
            self.collect()
            for handle in list(self._orphans):
                self._release(handle)

    def _end(self, handle: int) -> None:
        entry = self._entries.get(handle)
        if entry is None:
            return  # what made it was cut short
        if entry.kind == "lent":
            self._release(handle)
        else:
            entry.kind, entry.touched = "orphan", time.monotonic()
            self._orphans[handle] = None

    def _sweep(self) -> None:
        now = time.monotonic()
        if self._running or now - self._swept < 1.0:
            return
        self._swept = now
        for handle in list(self._orphans):
            if now - max(self._entries[handle].touched, self._idle_since) > GRACE:
                self._release(handle)

    def _settle(self) -> None:
        """Take note of handles that became known; stop at the first that is not."""
        while self._owed:
            owed = self._owed[0][1]()
            if owed is not None and not owed.ready():
                return
            self._owed.popleft()
            if owed is not None and not owed.settled:
                _try_settling(owed)

    def _release(self, root: int) -> None:
        self._orphans.pop(root, None)
        doomed = [root]
        while doomed:
            handle = doomed.pop()
            entry = self._entries.pop(handle)
            doomed.extend(entry.children)
            self._free.append(handle & ((1 << SLOT_BITS) - 1))

    # ---- slots

    def _root(self, parents: Sequence[int]) -> int | None:
        """Return the best root: one that XLA watches, else an orphan."""
        roots = [self._entries[h].root for h in parents if h in self._entries]
        for kind in ("lent", "orphan"):
            for root in roots:
                if self._entries[root].kind == kind:
                    return root
        return None

    def _new(self, node: Node, kind: Kind, root: int | None = None) -> int:
        if len(self._free) > REST or len(self._generations) == 1 << SLOT_BITS:
            if not self._free:
                msg = "Too many disk arrays are alive in jitted functions (2**20)."
                raise RuntimeError(msg)
            slot = self._free.popleft()
            generation = (self._generations[slot] + 1) % (1 << GENERATION_BITS)
            self._generations[slot] = generation
        else:
            slot, generation = len(self._generations), 0
            self._generations.append(generation)
        handle = slot | generation << SLOT_BITS
        self._entries[handle] = _Entry(node, kind, handle if root is None else root)
        return handle


def _try_settling(owed: Owed) -> None:
    with suppress(Exception):  # the call failed; whoever asks for the value is told
        owed.node()


def _aligned_int32(
    shape: tuple[int, ...] = (),
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a buffer, and an aligned int32 array inside it."""
    count = prod(shape)
    buffer = np.empty(count + 2 * ALIGNMENT // 4, np.int32)
    skip = (-buffer.ctypes.data % ALIGNMENT) // 4
    return buffer, buffer[skip : skip + count].reshape(shape)


TABLE = Table()
"""The table of this process."""
