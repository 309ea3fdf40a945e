"""What NumPy keeps in `numpy.lib` and libraries look for in any namespace."""

from jask.numpy.lib import stride_tricks

__all__ = ["stride_tricks"]
