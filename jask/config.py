"""Settings: which are in force here.

1. The process has one `Settings`, changed by `set_memory_budget`.
2. `config(...)` and `using(...)` override fields of it on this thread, for a block.
3. `current()` is the first with the second laid over it.

Both live in JAX user contexts, so they are part of the key under which `jax.jit` keeps
traced and compiled functions. This is on purpose: a jitted function that reads files
is planned where it is lowered, and its callbacks run later, on threads of XLA where
no `with` block is open. So every callback, a user's own (`jax.pure_callback`) too,
takes the overrides along that are in force where it is lowered, and puts them into
force on a thread that has none: they are those of the place where the jitted function
was *called*. The price is one trace per distinct settings. Threads that jask starts
have the overrides of those who start them.
"""

import contextlib
import math
import operator
import os
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

import jax

from jask._jax import wrap_callbacks
from jask._memory import available_memory
from jask.errors import ConfigError

__all__ = [
    "Changes",
    "Settings",
    "carried",
    "config",
    "current",
    "parse_size",
    "set_memory_budget",
    "unset",
    "using",
]

_UNITS = {"": 1, "B": 1} | {
    f"{letter}{middle}B": base**power
    for power, letter in enumerate("KMGTP", start=1)
    for middle, base in (("", 1000), ("I", 1024))
}
_SIZE = re.compile(
    r"\s*(\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})\s*([A-Za-z]*)\s*", re.ASCII
)
_FORMS = (
    "Write a positive whole number of bytes or a string such as '512', '64kB', "
    "'1.5GB' (10**9 bytes each) or '1GiB' (2**30 bytes)."
)


def parse_size(size: str | int) -> int:
    """Return a number of bytes.

    Parameters
    ----------
    size
        A positive number of bytes, or a string of a number and a unit: B, kB, MB, GB,
        TB, PB (powers of 1000) or KiB, MiB, GiB, TiB, PiB (powers of 1024).

    Raises
    ------
    ConfigError
        If it is not a positive size.

    Examples
    --------
    >>> parse_size("1GB"), parse_size("1GiB"), parse_size("1.5kB"), parse_size(4096)
    (1000000000, 1073741824, 1500, 4096)
    """
    number = _parse_text(size) if isinstance(size, str) else _parse_number(size)
    if number is None or number < 1:
        msg = f"A size must be a positive number of bytes; got {size!r}. {_FORMS}"
        raise ConfigError(msg)
    return number


def _parse_text(text: str) -> int | None:
    match = _SIZE.fullmatch(text)
    unit = None if match is None else _UNITS.get(match[2].upper())
    return None if match is None or unit is None else int(Fraction(match[1]) * unit)


def _parse_number(number: Any) -> int | None:
    if isinstance(number, bool):
        return None
    if isinstance(number, float):
        whole = math.isfinite(number) and number.is_integer()
        return int(number) if whole else None
    try:
        return operator.index(number)
    except TypeError:
        return None


@dataclass(frozen=True, slots=True)
class Settings:
    """What governs an evaluation.

    Examples
    --------
    >>> Settings(memory_budget=10**9).workers is None
    True
    """

    memory_budget: int
    """Bytes that an evaluation may hold at once."""

    block_bytes: int | None = None
    """Bytes of a block, or None to let the planner choose."""

    scratch_dir: Path | None = None
    """Where spilled data go, or None for the system's temporary directory."""

    scratch_limit: int | None = None
    """Bytes of scratch that this process may hold at once, or None for no limit."""

    workers: int | None = None
    """Number of worker threads, or None for one per core."""

    progress: bool | None = None
    """Show a progress bar: yes, no, or (None) on a terminal if work is long."""

    durable: bool = True
    """Whether saved files survive a power cut once `save` returns (`fsync`)."""

    def __post_init__(self) -> None:
        for name in ("memory_budget", "block_bytes", "scratch_limit", "workers"):
            value = getattr(self, name)
            optional = value is None and name != "memory_budget"
            if not optional and (type(value) is not int or value < 1):
                msg = f"{name} must be a positive int; got {value!r}."
                raise ConfigError(msg)


class Changes(TypedDict, total=False):
    """The arguments of `config`; sizes may be strings."""

    memory_budget: str | int
    block_bytes: str | int | None
    scratch_dir: str | os.PathLike[str] | None
    scratch_limit: str | int | None
    workers: int | None
    progress: bool | None
    durable: bool


type _Override = tuple[tuple[str, Any], ...]

_process = jax.make_user_context(default_value=None)
"""Settings of the whole process, or None until they are changed."""
_local = jax.make_user_context(default_value=())
"""The fields that are overridden on this thread, as an `_Override`."""
_lock = threading.Lock()
_defaults: list[Settings] = []
"""The settings of a fresh process, once they were asked for."""


