"""One workload a file; the order of the table.

Each file says: TITLE; `shapes(size)` of its inputs; `least(shapes)`, the bytes that
must be read and written; `output(shapes)`, the shape of the file it writes, if it does;
RTOL; `reference(paths)`, the right values in float64 by blockwise NumPy (for a file,
its rows in the blocks of `check.blocks_of`); and one function per library, which takes
the input paths and the output path and returns small values by name. A library without
a function takes no part.
"""

ORDER = (
    "sum",
    "standardise",
    "softmax",
    "least_squares",
    "logistic",
    "logistic_at_once",
    "logistic_eager",
    "training_step",
    "transpose",
    "cumulative_sum",
    "stencil",
    "matmul",
)
