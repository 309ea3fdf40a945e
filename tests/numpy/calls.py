"""A call of every function of `jask.numpy`: those without derivatives, and the rest.

The differentiable ones are the rows of `tests/transformations/functions.py`.
"""

from typing import Any

import numpy as np

from tests.transformations import functions
from tests.transformations.functions import NAN, A, B, Call, M, S, V, call, words

I = np.asarray([[3, 1, 12, 0], [8, 5, 4, 6], [-7, 2, 9, 2]], np.int32)  # noqa: E741
J = np.asarray([[2, 3, 5, 1], [1, 7, 2, 3], [4, 1, 2, 6]], np.int32)
T = I % 3 == 0
Z = (A + 1j * B).astype(np.complex64)
BYTES = np.asarray([3, 200, 77], np.uint8)
PLACES = np.asarray([0, 2, 1], np.int32)
LINE = np.asarray([3.0, 1.0, 2.0, 1.0, 0.0], np.float32)


def _sum(i: Any, j: Any) -> Any:
    return i + j


INTEGERS = [
    *(
        call(name, I, J)
        for name in words(
            "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift "
            "bitwise_xor left_shift right_shift gcd lcm equal greater greater_equal "
            "less less_equal not_equal allclose array_equal array_equiv isclose"
        )
    ),
    *(call(name, T, I > 2) for name in words("logical_and logical_or logical_xor")),
    *(
        call(name, I)
        for name in words(
            "bitwise_count bitwise_not bitwise_invert invert logical_not nonzero "
            "argwhere flatnonzero all any argmax argmin count_nonzero argsort"
        )
    ),
    *(
        call(name, NAN)
        for name in words(
            "iscomplex isfinite isinf isnan isneginf isposinf isreal signbit "
            "nanargmax nanargmin spacing"
        )
    ),
    call("argpartition", V, 2),
    call("bincount", J[0]),
    call("bincount", J[0], weights=V, length=9),
    call("digitize", A, np.asarray([0.3, 0.5], np.float32)),
    call("lexsort", (J[0], J[1])),
    call("searchsorted", np.sort(V), A),
    call("isin", I, J),
    call("packbits", T, axis=1),
    call("unpackbits", BYTES),
    call("linalg.matrix_rank", M),
    call("histogram", A, 4),
    call("histogram2d", A[0], B[0], bins=3),
    call("histogram_bin_edges", A, 5),
    call("histogramdd", M, bins=2),
    call("nextafter", A, B),
    call("frexp", A),
    call("modf", B),
    call("divmod", B, A),
    call("polydiv", LINE, LINE[:2]),
    call("polyfit", V, A[0], 1),
    call("poly", V),
    call("roots", LINE[:4]),
]

DISTINCT = [
    *(
        call(name, I)
        for name in words(
            "unique unique_all unique_counts unique_inverse unique_values"
        )
    ),
    *(call(name, I, J) for name in words("intersect1d setdiff1d setxor1d union1d")),
    call("trim_zeros", I[0] * (I[0] > 0)),
    call("unique", I, size=5),
    call("nonzero", I, size=5),
]

FACTS = [
    *(call(name, A) for name in words("ndim shape size iscomplexobj isrealobj")),
    call("broadcast_shapes", (3, 1), (4,)),
    call("can_cast", "int8", "float32"),
    call("result_type", I, 2.5),
    call("promote_types", "int8", "uint8"),
    call("isdtype", np.dtype("int8"), "integral"),
    call("issubdtype", np.dtype("int8"), np.integer),
    call("isscalar", 2.5),
    call("iterable", [1]),
]

MADE = [
    *(call(name, 5) for name in words("bartlett blackman hamming hanning identity")),
    *(call(name, A) for name in words("ones_like zeros_like empty_like")),
    *(call(name, (2, 3)) for name in words("ones zeros empty")),
    *(call(name, 3) for name in words("tril_indices triu_indices diag_indices tri")),
    *(call(name, S) for name in words("tril_indices_from triu_indices_from")),
    call("diag_indices_from", S),
    call("kaiser", 5, 2.5),
    call("array", [1, 2.5]),
    call("array", [True, 2]),
    call("asarray", [1, 2]),
    call("asarray", 1j),
    call("asarray", True),
    call("asarray", A.astype(np.float16)),
    call("arange", 5),
    call("arange", 5.0),
    call("arange", 1, 7, 2),
    call("linspace", 0, 1, 5),
    call("linspace", 0, 8, 5, dtype=np.dtype("int32")),
    call("logspace", 0, 1, 3),
    call("geomspace", 1, 4, 3),
    call("eye", 3),
    call("eye", 2, 3, k=1, dtype=np.dtype("int16")),
    call("full", (2,), 3),
    call("full", (2,), 2.5),
    call("full", (2,), True),
    call("full_like", I, 2.5),
    call("fft.fftfreq", 5),
    call("fft.rfftfreq", 5, 0.5),
    call("fromfunction", _sum, (2, 3)),
    call("indices", (2, 3)),
    call("ix_", PLACES, PLACES),
    call("mask_indices", 3, np.tril),
    call("ravel_multi_index", (PLACES, PLACES), (3, 4)),
    call("unravel_index", PLACES, (2, 2)),
    call("vander", I[0], 3),
    call("fromstring", "1 2", np.dtype("float32"), sep=" "),
    call("frombuffer", b"\1\0\0\0", np.dtype("int32")),
]

