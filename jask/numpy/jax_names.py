"""The public names of `jax.numpy` beyond the standard.

Each is a name of ours (an alias), the same object as in `jax.numpy` (types and other
things that hold no elements), a function made by the generic lift, a function that is
evaluated at the call, or a row of `REFUSED` with its reason. A test walks the names
of `jax.numpy` and wants each in one of these places.
"""

from functools import partial

import jax.numpy as jnp

from jask.numpy import (
    _checked,
    _cumulative,
    _kernels,
    _lift,
    _places,
    _select,
    _setops,
    _table,
    _updates,
    binary,
    elementwise,
    statistical,
    unary,
)
from jask.numpy._engine import DiskArray
from jask.numpy.ufuncs import doctests, ufunc

_lifted = partial(_lift.lifted, module=__name__)
_evaluated = partial(_lift.evaluated, module=__name__)
_indices = partial(_lifted, wide=True)
_made = partial(_lift.made, module=__name__)

absolute = unary.abs
amax = statistical.max
amin = statistical.min
arccos = unary.acos
arccosh = unary.acosh
arcsin = unary.asin
arcsinh = unary.asinh
arctan = unary.atan
arctan2 = binary.atan2
arctanh = unary.atanh
around = elementwise.round
bitwise_not = unary.bitwise_invert
conjugate = unary.conj
invert = unary.bitwise_invert
left_shift = binary.bitwise_left_shift
mod = binary.remainder
power = elementwise.pow
right_shift = binary.bitwise_right_shift
true_divide = binary.divide

ComplexWarning = jnp.ComplexWarning
cdouble = jnp.cdouble
character = jnp.character
complex_ = jnp.complex_
complexfloating = jnp.complexfloating
csingle = jnp.csingle
double = jnp.double
dtype = jnp.dtype
flexible = jnp.flexible
float4_e2m1fn = jnp.float4_e2m1fn
float6_e2m3fn = jnp.float6_e2m3fn
float6_e3m2fn = jnp.float6_e3m2fn
float8_e3m4 = jnp.float8_e3m4
float8_e4m3 = jnp.float8_e4m3
float8_e4m3b11fnuz = jnp.float8_e4m3b11fnuz
float8_e4m3fn = jnp.float8_e4m3fn
float8_e4m3fnuz = jnp.float8_e4m3fnuz
float8_e5m2 = jnp.float8_e5m2
float8_e5m2fnuz = jnp.float8_e5m2fnuz
float8_e8m0fnu = jnp.float8_e8m0fnu
float_ = jnp.float_
floating = jnp.floating
generic = jnp.generic
get_printoptions = jnp.get_printoptions
index_exp = jnp.index_exp
inexact = jnp.inexact
int1 = jnp.int1  # type: ignore[attr-defined]
int2 = jnp.int2
int4 = jnp.int4
int_ = jnp.int_
integer = jnp.integer
isscalar = jnp.isscalar
issubdtype = jnp.issubdtype
iterable = jnp.iterable
number = jnp.number
object_ = jnp.object_
printoptions = jnp.printoptions
promote_types = jnp.promote_types
s_ = jnp.s_
set_printoptions = jnp.set_printoptions
signedinteger = jnp.signedinteger
single = jnp.single
uint = jnp.uint
uint1 = jnp.uint1  # type: ignore[attr-defined]
uint2 = jnp.uint2
uint4 = jnp.uint4
unsignedinteger = jnp.unsignedinteger
ndarray = DiskArray

