"""The samplers of `jax.random`, as arrays on disk: the same bits, made block by block.

`jask.random.normal(key, shape)` has the values of `jax.random.normal(key, shape)`,
whatever the blocks are: each element is a hash of the key and of its own position. So
noise, dropout and initial values larger than memory are made where they are used.

1. Keys are JAX's own and stay in memory: `key`, `split`, `fold_in` and the like.
2. A sampler is a lazy operation on its key and its array parameters; it works under
   jit, grad and vmap (over keys, too), and a program is the same for all keys.
3. Samplers stream. `poisson` and `binomial` reject until the last element is done: the
   blocks are drawn once to count how often, and once more to draw so often.
   Permutations sort; what does not fit memory is sorted in scratch. `multinomial`,
   `orthogonal` and `multivariate_normal`'s factors need their operands in memory.

The bits are those of `jax_threefry_partitionable=True`, JAX's default; `out_sharding=`
is not a parameter. JAX's other generators work, too; `rbg` runs in memory.
"""

import jax

from jask.random._sampler import sampler as _sampler

Key = jax.random.Key
PRNGKey = jax.random.PRNGKey
clone = jax.random.clone
fold_in = jax.random.fold_in
key = jax.random.key
key_data = jax.random.key_data
key_dtype = jax.random.key_dtype
key_impl = jax.random.key_impl
split = jax.random.split
wrap_key_data = jax.random.wrap_key_data

