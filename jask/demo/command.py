"""The demo from its options to its printed figures."""

import argparse
import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax

import jask
from jask.config import parse_size
from jask.demo import train
from jask.demo.data import DemoError, Split, grown_digits, own_data
from jask.demo.extras import progress_bar
from jask.demo.measure import PeakMemory, Phase, measured
from jask.execute.ledger import RESERVE

LEAST_BUDGET = 1_000_000
"""Bytes with which every step of the demo runs."""

_DIVERGED = (
    "The loss of step {} is {}: the features must be finite numbers, of moderate size "
    "once they are standardised. `jnp.sum(~jnp.isfinite(x), axis=0)` counts the others "
    "in each column; fill or drop them first."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the demo."""
    add = parser.add_argument
    add("--size", default="1GB", help="bytes of features to grow (default 1GB)")
    add("--budget", default="128MB", help="memory budget (default 128MB)")
    add("--data", type=Path, help="your own features: X.npy of shape (rows, features)")
    add("--labels", type=Path, help="your own labels: y.npy of shape (rows,)")
    add("--steps", type=int, default=40, help="steps over all rows (default 40)")
    add("--keep", type=Path, help="keep the files in this folder")
    add("--seed", type=int, default=0, help="seed of the grown digits (default 0)")


def run_demo(options: argparse.Namespace) -> None:
    """Run the main job."""
    _check(options)
    with (
        _folder(options.keep) as folder,
        jask.config(memory_budget=options.budget, scratch_dir=folder),
    ):
        split = _split(options, folder)
        budget = parse_size(options.budget)
        print(
            f"features {split.x.nbytes / 1e6:,.0f} MB, shape {split.x.shape}; "
            f"memory budget {budget / 1e6:,.0f} MB "
            f"({split.x.nbytes / budget:.1f} times less)"
        )
        with PeakMemory() as memory:
            phases = _job(split, folder, options.steps)
    print()
    for phase in phases:
        print(phase.line(split.x.nbytes))
    print(
        f"measured peak {memory.growth / 1e6:,.0f} MB above the start "
        f"(budget {budget / 1e6:,.0f} MB and a reserve of {RESERVE / 1e6:,.0f} MB)"
    )


def _check(options: argparse.Namespace) -> None:
    if (options.data is None) != (options.labels is None):
        raise DemoError("--data and --labels belong together; give both or neither.")
    budget = parse_size(options.budget)
    if budget < LEAST_BUDGET:
        msg = f"--budget must be at least 1MB; got {options.budget}, {budget} bytes."
        raise DemoError(msg)
    if options.steps < 1:
        msg = f"--steps must be at least 1; got {options.steps}."
        raise DemoError(msg)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """Make a folder that is removed at the end, or use the one to keep."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        print(f"kept in {keep}: {', '.join(sorted(p.name for p in keep.iterdir()))}")
        return
    folder = Path(tempfile.mkdtemp(prefix="jask-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _split(options: argparse.Namespace, folder: Path) -> Split:
    if options.data is not None:
        return own_data(options.data, options.labels)
    size = parse_size(options.size)
    free = shutil.disk_usage(folder).free
    if 2.2 * size > free:
        msg = (
            f"--size {options.size} needs {2.2 * size / 1e9:.1f} GB in {folder}, where "
            f"{free / 1e9:.1f} GB are free; set TMPDIR or --keep to a larger disk."
        )
        raise DemoError(msg)
    return grown_digits(folder, size, options.seed)


def _job(split: Split, folder: Path, steps: int) -> list[Phase]:
    """Standardise, train, evaluate, predict; print as it goes."""
    with measured("standardise") as standardising:
        mean, deviation = train.statistics(split.x)
        jask.save(folder / "scaled.npy", train.standardise(split.x, mean, deviation))
    x = jask.open(folder / "scaled.npy")
    held_x = train.standardise(split.held_x, mean, deviation)
    with measured(f"train, {steps} steps") as training:
        params = _train(x, split, steps)
    with measured("evaluate and predict") as evaluating:
        held_out = train.accuracy(params, held_x, split.held_labels)
        train.save_predictions(
            params,
            {
                folder / "predictions.npy": x,
                folder / "held_predictions.npy": held_x,
            },
        )
    print(f"test accuracy {held_out:.1%} on {split.held_labels.size} held-out rows")
    print("\nthe plan of one training step:")
    print(train.plan_of_step(params, x, split.labels))
    return [standardising, training, evaluating]


def _train(x: jask.DiskArray, split: Split, steps: int) -> train.Params:
    params = train.fresh(x.shape[-1], split.classes)
    velocity = jax.tree.map(lambda p: 0 * p, params)
    with progress_bar(steps, "training", "step") as bar:
        for number in range(1, steps + 1):
            params, velocity, value = train.step(params, velocity, x, split.labels)
            loss = float(value)
            bar.write(f"step {number:3d}: loss {loss:.4f}")
            if not math.isfinite(loss):
                raise DemoError(_DIVERGED.format(number, loss))
            bar.update()
    return params