allclose = _lifted(jnp.allclose)
angle = _lifted(jnp.angle)
append = _lifted(jnp.append)
apply_along_axis = _lifted(jnp.apply_along_axis)
apply_over_axes = _lifted(jnp.apply_over_axes)
argpartition = _indices(jnp.argpartition)
array_equal = _lifted(jnp.array_equal)
array_equiv = _lifted(jnp.array_equiv)
array_split = _lifted(jnp.array_split)
atleast_1d = _lifted(jnp.atleast_1d)
atleast_2d = _lifted(jnp.atleast_2d)
atleast_3d = _lifted(jnp.atleast_3d)
average = _lifted(jnp.average)
bartlett = _lifted(jnp.bartlett)
bitwise_count = _lifted(jnp.bitwise_count)
blackman = _lifted(jnp.blackman)
block = _lifted(jnp.block)
cbrt = _lifted(jnp.cbrt)
choose = _checked.choosing(_lifted(jnp.choose))
column_stack = _lifted(jnp.column_stack)
convolve = _lifted(jnp.convolve)
copy = _lifted(jnp.copy)
corrcoef = _lifted(jnp.corrcoef)
correlate = _lifted(jnp.correlate)
cov = _lifted(jnp.cov)
cross = _lifted(jnp.cross)
cumprod = _lifted(_cumulative.cumprod)
cumsum = _lifted(jnp.cumsum)
deg2rad = _lifted(jnp.deg2rad)
degrees = _lifted(jnp.degrees)
delete = _checked.deleting(_lifted(jnp.delete))
diag = _lifted(jnp.diag)
diag_indices = _indices(jnp.diag_indices)
diagflat = _lifted(jnp.diagflat)
diagonal = _lifted(jnp.diagonal)
digitize = _indices(jnp.digitize)
divmod = _lifted(jnp.divmod)
dot = _lifted(jnp.dot)
dsplit = _lifted(jnp.dsplit)
dstack = _lifted(jnp.dstack)
ediff1d = _lifted(jnp.ediff1d)
einsum = _lifted(jnp.einsum)
exp2 = _lifted(jnp.exp2)
fabs = _lifted(jnp.fabs)
fill_diagonal = _lifted(jnp.fill_diagonal)
fliplr = _lifted(jnp.fliplr)
flipud = _lifted(jnp.flipud)
float_power = _lifted(jnp.float_power)
fmax = _lifted(jnp.fmax)
fmin = _lifted(jnp.fmin)
fmod = _lifted(jnp.fmod)
frexp = _lifted(jnp.frexp)
fromfunction = _lifted(jnp.fromfunction)
gcd = _lifted(jnp.gcd)
geomspace = _lifted(jnp.geomspace)
gradient = _lifted(jnp.gradient)
hamming = _lifted(jnp.hamming)
hanning = _lifted(jnp.hanning)
heaviside = _lifted(jnp.heaviside)
histogram = _lifted(jnp.histogram)
histogram2d = _lifted(jnp.histogram2d)
histogram_bin_edges = _lifted(jnp.histogram_bin_edges)
histogramdd = _lifted(jnp.histogramdd)
hsplit = _lifted(jnp.hsplit)
hstack = _lifted(jnp.hstack)
i0 = _lifted(jnp.i0)
identity = _lifted(jnp.identity)
indices = _lifted(jnp.indices)
inner = _lifted(jnp.inner)
insert = _places.inserting(_lifted(jnp.insert))
interp = _lifted(jnp.interp)
isclose = _lifted(jnp.isclose)
iscomplex = _lifted(jnp.iscomplex)
isneginf = _lifted(jnp.isneginf)
isposinf = _lifted(jnp.isposinf)
isreal = _lifted(jnp.isreal)
ix_ = _lifted(jnp.ix_)
kaiser = _lifted(jnp.kaiser)
kron = _lifted(jnp.kron)
lcm = _lifted(jnp.lcm)
ldexp = _lifted(jnp.ldexp)
lexsort = _indices(jnp.lexsort)
logaddexp2 = ufunc.of(
    _table.binary(
        "logaddexp2",
        jnp.logaddexp2,
        "Logarithm to base 2 of the sum of powers of 2",
        binary.REAL,
        "0.0, [0.0, 1.0] -> Array([1.       , 1.5849625], dtype=float32)",
        module=__name__,
    )
)
logspace = _lifted(jnp.logspace)
matvec = _lifted(jnp.matvec)
median = _lifted(jnp.median)
minmax = _lifted(jnp.minmax)
modf = _lifted(jnp.modf)
nan_to_num = _lifted(jnp.nan_to_num)
nanargmax = _indices(jnp.nanargmax)
nanargmin = _indices(jnp.nanargmin)
nancumprod = _lifted(_cumulative.nancumprod)
nancumsum = _lifted(jnp.nancumsum)
nanmax = _lifted(jnp.nanmax)
nanmean = _lifted(jnp.nanmean)
nanmedian = _lifted(jnp.nanmedian)
nanmin = _lifted(jnp.nanmin)
nanpercentile = _lifted(jnp.nanpercentile)
nanprod = _lifted(jnp.nanprod)
nanquantile = _lifted(jnp.nanquantile)
nanstd = _lifted(jnp.nanstd)
nansum = _lifted(jnp.nansum)
nanvar = _lifted(jnp.nanvar)
outer = _lifted(jnp.outer)
packbits = _lifted(jnp.packbits)
pad = _lifted(jnp.pad)
partition = _lifted(jnp.partition)
percentile = _lifted(jnp.percentile)
piecewise = _lifted(jnp.piecewise)
place = _lifted(jnp.place)
poly = _lifted(jnp.poly)
polyadd = _lifted(jnp.polyadd)
polyder = _lifted(jnp.polyder)
polydiv = _lifted(jnp.polydiv)
polyfit = _lifted(jnp.polyfit)
polyint = _lifted(jnp.polyint)
polymul = _lifted(jnp.polymul)
polysub = _lifted(jnp.polysub)
polyval = _lifted(jnp.polyval)
ptp = _lifted(jnp.ptp)
put = _lifted(jnp.put)
put_along_axis = _lifted(_updates.put_along_axis)
quantile = _lifted(jnp.quantile)
rad2deg = _lifted(jnp.rad2deg)
radians = _lifted(jnp.radians)
ravel_multi_index = _checked.raveling(_indices(jnp.ravel_multi_index))
resize = _lifted(jnp.resize)
rint = _lifted(jnp.rint)
rollaxis = _lifted(jnp.rollaxis)
rot90 = _lifted(jnp.rot90)
select = _lifted(jnp.select)
sinc = _lifted(jnp.sinc)
sort_complex = _lifted(jnp.sort_complex)
spacing = _lifted(jnp.spacing)
split = _lifted(jnp.split)
top_k = _lifted(jnp.top_k)
trace = _lifted(jnp.trace)
trapezoid = _lifted(jnp.trapezoid)
tri = _lifted(jnp.tri)
tril_indices = _indices(jnp.tril_indices)
triu_indices = _indices(jnp.triu_indices)
unpackbits = _lifted(jnp.unpackbits)
unravel_index = _lifted(jnp.unravel_index)
unwrap = _lifted(jnp.unwrap)
vander = _lifted(jnp.vander)
vdot = _lifted(jnp.vdot)
vecmat = _lifted(jnp.vecmat)
vsplit = _lifted(jnp.vsplit)
vstack = _lifted(jnp.vstack)

