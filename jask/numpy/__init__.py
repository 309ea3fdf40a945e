"""The Python Array API standard 2025.12 over arrays on disk, with jax.numpy's names.

What a program expects of `jax.numpy` it finds here: the same names, signatures that
accept the same calls, and the same results, except where `docs/deviations.md` says so.
"""

import sys
from typing import TYPE_CHECKING, NoReturn

from jask.numpy import (
    binary,
    constants,
    conversion,
    creation,
    dtypes,
    elementwise,
    facts,
    fft,
    indexing,
    inspection,
    jax_names,
    joining,
    lib,
    linalg,
    linear,
    manipulation,
    ranges,
    searching,
    sets,
    sorting,
    statistical,
    ufuncs,
    unary,
    utility,
)
from jask.numpy._lift import REFUSED as _REFUSED
from jask.numpy.binary import *  # noqa: F403 - its __all__
from jask.numpy.constants import *  # noqa: F403 - its __all__
from jask.numpy.conversion import *  # noqa: F403 - its __all__
from jask.numpy.creation import *  # noqa: F403 - its __all__
from jask.numpy.dtypes import *  # noqa: F403 - its __all__
from jask.numpy.elementwise import *  # noqa: F403 - its __all__
from jask.numpy.facts import *  # noqa: F403 - its __all__
from jask.numpy.indexing import *  # noqa: F403 - its __all__
from jask.numpy.inspection import *  # noqa: F403 - its __all__
from jask.numpy.jax_names import *  # noqa: F403 - its __all__
from jask.numpy.joining import *  # noqa: F403 - its __all__
from jask.numpy.linear import *  # noqa: F403 - its __all__
from jask.numpy.manipulation import *  # noqa: F403 - its __all__
from jask.numpy.operators import attach as _attach
from jask.numpy.ranges import *  # noqa: F403 - its __all__
from jask.numpy.searching import *  # noqa: F403 - its __all__
from jask.numpy.sets import *  # noqa: F403 - its __all__
from jask.numpy.sorting import *  # noqa: F403 - its __all__
from jask.numpy.statistical import *  # noqa: F403 - its __all__
from jask.numpy.ufuncs import *  # noqa: F403 - its __all__
from jask.numpy.unary import *  # noqa: F403 - its __all__
from jask.numpy.utility import *  # noqa: F403 - its __all__

_attach()

__array_api_version__ = "2025.12"

__all__ = [  # noqa: PLE0604 - lists of names
    "__array_api_version__", "fft", "lib", "linalg",
    *binary.__all__,
    *constants.__all__,
    *conversion.__all__,
    *creation.__all__,
    *dtypes.__all__,
    *elementwise.__all__,
    *facts.__all__,
    *indexing.__all__,
    *inspection.__all__,
    *jax_names.__all__,
    *joining.__all__,
    *linear.__all__,
    *manipulation.__all__,
    *ranges.__all__,
    *searching.__all__,
    *sets.__all__,
    *sorting.__all__,
    *statistical.__all__,
    *ufuncs.__all__,
    *unary.__all__,
    *utility.__all__,
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})


if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        """Say why a name of `jax.numpy` is not here, and what to use."""
        msg = f"module 'jask.numpy' has no attribute {name!r}"
        if name in _REFUSED:
            msg = f"{msg}: {_REFUSED[name]}."
            raise AttributeError(msg, name=name)
        raise AttributeError(msg, name=name, obj=sys.modules[__name__])