COMPLEX = [
    *(call(name, Z) for name in words("angle sort_complex conj real imag abs exp")),
    *(
        call(f"fft.{name}", Z)
        for name in words(
            "fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift irfft2 irfftn"
        )
    ),
    *(call(f"fft.{name}", A) for name in words("ihfft rfft rfft2 rfftn fft")),
    call("linalg.eigvals", S),
    call("linalg.cond", S),
    call("linalg.lstsq", M, V[[0, 1, 2, 3, 0]]),
    call("linalg.svd", M, compute_uv=False),
    call("linalg.qr", S, mode="r"),
]

UPDATES = [
    call("fill_diagonal", S, 0.5, inplace=False),
    call("place", A, A > 0.5, B, inplace=False),
    call("put", A, PLACES, V[:3], inplace=False),
    call("put_along_axis", A, PLACES[:, None], 0.5, 1, inplace=False),
    call("apply_over_axes", np.sum, A, [0]),
    call("piecewise", A, [A < 0.4, A > 0.6], [-1, 2.5]),
]

SMALL_INTEGERS = [
    *(
        call(name, BYTES)
        for name in words(
            "sum prod mean std var cumsum cumprod max ptp median average "
            "diff ediff1d nansum nanmean nanprod nancumsum nancumprod cov "
            "sqrt sin exp2 log sinc i0 square abs negative floor round "
            "nan_to_num deg2rad reciprocal sign trapezoid gradient unwrap cbrt"
        )
    ),
    *(
        call(name, I, J)
        for name in words(
            "divide true_divide floor_divide remainder mod fmod float_power "
            "hypot arctan2 logaddexp logaddexp2 copysign heaviside maximum fmax "
            "multiply inner kron vdot outer"
        )
    ),
    *(call(name, T) for name in words("sum prod mean cumsum argmax any std")),
    call("quantile", I, 0.5),
    call("percentile", I, 50),
    call("interp", I, np.sort(J[1]), J[2]),
    call("linalg.norm", I),
    call("linalg.det", I[:3, :3]),
    call("linalg.inv", J[:3, :3]),
    call("fft.fft", I),
    call("convolve", I[0], J[0]),
    call("matmul", I, J.T),
    call("trace", BYTES[:, None] * BYTES),
    call("tile", I, (2, 1)),
    call("where", T, I, 2.5),
    call("clip", I, 2, 6.5),
    call("select", [I > 5], [I], 1.5),
    call("pad", BYTES, 1, constant_values=7),
    call("polyval", I[0], 2),
    call("polyint", I[0]),
    call("polyder", I[0]),
    call("insert", I, 1, 2.5),
    call("append", I, A),
    call("concat", [I, A]),
    call("stack", [BYTES, I[0, :3]]),
    call("einsum", "ij,ij->i", I, A),
    call("average", I, weights=A),
]

CALLS: dict[str, Call] = {
    **functions.CALLS,
    **{
        f"{c.name}+{i}": c
        for i, c in enumerate(
            [
                *INTEGERS,
                *DISTINCT,
                *FACTS,
                *MADE,
                *COMPLEX,
                *UPDATES,
                *SMALL_INTEGERS,
            ]
        )
    },
}
"""By name and number."""

WITHOUT_A_CALL: dict[str, str] = {
    "from_dlpack": "tests/numpy/test_creation.py",
    "fromfile": "tests/numpy/test_creation.py",
    "fromiter": "jax.numpy refuses it",
    "array_repr": "text",
    "einsum_path": "text, tests/numpy/test_ufuncs.py",
    "array_str": "text",
    "finfo": "facts of types, tests/numpy/test_promotion.py",
    "iinfo": "facts of types, tests/numpy/test_promotion.py",
    "get_printoptions": "JAX's own",
    "set_printoptions": "JAX's own",
    "printoptions": "JAX's own",
    "apply_along_axis": "takes a function, tests/numpy/test_ufuncs.py",
    "frompyfunc": "takes a function, tests/numpy/test_ufuncs.py",
    "vectorize": "takes a function, tests/numpy/test_ufuncs.py",
    "__array_namespace_info__": "has its own result",
    "linalg.eig": "vectors have no certain sign; eigvals has a call",
    "linalg.eigh": "vectors have no certain sign; eigvalsh has a call",
}
"""What is tried elsewhere, or has no single result."""
