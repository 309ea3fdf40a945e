"""One function for each kind of rule, written for `jask.numpy` and `jax.numpy` alike.

Each takes the module, an array `x` of shape (6, 4) on disk and a parameter `w` of
shape (4,) in memory.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as onp  # noqa: ICN001 - `np` is the module under test

F32 = onp.float32

KINDS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "elementwise": lambda np, x, w: np.sin(x) * x + np.tanh(x * w),
    "broadcast": lambda np, x, w: np.broadcast_to(x[:, None, :], (6, 2, 4)) * w,
    "select": lambda np, x, w: np.where(x > F32(0), x * x, w * x),
    "sum": lambda np, x, w: np.sum(x * x * w, axis=1),
    "max": lambda np, x, w: np.max(x * w, axis=0),
    "prod": lambda np, x, w: np.prod(x + w, axis=1),
    "moments": lambda np, x, w: np.var(x * w, axis=0),
    "cumulative": lambda np, x, w: np.cumsum(x * w, axis=0),
    "contract": lambda np, x, w: np.matmul(x, w) ** 2,
    "gram": lambda np, x, w: np.matmul(x.T, x) * w,
    "slicing": lambda np, x, w: x[1:5:2, ::-1] * w,
    "concatenate": lambda np, x, w: np.concat([x * w, x[:2]], axis=0),
    "pad": lambda np, x, w: np.pad(x * w, ((1, 0), (0, 2))),
    "gather": lambda np, x, w: np.take(x, jnp.asarray([3, 0, 3]), axis=0) * w,
    "scatter": lambda np, x, w: x.at[1:3].add(w),
    "reorder": lambda np, x, w: np.flip(np.reshape(x * w, (4, 6)).T, axis=0),
    "sort": lambda np, x, w: np.sort(x, axis=0) * w,
    "softmax": lambda np, x, w: np.exp(x * w - _logsumexp(np, x * w)),
    "index": lambda np, x, w: x * np.argmax(x, axis=0).astype(F32) * w,
    "create": lambda np, x, w: x * np.ones_like(x) + np.reshape(w, (1, 4)),
    "window": lambda np, x, w: (x[:-2] + F32(2) * x[1:-1] + x[2:]) * w,
    "whole": lambda np, x, w: np.linalg.solve(
        np.matmul(x.T, x) + np.eye(4, dtype="float32"), np.reshape(w, (4, 1))
    ),
}
"""By name of the kind."""


def _logsumexp(np: Any, x: Any) -> Any:
    peak = np.max(x, axis=1, keepdims=True)
    return np.log(np.sum(np.exp(x - peak), axis=1, keepdims=True)) + peak
