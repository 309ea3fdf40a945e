"""The inspection functions of the standard: what this namespace can do."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jask.numpy import dtypes
from jask.numpy._table import DEVICE, check_device, default_dtype

_NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Info:
    """What `__array_namespace_info__` returns."""

    def capabilities(self) -> dict[str, Any]:
        """Return what depends on values or on the array library.

        Examples
        --------
        >>> import jask.numpy as jnp
        >>> jnp.__array_namespace_info__().capabilities()["boolean indexing"]
        True
        """
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": 64,
        }

    def default_device(self) -> str:
        """Return the one device.

        Examples
        --------
        >>> import jask.numpy as jnp
        >>> jnp.__array_namespace_info__().default_device()
        'disk'
        """
        return DEVICE

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """Return the dtypes of Python numbers, under `jax_enable_x64`.

        Examples
        --------
        >>> import jask.numpy as jnp
        >>> jnp.__array_namespace_info__().default_dtypes()["indexing"]
        dtype('int64')
        """
        check_device("default_dtypes", device)
        return {
            "real floating": default_dtype(float),
            "complex floating": default_dtype(complex),
            "integral": default_dtype(int),
            "indexing": np.dtype(np.int64),
        }

    def devices(self) -> tuple[str, ...]:
        """Return all devices.

        Examples
        --------
        >>> import jask.numpy as jnp
        >>> jnp.__array_namespace_info__().devices()
        ('disk',)
        """
        return (DEVICE,)

    def dtypes(
        self, *, device: Any = None, kind: Any = None
    ) -> dict[str, np.dtype[Any]]:
        """Return the standard's dtypes by name, of a kind if one is given.

        Examples
        --------
        >>> import jask.numpy as jnp
        >>> jnp.__array_namespace_info__().dtypes(kind="bool")
        {'bool': dtype('bool')}
        """
        check_device("dtypes", device)
        found = {name: np.dtype(name) for name in _NAMES}
        if kind is None:
            return found
        return {n: d for n, d in found.items() if dtypes.isdtype(d, kind)}


def __array_namespace_info__() -> Info:
    """Return what this namespace can do.

    Returns
    -------
    Info
        With `capabilities`, `default_device`, `default_dtypes`, `devices`, `dtypes`.

    Examples
    --------
    >>> import jask.numpy as jnp
    >>> jnp.__array_namespace_info__().devices()
    ('disk',)
    """
    return Info()


__all__ = [
    "__array_namespace_info__",
]  # fmt: skip