def _default() -> Settings:
    """Return the first settings; measured once, so that plans stay reusable."""
    if not _defaults:
        with _lock:
            if not _defaults:
                budget = max(available_memory() // 4, 1)
                _defaults.append(Settings(memory_budget=budget))
    return _defaults[0]


def current() -> Settings:
    """Return the settings in force on this thread.

    Examples
    --------
    >>> with config(memory_budget="1GB", block_bytes="4MiB"):
    ...     current().memory_budget, current().block_bytes
    (1000000000, 4194304)
    """
    settings: Settings = _process.value or _default()
    override: _Override = _local.value
    return replace(settings, **dict(override)) if override else settings


@contextlib.contextmanager
def config(**changes: Unpack[Changes]) -> Iterator[Settings]:
    """Change settings within a `with` block, on this thread.

    Called without `with` it does nothing; `set_memory_budget` is for the whole process.
    As with JAX's own settings, do not `await` within the block: the tasks of a thread
    share its settings.
    The block is given the settings: `with jask.config() as s` shows those in force.

    A function under `jax.jit` runs with the settings in force where it is called, its
    callbacks included, and is traced once for each different settings. One that was
    compiled ahead of time (`f.lower(x).compile()`) keeps those of where it was lowered.

    Parameters
    ----------
    memory_budget
        Bytes that an evaluation may hold at once.
    block_bytes
        Bytes of a block; None lets the planner choose.
    scratch_dir
        An existing directory for spilled data; None is the system's temporary one.
    scratch_limit
        Bytes of scratch that the process may hold at once; None is no limit.
    workers
        Number of worker threads; None is one per core.
    progress
        Whether to show progress, by tqdm; None shows it on a terminal when work takes
        over two seconds.
    durable
        Whether `save` waits until the files would survive a power cut (`fsync`).

    Yields
    ------
    Settings
        The settings in force in the block.

    Raises
    ------
    ConfigError
        If a setting does not exist or has an impossible value.

    Examples
    --------
    >>> with config(workers=2) as settings:
    ...     settings.workers
    2
    """
    override = dict(_local.value) | {k: _clean(k, v) for k, v in changes.items()}
    settings = replace(current(), **override)
    with _local(tuple(sorted(override.items()))):
        yield settings


@contextlib.contextmanager
def using(settings: Settings) -> Iterator[None]:
    """Put complete settings into force on this thread, for a `with` block.

    For callbacks and threads: capture `current()` where the work is asked for, and
    run it under `using`.

    Examples
    --------
    >>> with using(Settings(memory_budget=10**6)):
    ...     current().memory_budget
    1000000
    """
    override = ((f.name, getattr(settings, f.name)) for f in fields(settings))
    with _local(tuple(sorted(override))):
        yield


def unset() -> contextlib.AbstractContextManager[Any]:
    """Return a block without overrides: for what is kept for calls under others.

    Examples
    --------
    >>> with config(workers=3), unset():
    ...     current().workers
    """
    block: contextlib.AbstractContextManager[Any] = _local(())
    return block


def carried[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that runs, on a thread without overrides, with those of here.

    Examples
    --------
    >>> with config(workers=3):
    ...     function = carried(lambda: current().workers)
    >>> function()
    3
    """
    override: _Override = _local.value

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if _local.value:
            return function(*args, **kwargs)
        with _local(override):
            return function(*args, **kwargs)

    return run if override else function


wrap_callbacks(carried)


def set_memory_budget(budget: str | int) -> None:
    """Set the bytes that one evaluation may hold at once, for the whole process.

    A surrounding `config(memory_budget=...)` still wins on its thread until it ends.

    Parameters
    ----------
    budget
        A number of bytes, or a string such as `"1GB"` (10**9) or `"1GiB"` (2**30).

    Raises
    ------
    ConfigError
        If it is not a positive size.

    Examples
    --------
    >>> before = current().memory_budget
    >>> set_memory_budget("1GB")
    >>> current().memory_budget
    1000000000
    >>> set_memory_budget(before)
    """
    settings: Settings = _process.value or _default()
    _process.set_global(replace(settings, memory_budget=parse_size(budget)))


def _clean(name: str, value: Any) -> Any:
    """Return the value as `Settings` holds it, or raise ConfigError."""
    if name not in Changes.__annotations__:
        names = ", ".join(Changes.__annotations__)
        msg = f"A setting must be one of {names}; got {name!r}."
        raise ConfigError(msg)
    if value is None and name not in {"memory_budget", "durable"}:
        return None
    clean: dict[str, Callable[[Any], Any]] = {
        "scratch_dir": _directory,
        "workers": _workers,
        "progress": partial(_flag, "True, False or None"),
        "durable": partial(_flag, "True or False"),
    }
    try:
        return clean.get(name, parse_size)(value)
    except ConfigError as error:
        msg = f"{name}: {error}"
        raise ConfigError(msg) from None


def _directory(path: Any) -> Path:
    try:
        directory = Path(os.fsdecode(path)).expanduser().absolute()
    except TypeError:
        msg = f"A directory must be a path; got {path!r}."
        raise ConfigError(msg) from None
    if not directory.is_dir():
        msg = f"The directory must exist; there is none at {str(directory)!r}."
        raise ConfigError(msg)
    return directory


def _workers(number: Any) -> int:
    count = _parse_number(number)
    if count is None or count < 1:
        msg = f"The number of workers must be a positive int; got {number!r}."
        raise ConfigError(msg)
    return count


def _flag(choices: str, value: Any) -> bool:
    if not isinstance(value, bool):
        msg = f"It must be {choices}; got {value!r}."
        raise ConfigError(msg)
    return value
