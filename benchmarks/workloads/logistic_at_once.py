"""The logistic loss and gradient by `jask.value_and_grad`, not jitted: one read."""

import numpy as np

from workloads.logistic import expert, least, reference, shapes, weights_and_loss

__all__ = ["RTOL", "TITLE", "expert", "jask", "least", "reference", "shapes"]

TITLE = "the same loss and gradient by jask.value_and_grad"
RTOL = 1e-4


def jask(paths, out):
    import jask

    weights, loss = weights_and_loss()
    x, y = jask.open(paths["x"]), jask.open(paths["label"])
    value, slope = jask.value_and_grad(loss)(weights, x, y)
    return {"value": np.asarray(value), "gradient": np.asarray(slope)}
