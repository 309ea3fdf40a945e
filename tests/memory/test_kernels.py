"""The code of many kernels stays within the reserve."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from jask.execute.ledger import RESERVE
from tests.memory import kernels
from tests.memory.process import measured


def growth(what: str, folder: Path, budget: int, sides: Sequence[int]) -> int:
    """Run programs in a process of their own; return by how much its memory grew."""
    return int(measured(kernels.__file__, what, folder, budget, *sides))


@pytest.mark.memory
def test_the_gradient_of_a_chain_of_products_with_prime_sides_fits(tmp_path: Path):
    assert growth("chain", tmp_path, 10_000_000, [2003]) <= 10_000_000 + RESERVE


@pytest.mark.memory
def test_sixty_programs_of_many_kernels_fit(tmp_path: Path):
    """Nine kernels each: 171 MB grew when the kept plans might take 64 MiB."""
    sides = range(401, 521, 2)
    assert growth("layer", tmp_path, 600_000, sides) <= 600_000 + RESERVE
