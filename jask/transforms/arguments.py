"""Which arguments of a call are differentiated, and the call as a function of these."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jask.hijax.type import is_inexact

__all__ = ["ArgNums", "Arguments"]

type ArgNums = int | Sequence[int]


@dataclass(frozen=True)
class Arguments:
    """The arguments of one call of a differentiated function."""

    argnums: ArgNums
    """Which are differentiated, as the user said it."""

    args: tuple[Any, ...]
    """By position."""

    kwargs: dict[str, Any]
    """By name."""

    @property
    def numbers(self) -> tuple[int, ...]:
        """The positions of the differentiated arguments, none negative."""
        given = self.argnums if isinstance(self.argnums, Sequence) else (self.argnums,)
        count = len(self.args)
        for n in given:
            if not -count <= operator.index(n) < count:  # a str is refused here
                msg = (
                    f"argnums must name positional arguments, of which there are "
                    f"{count}; got {n}."
                )
                raise TypeError(msg)
        return tuple(operator.index(n) % count for n in given)

    @property
    def single(self) -> bool:
        """Whether one argument is differentiated, and its derivative is no tuple."""
        return not isinstance(self.argnums, Sequence)

    @property
    def chosen(self) -> tuple[Any, ...]:
        """The differentiated arguments."""
        return tuple(self.args[n] for n in self.numbers)

    def check(self, name: str) -> None:
        """Raise TypeError for an argument that has no derivatives."""
        for x in jax.tree.leaves(self.chosen):
            dtype = x.dtype if hasattr(x, "dtype") else jax.dtypes.result_type(x)
            if not is_inexact(dtype):
                msg = (
                    f"{name} requires real-valued or complex-valued arguments; "
                    f"got {dtype}."
                )
                raise TypeError(msg)

    def call(self, fun: Callable[..., Any], *chosen: Any) -> Any:
        """Call a function with other values of the differentiated arguments."""
        args = list(self.args)
        for n, x in zip(self.numbers, chosen, strict=True):
            args[n] = x
        return fun(*args, **self.kwargs)
