"""Softmax regression through the disk.

1. The features are standardised by their means and deviations into a new file.
2. Each step of gradient descent with momentum is one jitted call; the loss and the
   gradients of one step come from one pass over the features.
3. The class of a row is the largest of its scores.

The features may have leading axes of any number; the last one is the features.
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as in_memory
import numpy as np

import jask
import jask.numpy as jnp
from jask.demo.data import OnDisk

RATE = 0.5
"""Length of a step along the velocity."""
MOMENTUM = 0.9
"""How much of the velocity a step keeps."""

type Params = dict[str, Any]
"""`weights` (features, classes) and `bias` (classes,)."""


def statistics(x: OnDisk) -> tuple[jax.Array, jax.Array]:
    """Return mean and deviation of each feature, in one pass; a constant one has 1."""
    leading = tuple(range(x.ndim - 1))
    mean, deviation = jask.materialize(
        jnp.mean(x, axis=leading), jnp.std(x, axis=leading)
    )
    return mean, in_memory.where(deviation > 0, deviation, 1)


def standardise(x: OnDisk, mean: jax.Array, deviation: jax.Array) -> OnDisk:
    """Return features of mean 0 and deviation 1."""
    return (x - mean) / deviation


def fresh(features: int, classes: int) -> Params:
    """Return parameters that know nothing."""
    return {
        "weights": in_memory.zeros((features, classes), np.float32),
        "bias": in_memory.zeros(classes, np.float32),
    }


def scores(params: Params, x: OnDisk) -> OnDisk:
    """Return a score for each class of each row."""
    return jnp.matmul(x, params["weights"]) + params["bias"]


def loss_on_disk(params: Params, x: OnDisk, labels: OnDisk) -> OnDisk:
    """Return minus the mean log-softmax at the label."""
    score = scores(params, x)
    above = score - jnp.max(score, axis=-1, keepdims=True)
    log_softmax = above - jnp.log(jnp.sum(jnp.exp(above), axis=-1, keepdims=True))
    classes = in_memory.arange(score.shape[-1], dtype=labels.dtype)
    at_label = jnp.expand_dims(labels, axis=-1) == classes
    picked = jnp.where(at_label, log_softmax, np.float32(0))
    return -jnp.sum(picked) / labels.size


def loss(params: Params, x: OnDisk, labels: OnDisk) -> jax.Array:
    """Return the loss as an in-memory scalar, which `jax.grad` wants."""
    value: jax.Array = jask.materialize(loss_on_disk(params, x, labels))
    return value


@jax.jit
def step(
    params: Params, velocity: Params, x: OnDisk, labels: OnDisk
) -> tuple[Params, Params, jax.Array]:
    """Return parameters and velocity after one step, and the loss before it."""
    value, slope = jax.value_and_grad(loss)(params, x, labels)
    velocity = jax.tree.map(lambda v, g: MOMENTUM * v - g, velocity, slope)
    params = jax.tree.map(lambda p, v: p + RATE * v, params, velocity)
    return params, velocity, value


def plan_of_step(params: Params, x: OnDisk, labels: OnDisk) -> str:
    """Return how loss and gradients of one step are computed; nothing is read."""
    on_disk = jax.tree.map(lambda p: jask.from_numpy(np.asarray(p)), params)
    value, pull_back = jax.vjp(lambda p: loss_on_disk(p, x, labels), on_disk)
    (slope,) = pull_back(jask.from_numpy(np.ones((), value.dtype)))
    words: str = jask.explain(value, *jax.tree.leaves(slope))
    return words


def accuracy(params: Params, x: OnDisk, labels: OnDisk) -> float:
    """Return the fraction of rows whose label is predicted."""
    right = jnp.argmax(scores(params, x), axis=-1) == labels.astype(np.int64)
    count = float(jask.materialize(jnp.sum(right)))
    return count / int(labels.size)


def save_predictions(params: Params, files: dict[Path, OnDisk]) -> None:
    """Write the predicted class of each row of several arrays."""
    jask.save({path: jnp.argmax(scores(params, x), -1) for path, x in files.items()})