ball = _sampler(
    "ball",
    "Points in the unit ball of a norm",
    "3, shape=(2,) -> shape=(2, 3), dtype=float32",
)
bernoulli = _sampler(
    "bernoulli",
    "Booleans that are true with probability p",
    "0.3 -> shape=(), dtype=bool",
)
beta = _sampler(
    "beta",
    "Numbers with a beta distribution",
    "2.0, 3.0, (4,) -> shape=(4,), dtype=float32",
)
binomial = _sampler(
    "binomial",
    "Successes of n trials",
    "9.0, 0.3, (4,) -> shape=(4,), dtype=float32",
)
bits = _sampler(
    "bits", "Bits, as unsigned integers", "(2, 3) -> shape=(2, 3), dtype=uint32"
)
categorical = _sampler(
    "categorical",
    "Classes by log-odds",
    "jax.numpy.zeros((2, 3)) -> shape=(2,), dtype=int32",
)
cauchy = _sampler(
    "cauchy",
    "Numbers with a Cauchy distribution",
    "(2, 3) -> shape=(2, 3), dtype=float32",
)
chisquare = _sampler(
    "chisquare",
    "Sums of squares of normal numbers",
    "3.0, (4,) -> shape=(4,), dtype=float32",
)
choice = _sampler(
    "choice", "Elements of an array", "5, (4,) -> shape=(4,), dtype=int32"
)
dirichlet = _sampler(
    "dirichlet",
    "Points of a simplex",
    "jax.numpy.ones(3), (2,) -> shape=(2, 3), dtype=float32",
)
double_sided_maxwell = _sampler(
    "double_sided_maxwell",
    "Numbers with a two-sided Maxwell law",
    "0.0, 1.0, (4,) -> shape=(4,), dtype=float32",
)
exponential = _sampler(
    "exponential", "Waiting times", "(2, 3) -> shape=(2, 3), dtype=float32"
)
f = _sampler(
    "f",
    "Quotients of two chi-square numbers",
    "3.0, 4.0, (4,) -> shape=(4,), dtype=float32",
)
gamma = _sampler(
    "gamma",
    "Numbers with a gamma distribution",
    "2.0, (4,) -> shape=(4,), dtype=float32",
)
generalized_normal = _sampler(
    "generalized_normal",
    "Numbers with density exp(-|x|**p)",
    "3.0, (4,) -> shape=(4,), dtype=float32",
)
geometric = _sampler(
    "geometric",
    "Trials up to the first success",
    "0.3, (4,) -> shape=(4,), dtype=int32",
)
gumbel = _sampler(
    "gumbel",
    "Numbers with a Gumbel distribution",
    "(2, 3) -> shape=(2, 3), dtype=float32",
)
laplace = _sampler(
    "laplace", "Numbers with density exp(-|x|)", "(2, 3) -> shape=(2, 3), dtype=float32"
)
loggamma = _sampler(
    "loggamma", "Logarithms of gamma numbers", "0.1, (4,) -> shape=(4,), dtype=float32"
)
logistic = _sampler(
    "logistic",
    "Numbers with a logistic distribution",
    "(2, 3) -> shape=(2, 3), dtype=float32",
)
lognormal = _sampler(
    "lognormal",
    "Exponentials of normal numbers",
    "0.5, (4,) -> shape=(4,), dtype=float32",
)
maxwell = _sampler(
    "maxwell", "Lengths of normal vectors in space", "(4,) -> shape=(4,), dtype=float32"
)
multinomial = _sampler(
    "multinomial",
    "Counts of outcomes",
    "5.0, jax.numpy.ones(3) / 3 -> shape=(3,), dtype=float32",
    whole=True,
)
multivariate_normal = _sampler(
    "multivariate_normal",
    "Normal vectors of a covariance",
    "jax.numpy.zeros(2), jax.numpy.eye(2) -> shape=(2,), dtype=float32",
)
normal = _sampler(
    "normal", "Standard normal numbers", "(2, 3) -> shape=(2, 3), dtype=float32"
)
orthogonal = _sampler(
    "orthogonal", "Orthogonal matrices", "3 -> shape=(3, 3), dtype=float32", whole=True
)
pareto = _sampler(
    "pareto",
    "Numbers with a Pareto distribution",
    "2.0, (4,) -> shape=(4,), dtype=float32",
)
permutation = _sampler(
    "permutation", "A random order of rows", "5 -> shape=(5,), dtype=int32"
)
poisson = _sampler(
    "poisson",
    "Counts of rare events",
    "3.0, (4,) -> shape=(4,), dtype=int32",
)
rademacher = _sampler(
    "rademacher", "Signs, 1 or -1", "(2, 3) -> shape=(2, 3), dtype=int32"
)
randint = _sampler(
    "randint", "Integers from an interval", "(2, 3), 0, 10 -> shape=(2, 3), dtype=int32"
)
rayleigh = _sampler(
    "rayleigh",
    "Lengths of normal vectors in a plane",
    "1.0, (4,) -> shape=(4,), dtype=float32",
)
t = _sampler(
    "t", "Numbers with Student's distribution", "3.0, (4,) -> shape=(4,), dtype=float32"
)
triangular = _sampler(
    "triangular",
    "Numbers with a triangular density",
    "0.0, 1.0, 3.0 -> shape=(), dtype=float32",
)
truncated_normal = _sampler(
    "truncated_normal",
    "Normal numbers from an interval",
    "-1.0, 1.0, (2, 3) -> shape=(2, 3), dtype=float32",
)
uniform = _sampler(
    "uniform", "Numbers from [minval, maxval)", "(2, 3) -> shape=(2, 3), dtype=float32"
)
wald = _sampler(
    "wald", "Numbers with a Wald distribution", "1.0, (4,) -> shape=(4,), dtype=float32"
)
weibull_min = _sampler(
    "weibull_min",
    "Numbers with a Weibull law",
    "1.0, 2.0, (4,) -> shape=(4,), dtype=float32",
)

__all__ = [
    "Key", "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical",
    "cauchy", "chisquare", "choice", "clone", "dirichlet", "double_sided_maxwell",
    "exponential", "f", "fold_in", "gamma", "generalized_normal", "geometric", "gumbel",
    "key", "key_data", "key_dtype", "key_impl", "laplace", "loggamma", "logistic",
    "lognormal", "maxwell", "multinomial", "multivariate_normal", "normal",
    "orthogonal", "pareto", "permutation", "poisson", "rademacher", "randint",
    "rayleigh", "split", "t", "triangular", "truncated_normal", "uniform", "wald",
    "weibull_min", "wrap_key_data",
]  # fmt: skip


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*__all__, *(n for n in globals() if n.startswith("__"))})
