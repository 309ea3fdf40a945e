"""array-api-extra: its functions on files larger than memory.

Needs array-api-extra.
"""

import array_api_extra as xpx
import numpy as np

import jask

rng = np.random.default_rng(0)
data = rng.normal(size=(200_000, 8)).astype("float32")
np.save("data.npy", data)  # 6.4 MB
jask.set_memory_budget("4MB")
x = jask.open("data.npy")

covariance = xpx.cov(x.T)  # one sweep over the file
assert np.allclose(np.asarray(covariance), np.cov(data.T), atol=1e-4)

jask.save("padded.npy", xpx.pad(x, 1))
assert np.array_equal(np.load("padded.npy"), np.pad(data, 1))

near = xpx.isclose(x, xpx.sinc(x), atol=0.01)
assert near.shape == x.shape

labels = jask.from_numpy(np.asarray([2, 0, 1]))
assert np.asarray(xpx.one_hot(labels, 3)).sum() == 3
changed = xpx.at(x)[:2, 0].set(7.0, copy=True)  # without copy=, x is rebound
assert float(changed[1, 0]) == 7.0
assert float(x[1, 0]) == data[1, 0]
print("covariance:", covariance.shape, "changed:", float(changed[0, 0]))
