"""The one file that touches JAX internals and experimental APIs.

Every name the rest of jask needs from `jax.extend`, `jax.experimental` or
`jax._src` is imported here and re-exported under a name of ours. When a JAX
release moves or renames something, the fix belongs in this file.
"""

import os
from pathlib import Path
from typing import Any

from jax._src import source_info_util
from jax.extend.core import Jaxpr, JaxprEqn, Literal, Primitive, primitives

__all__ = [
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Primitive",
    "primitives",
    "source_line",
]

source_info_util.register_exclusion(f"{Path(__file__).parent}{os.sep}")


def source_line(eqn: Any) -> str:
    """Return the user's line that made an equation, as `file:line`, or ""."""
    frame = source_info_util.user_frame(eqn.source_info.traceback)
    return "" if frame is None else f"{frame.file_name}:{frame.start_line}"
