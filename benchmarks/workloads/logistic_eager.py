"""The logistic loss and gradient by JAX's own `value_and_grad`, run eagerly: two reads.

JAX wants the loss before it goes back. The bytes are compared with two reads.
"""

import numpy as np

from workloads import logistic
from workloads.logistic import expert, reference, shapes, weights_and_loss

__all__ = ["RTOL", "TITLE", "expert", "jask", "least", "reference", "shapes"]

TITLE = "the same loss and gradient by jax.value_and_grad, not jitted"
RTOL = 1e-4


def least(shapes):
    once, written = logistic.least(shapes)
    return 2 * once, written


def jask(paths, out):
    import jax

    import jask

    weights, loss = weights_and_loss()
    x, y = jask.open(paths["x"]), jask.open(paths["label"])
    value, slope = jax.value_and_grad(loss)(weights, x, y)
    return {"value": np.asarray(value), "gradient": np.asarray(slope)}
