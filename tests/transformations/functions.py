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


UNARY = [
    *(
        call(name, A)
        for name in (
            "abs acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh "
            "atan atanh absolute cbrt ceil conj conjugate copy cos cosh deg2rad degrees "
            "exp exp2 expm1 fabs fix floor i0 imag log log10 log1p log2 negative "
            "positive rad2deg radians real reciprocal rint round sign sin sinc sinh "
            "sqrt square tan tanh trunc nan_to_num"
        ).split()
        if name not in {"acosh", "arccosh"}
    ),
    call("acosh", B),
    call("arccosh", B),
]

BINARY = [
    call(name, A, B)
    for name in (
        "add arctan2 atan2 copysign divide true_divide fmax fmin fmod float_power hypot "
        "logaddexp logaddexp2 maximum minimum mod multiply pow power remainder subtract "
        "floor_divide heaviside nextafter"
    ).split()
    if name != "nextafter"
]

REDUCTIONS = [
    *(
        call(name, A, axis=axis)
        for name in "amax amin max mean min prod std sum var ptp median".split()
        for axis in (0, None)
    ),
    *(
        call(name, NAN, axis=1)
        for name in "nanmax nanmean nanmin nanprod nanstd nansum nanvar nanmedian".split()
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
]

SHAPES = [
    call("append", A, B, axis=0),
    call("atleast_1d", V[0]),
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
]

CHOICES = [
    call("choose", np.asarray([0, 1, 0, 1]), [A[0], A[1]]),
    call("clip", A, F32(0.3), F32(0.7)),
    call("compress", np.asarray([True, False, True]), A, axis=0, size=2),
    call("extract", A > F32(0.5), A, size=4),
    call("interp", A, np.asarray([0.0, 0.5, 1.0], F32), M[0]),
    call("partition", A, 2, axis=1),
    call("polyval", V, A),
    call("polyadd", V, V),
    call("polymul", V, V),
    call("polyder", V),
    call("polyint", V),
    call("select", [A > F32(0.6), A < F32(0.4)], [A, B], F32(9)),
    call("sort", A, axis=1),
    call("take", A, np.asarray([2, 0]), axis=0),
    call("take_along_axis", A, np.asarray([[0], [1], [2]]), axis=1),
    call("where", A > F32(0.5), A, B),
    call("astype", A, np.dtype("float64")),
    call("ldexp", A, np.asarray(2, np.int32)),
]

CALLS = {
    f"{c.name}-{i}": c
    for i, c in enumerate([*UNARY, *BINARY, *REDUCTIONS, *SHAPES, *PRODUCTS, *CHOICES])
}
"""By name and number."""

WITHOUT_A_ROW = {
    "all": "boolean or integer results, or creation: no derivatives",
    **dict.fromkeys(
        (
            "fft ifft rfft fft2 ifft2 fftn ifftn rfft2 irfft2 rfftn irfftn hfft ihfft "
            "fftshift ifftshift"
        ).split(),
        "complex: derivatives are tested through irfft",
    ),
    **dict.fromkeys(
        "fill_diagonal put put_along_axis place".split(), "a scatter; `.at` is tested"
    ),
}
