"""Constants of the standard, as Python floats."""

import math

e = math.e
"""Euler's number."""

euler_gamma = 0.5772156649015329
"""Euler's constant."""

inf = math.inf
"""Positive infinity."""

nan = math.nan
"""Not a number."""

newaxis = None
"""In a key: a new axis of length one."""

pi = math.pi
"""The circle's half circumference over its radius."""

__all__ = [
    "e", "euler_gamma", "inf", "nan", "newaxis", "pi",
]  # fmt: skip
