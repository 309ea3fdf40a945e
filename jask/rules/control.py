"""Control flow: what is inlined before rules are asked, and what runs in memory.

Functions called by a primitive are inlined when the program is built, so they have
neither rule nor refusal. Loops and branches choose at run time what they do; they run
as one step with their operands in memory, except for loops that `loops` finds to
treat all rows alike.
"""

from jask.rules._table import refuse

INLINED = (
    "jit",
    "remat2",
    "custom_jvp_call",
    "custom_vjp_call",
    "eval_jaxpr",
    "custom_lin",
    "custom_linear_solve",
    "random_bits",
    "random_clone",
    "random_fold_in",
    "random_gamma",
    "random_seed",
    "random_split",
    "random_unwrap",
    "random_wrap",
)
"""Primitives that only call a function, which is inlined: jit, checkpoint, custom
derivatives, the solver of a linear system, what a generator does with random keys.
(`custom_lin` exists only while JAX differentiates.)"""

refuse(
    ["while", "steady_while", "scan", "cond"],
    reason="what a loop or branch does is decided at run time",
)
