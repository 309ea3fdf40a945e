"""Primitives without a rule, and why: they run in memory if they fit the budget."""

from jask.rules._table import refuse

refuse(
    ["split"],
    reason="its results differ in shape; the program holds slices instead",
)
refuse(
    ["qr", "lu", "svd", "eig", "eigh", "hessenberg", "tridiagonal", "geqrf", "geqp3"],
    reason="it decomposes one matrix, all of it (a stack of matrices is streamed)",
)
refuse(["cholesky_update"], reason="it needs all of its one matrix")
refuse(
    ["approx_top_k"],
    reason="which elements it returns depends on how its operand is cut",
)
refuse(
    ["select_and_scatter"],
    reason="it scatters by a function that need not be associative",
)
refuse(
    ["reduce"],
    reason="it reduces by a function that need not be associative in floating point",
)
refuse(
    ["rng_bit_generator", "rng_uniform"],
    reason="its bits are one stream that cannot be cut",
)
refuse(
    [
        "all_gather",
        "all_to_all",
        "axis_index",
        "pmax",
        "pmin",
        "ppermute",
        "psum",
        "ragged_all_to_all",
    ],
    reason="it speaks to other devices; jask runs on one",
)
refuse(
    ["get", "swap", "addupdate"],
    reason="it reads or writes a mutable reference",
)
refuse(
    ["after_all", "create_token"],
    reason="it orders side effects, which a program does not have",
)
