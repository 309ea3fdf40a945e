"""The Fourier transforms of the standard, and `jax.numpy.fft` beyond it.

A transform needs its own axes whole; along the others it streams.
"""

from functools import partial

import jax.numpy as jnp

from jask.numpy import _lift

_lifted = partial(_lift.lifted, module=__name__)
_of_one = partial(_lifted, first=("x",))
_transform = partial(_of_one, norm="backward")

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
ihfft = _transform(jnp.fft.ihfft, "Inverse Fourier transform of a Hermitian signal")
irfft = _transform(jnp.fft.irfft, "Inverse of `rfft`")
irfft2 = _transform(jnp.fft.irfft2, "Inverse of `rfft2`")
irfftn = _transform(jnp.fft.irfftn, "Inverse of `rfftn`")
rfft = _transform(jnp.fft.rfft, "Fourier transform of a real signal along one axis")
rfft2 = _transform(jnp.fft.rfft2, "Fourier transform of a real signal along two axes")
rfftfreq = _lifted(
    jnp.fft.rfftfreq, "Sample frequencies of a real transform", first=("n",)
)
rfftn = _transform(jnp.fft.rfftn, "Fourier transform of a real signal, several axes")

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn",
    "ifftshift", "ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq",
    "rfftn",
]  # fmt: skip
