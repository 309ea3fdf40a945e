"""xarray: named axes and labels over a file larger than memory.

Needs xarray. A DataArray holds a DiskArray as it is; its methods stay lazy.
"""

import numpy as np
import xarray as xr

import jask
import jask.numpy as jnp

rng = np.random.default_rng(0)
values = rng.normal(15, 5, size=(3_650, 40, 20)).astype("float32")
np.save("temperature.npy", values)  # 11.7 MB
jask.set_memory_budget("4MB")

temperature = xr.DataArray(
    jask.open("temperature.npy"),
    dims=("day", "y", "x"),
    coords={"day": np.arange(3_650)},
)
anomaly = temperature - temperature.mean("day", skipna=False)
assert isinstance(anomaly.data, jask.DiskArray)
spread = anomaly.std(("y", "x"), skipna=False).sel(day=slice(100, 109))
print(np.round(spread.values, 2))
want = (values - values.mean(axis=0)).std(axis=(1, 2))[100:110]
assert np.allclose(spread.values, want, rtol=1e-4)

# functions: NumPy's, or xr.apply_ufunc with those of jask.numpy
growth = np.exp(anomaly / 10) * xr.apply_ufunc(jnp.cbrt, anomaly)
jask.save("growth.npy", growth.data)
assert np.load("growth.npy").shape == values.shape

# reductions of NumPy, which end in those of jask.numpy
assert bool(np.any(anomaly > 0))
assert not bool(np.all(anomaly > 0))
trend = temperature.isel(y=slice(2), x=slice(2)).polyfit("day", 1)
assert trend.polyfit_coefficients.shape == (2, 2, 2)

# windows: never all of them in memory
weekly = temperature.rolling(day=7).mean()
jask.save("weekly.npy", weekly.data)
want = np.lib.stride_tricks.sliding_window_view(values, 7, axis=0).mean(axis=-1)
assert np.allclose(np.load("weekly.npy")[6:], want, rtol=1e-5)
