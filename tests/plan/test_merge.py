"""Roots that read the same share a pass where that costs nothing."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp

from jask.plan.ir import Limits
from jask.plan.merge import Merger, _merge_pairs
from tests.plan.pieces import pieces
from tests.plan.programs import source

X, Y = source((4096, 256)), source((4096, 256))
LIMITS = Limits(memory=1 << 24)


def passes(fn: Any, *operands: Any) -> list[list[str]]:
    """Return the names of the roots of each pass, all of one level."""
    found = pieces(fn, *operands, limits=LIMITS)
    merger = Merger(found.places, LIMITS, found.links, LIMITS.memory)
    made = merger.passes(found.roots(LIMITS))
    return sorted(sorted(r.producer_name for r in p.roots) for p in made)


def test_reductions_of_one_file_share_a_pass():
    both = passes(lambda x: (jnp.sum(x, 0), jnp.max(x, 0)), X)
    assert both == [["reduce_max", "reduce_sum"]]


def test_reductions_of_different_files_do_not():
    apart = passes(lambda x, y: (jnp.sum(x, 0), jnp.max(y, 0)), X, Y)
    assert apart == [["reduce_max"], ["reduce_sum"]]


def test_a_root_that_reads_both_files_joins_all():
    joined = passes(
        lambda x, y: (jnp.sum(x, 0), jnp.max(y, 0), jnp.min(x + y, 0)), X, Y
    )
    assert joined == [["reduce_max", "reduce_min", "reduce_sum"]]


def test_what_runs_whole_has_a_pass_of_its_own():
    apart = passes(lambda x: (jnp.sum(x, 0), jnp.linalg.qr(x)[1]), X)
    assert ["reduce_sum"] in apart
    assert any("qr" in names for names in apart)


def test_pairs_are_joined_until_none_is_cheaper():
    costs: dict[Any, Any] = {}

    def named(name: str) -> Any:
        return costs.setdefault(name, SimpleNamespace(name=name))

    asked: list[str] = []

    def join(a: Any, b: Any) -> Any:
        both = "".join(sorted(a.name + b.name))
        asked.append(both)
        return named(both) if both in {"ab", "abd"} else None

    found: Any = _merge_pairs([named(n) for n in "abcd"], join)
    assert sorted(p.name for p in found) == ["abd", "c"]
    assert len(asked) == len(set(asked))  # a refused pair is not asked about again
