"""SciPy's statistics, and logsumexp, on a file larger than memory.

Needs SciPy, which asks for SCIPY_ARRAY_API=1 before it is imported.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
from scipy import special, stats

import jask

rng = np.random.default_rng(0)
data = rng.gamma(4, size=(200_000, 8)).astype("float32")
np.save("data.npy", data)  # 6.4 MB
jask.set_memory_budget("4MB")
x = jask.open("data.npy")

skewness = stats.skew(x)  # lazy
assert isinstance(skewness, jask.DiskArray)
assert np.allclose(np.asarray(skewness), 1, atol=0.1)  # 2 / sqrt(4)
print("skewness of each column:", np.round(np.asarray(skewness), 2))

test = stats.ttest_1samp(x, 4.0)
assert np.asarray(test.pvalue).shape == (8,)

jask.save("scores.npy", stats.zscore(x))  # standard scores, from file to file
wide = data.astype("float64")  # NumPy's sums of float32 columns are not this exact
want = (wide - wide.mean(axis=0)) / wide.std(axis=0)
assert np.allclose(np.load("scores.npy"), want, atol=1e-4)

total = special.logsumexp(x, axis=1)
assert np.allclose(np.asarray(total), special.logsumexp(data, axis=1), atol=1e-4)
