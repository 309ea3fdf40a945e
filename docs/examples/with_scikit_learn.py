"""scikit-learn on a file larger than memory: scale, reduce, fit and score.

Needs scikit-learn and SciPy. `array_api_dispatch` makes scikit-learn compute with the
arrays that it is given; SciPy asks for SCIPY_ARRAY_API=1 before it is imported.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import sklearn
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.preprocessing import StandardScaler

import jask

sklearn.set_config(array_api_dispatch=True)
rng = np.random.default_rng(0)
features = rng.normal(3, 2, size=(100_000, 24)).astype("float32")
np.save("features.npy", features)  # 9.6 MB
np.save("target.npy", features @ np.linspace(-1, 1, 24, dtype="float32"))
jask.set_memory_budget("6MB")

x, y = jask.open("features.npy"), jask.open("target.npy")
# Results are lazy; what is used again is computed once, to scratch, by jask.persist.
scaled = jask.persist(StandardScaler().fit_transform(x))
reduced = PCA(3, svd_solver="covariance_eigh").fit_transform(scaled)
model = Ridge(alpha=1e-3, solver="svd").fit(x[:2_000], y[:2_000])
predicted = jask.persist(model.predict(x))
score = float(r2_score(y, predicted))

assert isinstance(reduced, jask.DiskArray)
assert reduced.shape == (100_000, 3)
assert score > 0.99
print("explained by the model:", round(score, 3))

jask.save("reduced.npy", reduced)
deviations = np.load("reduced.npy").std(axis=0)
assert np.allclose(deviations, 1, atol=0.1)  # independent features of variance one
