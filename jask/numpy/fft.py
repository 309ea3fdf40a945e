"""The Fourier transforms of the standard, and `jax.numpy.fft` beyond it.

A transform needs its own axes whole; along the others it streams.
"""

import inspect
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax.numpy as jnp
import numpy as np

from jask.numpy import _lift

_lifted = partial(_lift.lifted, module=__name__)
_of_one = partial(_lifted, first=("x",))
_transform = partial(_of_one, norm="backward")


def _of_points(function: Callable[..., Any], summary: str) -> Callable[..., Any]:
    """Return a transform of a real signal, for which no points are a ValueError.

    The model gives them a shape, and then no values.
    """
    signature = inspect.signature(function)

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        bound.apply_defaults()
        given = bound.arguments
        axes = given.get("axis", given.get("axes"))
        shape = getattr(given["a"], "shape", ())  # the model refuses a list
        along = range(len(shape)) if axes is None else np.atleast_1d(axes)
        lengths = given.get("n", given.get("s"))
        known = [shape[k] for k in along if -len(shape) <= k < len(shape)]
        if lengths is None and 0 in known:
            msg = f"{function.__name__}: needs at least one point along its axes."
            raise ValueError(msg)
        return function(*args, **options)

    return _transform(checked, summary)


fft = _transform(jnp.fft.fft, "Fourier transform along one axis")
fft2 = _transform(jnp.fft.fft2, "Fourier transform along two axes")
fftfreq = _lifted(jnp.fft.fftfreq, "Sample frequencies of a transform", first=("n",))
fftn = _transform(jnp.fft.fftn, "Fourier transform along several axes")
fftshift = _of_one(jnp.fft.fftshift, "Move the zero frequency to the middle")
hfft = _transform(jnp.fft.hfft, "Fourier transform of a Hermitian signal")
ifft = _transform(jnp.fft.ifft, "Inverse Fourier transform along one axis")
ifft2 = _transform(jnp.fft.ifft2, "Inverse Fourier transform along two axes")
ifftn = _transform(jnp.fft.ifftn, "Inverse Fourier transform along several axes")
ifftshift = _of_one(jnp.fft.ifftshift, "Undo `fftshift`")
ihfft = _of_points(jnp.fft.ihfft, "Inverse Fourier transform of a Hermitian signal")
irfft = _transform(jnp.fft.irfft, "Inverse of `rfft`")
irfft2 = _transform(jnp.fft.irfft2, "Inverse of `rfft2`")
irfftn = _transform(jnp.fft.irfftn, "Inverse of `rfftn`")
rfft = _of_points(jnp.fft.rfft, "Fourier transform of a real signal along one axis")
rfft2 = _of_points(jnp.fft.rfft2, "Fourier transform of a real signal along two axes")
rfftfreq = _lifted(
    jnp.fft.rfftfreq, "Sample frequencies of a real transform", first=("n",)
)
rfftn = _of_points(jnp.fft.rfftn, "Fourier transform of a real signal, several axes")

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq",
    "rfftn",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})