argwhere = _evaluated(jnp.argwhere, streamed=_select.argwhere)
array_repr = _evaluated(jnp.array_repr)
array_str = _evaluated(jnp.array_str)
bincount = _evaluated(_kernels.bincount, wide=True)
compress = _evaluated(jnp.compress, streamed=_select.compress)
extract = _evaluated(jnp.extract, streamed=_select.extract)
flatnonzero = _evaluated(jnp.flatnonzero, streamed=_select.flatnonzero)
intersect1d = _evaluated(jnp.intersect1d, streamed=_setops.intersect1d)
mask_indices = _evaluated(jnp.mask_indices)
roots = _evaluated(jnp.roots)
setdiff1d = _evaluated(jnp.setdiff1d, streamed=_setops.setdiff1d)
setxor1d = _evaluated(jnp.setxor1d, streamed=_setops.setxor1d)
trim_zeros = _evaluated(jnp.trim_zeros)
union1d = _evaluated(jnp.union1d, streamed=_setops.union1d)
unique = _evaluated(jnp.unique, streamed=_setops.unique)

frombuffer = _made(jnp.frombuffer)
fromfile = _made(jnp.fromfile)
fromiter = _made(jnp.fromiter)
fromstring = _made(jnp.fromstring)
c_ = _lift.IndexMaker(jnp.c_)
mgrid = _lift.IndexMaker(jnp.mgrid)
ogrid = _lift.IndexMaker(jnp.ogrid)
r_ = _lift.IndexMaker(jnp.r_)

