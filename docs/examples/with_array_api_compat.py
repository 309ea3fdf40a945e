"""array-api-compat: code for any array library runs on files larger than memory.

Needs array-api-compat.
"""

from typing import Any

import array_api_compat as compat
import numpy as np

import jask
import jask.numpy


def standardise(x: Any) -> Any:
    """Return columns of mean zero and variance one, in the library of x."""
    xp = compat.array_namespace(x)
    return (x - xp.mean(x, axis=0)) / xp.std(x, axis=0)


rng = np.random.default_rng(0)
data = rng.normal(3, 2, size=(200_000, 8)).astype("float32")
np.save("data.npy", data)  # 6.4 MB
jask.set_memory_budget("4MB")
x = jask.open("data.npy")

assert compat.is_array_api_obj(x)
assert compat.array_namespace(x) is jask.numpy
assert compat.device(x) == "disk"
assert compat.size(x) == 1_600_000
assert compat.to_device(x, "disk").shape == x.shape
assert not compat.is_lazy_array(x)  # bool(x[0, 0] > 0) gives an answer

jask.save("standard.npy", standardise(x))
assert np.allclose(np.load("standard.npy"), standardise(data), atol=1e-4)
