"""What JAX's own transformations may do to a disk array with primitives of jax.lax.

1. `jax.vmap` broadcasts what does not depend on the mapped argument, and turns a
   `cond` on a mapped predicate into selections.
2. They bind a few primitives for that, on values of any type. For a disk array each of
   these is an operation of the same meaning, lazy as all are. So are what users put
   around values of any type: `stop_gradient` and `checkpoint_name`.

Other primitives are refused: `jax.lax.sin(x)` would not tell the user what is on disk.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jask._jax import ALL_PRIMITIVES, Primitive, divert
from jask.hijax.apply import apply
from jask.hijax.type import is_disk

__all__ = ["DIVERTED"]

DIVERTED = ("broadcast_in_dim", "select_n", "stop_gradient", "name")
"""Primitives that transformations bind on disk arrays."""


def _lazily(
    primitive: Primitive, args: Sequence[Any], params: Mapping[str, Any]
) -> Any:
    """Apply a primitive to disk arrays; a sharding means nothing there."""
    static = {k: None if k == "sharding" else v for k, v in params.items()}
    return apply(primitive.bind, *args, name=primitive.name, static=static)


for _name in DIVERTED:
    divert(ALL_PRIMITIVES[_name], is_disk, _lazily)
