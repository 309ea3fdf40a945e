"""A plan in words: sizes, passes, and what is over the budget."""

import jax.numpy as jnp
import pytest

from jask.plan.explain import describe, size
from jask.plan.ir import Limits
from tests.plan.programs import call, plan_of, source


@pytest.mark.parametrize(
    ("nbytes", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1500, "1.5 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (12_345_678, "12.3 MB"),
        (10**9 - 1, "1 GB"),
        (3 * 10**12, "3 TB"),
        (1234 * 10**12, "1234 TB"),
    ],
)
def test_a_size_has_three_digits_and_the_right_unit(nbytes: int, words: str):
    assert size(nbytes) == words


def lines_of(fn, *operands, limits: Limits) -> list[str]:
    plan, program = plan_of(call(fn, *operands), limits)
    return describe(plan, program).splitlines()


def test_the_first_line_counts_passes_bytes_and_memory():
    x = source((1 << 20,))
    first, *_ = lines_of(lambda x: jnp.exp(x) * 2, x, limits=Limits(memory=10**8))
    assert first.startswith("1 pass: reads 4.19 MB (least possible 4.19 MB), ")
    assert "writes 4.19 MB (least possible 4.19 MB)" in first
    assert "of a budget of 100 MB" in first
    assert first.endswith("scratch 0 B")


def test_what_is_stored_in_between_is_scratch():
    x = source((1024, 1024))
    limits = Limits(memory=3 << 20)
    first, *rest = lines_of(lambda x: (x @ x) @ x, x, limits=limits)
    assert first.startswith("2 passes: ")
    assert "(least possible 4.19 MB), writes 8.39 MB" in first
    assert first.endswith("scratch 4.19 MB")
    folds = [line for line in rest if line.startswith("  folds ")]
    assert folds == ["  folds  dot_general: float32[1024,1024] disk 4.19 MB"] * 2


def test_each_kind_of_root_has_its_verb():
    x = source((1 << 20, 8))
    text = "\n".join(
        lines_of(
            lambda x: (jnp.sum(x, 0), jnp.cumsum(x, 0), jnp.sin(x)),
            x,
            limits=Limits(memory=10**7),
        )
    )
    for words in ("folds  reduce_sum:", "scans  cumsum:", "maps   sin:"):
        assert words in text
    assert "decisions:" in text


def test_the_pass_that_is_over_the_budget_is_marked():
    x = source((1 << 20,))
    plan, program = plan_of(call(jnp.sin, x), Limits(memory=10**8))
    assert "over the budget" not in describe(plan, program)
    plan.passes[0].memory = 10**8 + 1
    assert "<-- over the budget" in describe(plan, program)
