"""Every differentiable function of `jask.numpy`, with operands to try it on."""

from typing import Any, NamedTuple

import numpy as np

F32 = np.float32
RNG = np.random.default_rng(0)
A = RNG.uniform(0.2, 0.8, (3, 4)).astype(F32)
"""In (0, 1), where every elementwise function is smooth."""
B = RNG.uniform(1.2, 2.5, (3, 4)).astype(F32)
V = RNG.uniform(0.2, 0.8, 4).astype(F32)
S = np.asarray([[2.0, 0.5, 0.1], [0.5, 1.5, 0.2], [0.1, 0.2, 1.0]], F32)
"""Symmetric and positive definite, with distinct eigenvalues."""
M = RNG.normal(size=(5, 3)).astype(F32)
NAN = A.copy()
NAN[0, 0] = np.nan


class Call(NamedTuple):
    """A function and how it is called; arrays are differentiated."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(name: str, *args: Any, **kwargs: Any) -> Call:
    """Return a row of the table."""
    return Call(name, args, kwargs)


def words(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


UNARY = [
    *(
        call(name, A)
        for name in words(
            "abs acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh "
            "atan atanh absolute cbrt ceil conj conjugate copy cos cosh deg2rad "
            "degrees exp exp2 expm1 fabs floor i0 imag log log10 log1p log2 negative "
            "positive rad2deg radians real reciprocal rint round sign sin sinc sinh "
            "sqrt square tan tanh trunc nan_to_num"
        )
        if name not in {"acosh", "arccosh"}
    ),
    call("acosh", B),
    call("arccosh", B),
]

BINARY = [
    call(name, A, B)
    for name in words(
        "add arctan2 atan2 copysign divide true_divide fmax fmin fmod "
        "float_power hypot logaddexp logaddexp2 maximum minimum mod multiply pow "
        "power remainder subtract floor_divide heaviside nextafter"
    )
    if name != "nextafter"
]

REDUCTIONS = [
    *(
        call(name, A, axis=axis)
        for name in words("amax amin max mean min prod std sum var ptp median")
        for axis in (0, None)
    ),
    *(
        call(name, NAN, axis=1)
        for name in words(
            "nanmax nanmean nanmin nanprod nanstd nansum nanvar nanmedian"
        )
    ),
    call("average", A, axis=1, weights=V),
    call("quantile", A, F32(0.3), axis=1),
    call("percentile", A, F32(30), axis=0),
    call("cumsum", A, axis=1),
    call("cumprod", A, axis=0),
    call("cumulative_sum", A, axis=0),
    call("cumulative_prod", A, axis=1),
    call("nancumsum", A, axis=1),
    call("trace", S),
    call("trapezoid", A, axis=1),
    call("diff", A, axis=0),
    call("gradient", A, axis=1),
    call("ediff1d", V),
    call("cov", A),
    call("corrcoef", A),
    call("unwrap", A, axis=1),
    call("nancumprod", A, axis=1),
    call("nanquantile", NAN, F32(0.3), axis=1),
    call("nanpercentile", NAN, F32(30), axis=1),
]

SHAPES = [
    call("append", A, B, axis=0),
    call("atleast_1d", np.asarray(V[0])),
    call("atleast_2d", V),
    call("atleast_3d", A),
    call("block", [[A, B]]),
    call("broadcast_to", V, (3, 4)),
    call("broadcast_arrays", A, V),
    call("column_stack", [V, V]),
    call("concat", [A, B], axis=1),
    call("concatenate", [A, B], axis=0),
    call("diag", V),
    call("diagflat", V),
    call("diagonal", S),
    call("dstack", [A, B]),
    call("expand_dims", A, axis=1),
    call("flip", A, axis=0),
    call("fliplr", A),
    call("flipud", A),
    call("hsplit", A, 2),
    call("hstack", [A, B]),
    call("insert", A, 1, F32(2), axis=0),
    call("moveaxis", A, 0, 1),
    call("pad", A, ((1, 0), (0, 2))),
    call("permute_dims", A, (1, 0)),
    call("ravel", A),
    call("repeat", A, 2, axis=0),
    call("reshape", A, (4, 3)),
    call("resize", A, (2, 5)),
    call("roll", A, 1, axis=0),
    call("rollaxis", A, 1),
    call("rot90", A),
    call("split", A, 2, axis=1),
    call("squeeze", A[None], axis=0),
    call("stack", [A, B], axis=1),
    call("swapaxes", A, 0, 1),
    call("tile", A, (2, 1)),
    call("transpose", A),
    call("matrix_transpose", A),
    call("tril", A),
    call("triu", A, k=1),
    call("unstack", A, axis=0),
    call("vsplit", A, 3),
    call("vstack", [A, B]),
    call("vander", V, 3),
    call("delete", A, 1, axis=0),
    call("array_split", A, 3, axis=1),
    call("dsplit", A[None, :, :], 2),
    call("meshgrid", V, A[0]),
    call("linspace", A, B, 3, dtype=np.dtype("float32")),
    call("geomspace", A, B, 3),
    call("logspace", A, B, 3),
]

PRODUCTS = [
    call("convolve", V, A[0], mode="same"),
    call("correlate", V, A[0]),
    call("cross", M[0], M[1]),
    call("dot", A, V),
    call("einsum", "ij,j->i", A, V),
    call("inner", A, B),
    call("kron", A, B),
    call("matmul", A, B.T),
    call("matvec", A, V),
    call("outer", V, V),
    call("tensordot", A, B, axes=([1], [1])),
    call("vdot", A, B),
    call("vecdot", A, B),
    call("vecmat", A[:, 0], A),
    call("linalg.cholesky", S),
    call("linalg.det", S),
    call("linalg.eigvalsh", S),
    call("linalg.inv", S),
    call("linalg.matrix_norm", A),
    call("linalg.matrix_power", S, 3),
    call("linalg.multi_dot", [A, B.T, S]),
    call("linalg.norm", A, axis=1),
    call("linalg.pinv", M),
    call("linalg.slogdet", S),
    call("linalg.solve", S, M.T),
    call("linalg.svdvals", M),
    call("linalg.vector_norm", A),
    call("fft.irfft", A, axis=1),
    call("linalg.tensorinv", S, ind=1),
    call("linalg.tensorsolve", S, V[:3]),
]

CHOICES = [
    call("choose", np.asarray([0, 1, 0, 1]), [A[0], A[1]], mode="clip"),
    call("clip", A, F32(0.3), F32(0.7)),
    call("compress", np.asarray([True, False, True]), A, axis=0, size=2),
    call("extract", F32(0.5) < A, A, size=4),
    call("interp", A, np.asarray([0.0, 0.5, 1.0], F32), M[0]),
    call("partition", A, 2, axis=1),
    call("polyval", V, A),
    call("polyadd", V, V),
    call("polysub", V, A[0]),
    call("top_k", A, 2),
    call("around", A),
    call("minmax", A),
    call("polymul", V, V),
    call("polyder", V),
    call("polyint", V),
    call("select", [F32(0.6) < A, F32(0.4) > A], [A, B], F32(9)),
    call("sort", A, axis=1),
    call("take", A, np.asarray([2, 0]), axis=0),
    call("take_along_axis", A, np.asarray([[0], [1], [2]]), axis=1),
    call("where", F32(0.5) < A, A, B),
    call("astype", A, np.dtype("float64")),
    call("ldexp", A, np.asarray(2, np.int32)),
]

CALLS = {
    f"{c.name}-{i}": c
    for i, c in enumerate([*UNARY, *BINARY, *REDUCTIONS, *SHAPES, *PRODUCTS, *CHOICES])
}
"""By name and number."""

WITHOUT_A_ROW = frozenset(
    words(
        # results are booleans, integers or bits
        "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor "
        "equal greater greater_equal less less_equal logical_and logical_or "
        "logical_xor not_equal allclose argpartition argwhere array_equal "
        "array_equiv bincount bitwise_count bitwise_not digitize flatnonzero gcd "
        "invert isclose iscomplex isneginf isposinf isreal lcm left_shift lexsort "
        "nanargmax nanargmin packbits right_shift unpackbits argmax argmin "
        "count_nonzero nonzero searchsorted isin argsort bitwise_invert isfinite "
        "isinf isnan logical_not signbit all any linalg.matrix_rank histogram "
        "histogram2d histogram_bin_edges histogramdd "
        # they make arrays, indices or types, or tell facts
        "array asarray from_dlpack empty empty_like eye full full_like ones "
        "ones_like zeros zeros_like can_cast finfo iinfo isdtype result_type "
        "diag_indices_from iscomplexobj isrealobj ndim shape size "
        "tril_indices_from triu_indices_from __array_namespace_info__ array_repr "
        "array_str bartlett blackman diag_indices frombuffer fromfile fromfunction "
        "fromiter fromstring get_printoptions hamming hanning identity indices "
        "isscalar issubdtype iterable ix_ kaiser mask_indices printoptions "
        "promote_types ravel_multi_index set_printoptions tri tril_indices "
        "triu_indices unravel_index broadcast_shapes arange fft.fftfreq "
        "fft.rfftfreq "
        # the shape of the result depends on values
        "intersect1d setdiff1d setxor1d trim_zeros union1d unique unique_all "
        "unique_counts unique_inverse unique_values roots poly "
        # complex results; the derivatives are tried through irfft
        "angle sort_complex linalg.eig linalg.eigvals fft.fft fft.fft2 fft.fftn "
        "fft.fftshift fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ifftshift "
        "fft.ihfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn "
        # they take a function, or change their argument
        "apply_along_axis apply_over_axes piecewise fill_diagonal place put "
        "put_along_axis frompyfunc vectorize einsum_path "
        # JAX has no derivative, or no unique one
        "nextafter spacing frexp modf divmod polydiv polyfit linalg.lstsq "
        "linalg.qr linalg.svd linalg.eigh linalg.cond "
    )
)
"""What has no derivatives to try, by reason."""