__test__ = doctests(globals())

__all__ = [
    "ComplexWarning", "absolute", "allclose", "amax", "amin", "angle", "append",
    "apply_along_axis", "apply_over_axes", "arccos", "arccosh", "arcsin", "arcsinh",
    "arctan", "arctan2", "arctanh", "argpartition", "argwhere", "around",
    "array_equal", "array_equiv", "array_repr", "array_split", "array_str",
    "atleast_1d", "atleast_2d", "atleast_3d", "average", "bartlett", "bincount",
    "bitwise_count", "bitwise_not", "blackman", "block", "c_", "cbrt", "cdouble",
    "character", "choose", "column_stack", "complex_", "complexfloating",
    "compress", "conjugate", "convolve", "copy", "corrcoef", "correlate", "cov",
    "cross", "csingle", "cumprod", "cumsum", "deg2rad", "degrees", "delete", "diag",
    "diag_indices", "diagflat", "diagonal", "digitize",
    "divmod", "dot", "double", "dsplit", "dstack", "dtype", "ediff1d", "einsum",
    "exp2", "extract", "fabs", "fill_diagonal", "flatnonzero", "flexible", "fliplr",
    "flipud", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4",
    "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float_", "float_power",
    "floating", "fmax", "fmin", "fmod", "frexp", "frombuffer", "fromfile",
    "fromfunction", "fromiter", "fromstring", "gcd", "generic", "geomspace",
    "get_printoptions", "gradient", "hamming", "hanning", "heaviside", "histogram",
    "histogram2d", "histogram_bin_edges", "histogramdd", "hsplit", "hstack", "i0",
    "identity", "index_exp", "indices", "inexact", "inner", "insert", "int1",
    "int2", "int4", "int_", "integer", "interp", "intersect1d", "invert", "isclose",
    "iscomplex", "isneginf", "isposinf", "isreal", "isscalar",
    "issubdtype", "iterable", "ix_", "kaiser", "kron", "lcm", "ldexp",
    "left_shift", "lexsort", "logaddexp2", "logspace", "mask_indices", "matvec",
    "median", "mgrid", "minmax", "mod", "modf", "nan_to_num", "nanargmax",
    "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian",
    "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum",
    "nanvar", "ndarray", "number", "object_", "ogrid", "outer", "packbits",
    "pad", "partition", "percentile", "piecewise", "place", "poly", "polyadd",
    "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval",
    "power", "printoptions", "promote_types", "ptp", "put", "put_along_axis",
    "quantile", "r_", "rad2deg", "radians", "ravel_multi_index", "resize",
    "right_shift", "rint", "rollaxis", "roots", "rot90", "s_", "select",
    "set_printoptions", "setdiff1d", "setxor1d", "signedinteger", "sinc",
    "single", "sort_complex", "spacing", "split", "top_k", "trace",
    "trapezoid", "tri", "tril_indices", "trim_zeros",
    "triu_indices", "true_divide", "uint", "uint1", "uint2",
    "uint4", "union1d", "unique", "unpackbits", "unravel_index", "unsignedinteger",
    "unwrap", "vander", "vdot", "vecmat", "vsplit", "vstack",
]  # fmt: skip
