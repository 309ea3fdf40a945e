"""The ledger: who waits for memory, and who must not."""

import threading

import pytest

from jask.errors import MemoryBudgetError
from jask.execute.ledger import Ledger


def claimed_elsewhere(ledger: Ledger, nbytes: int, *, nested: bool = False):
    """Claim on another thread, out of a budget of 1000; return it and when it holds."""
    granted = threading.Event()

    def work() -> None:
        if nested:
            with ledger.inside(), ledger.claim(nbytes, 1000):
                granted.set()
        else:
            with ledger.claim(nbytes, 1000):
                granted.set()

    thread = threading.Thread(target=work)
    thread.start()
    return thread, granted


def test_a_claim_that_does_not_fit_waits_until_it_does():
    ledger = Ledger()
    with ledger.claim(600, 1000):
        thread, granted = claimed_elsewhere(ledger, 500)
        assert not granted.wait(0.05)
        assert ledger.held == 600
    assert granted.wait(10)
    thread.join()
    assert ledger.held == 0


@pytest.mark.parametrize(("nbytes", "nested"), [(500, True), (15, False), (400, False)])
def test_nested_small_and_fitting_claims_do_not_wait(nbytes: int, nested: bool):
    ledger = Ledger()
    with ledger.claim(600, 1000):
        thread, granted = claimed_elsewhere(ledger, nbytes, nested=nested)
        assert granted.wait(10)
        thread.join()


def test_a_claim_over_the_whole_budget_is_granted_when_nobody_holds_anything():
    ledger = Ledger()
    with ledger.claim(2000, 1000):
        assert ledger.held == 2000


def test_a_claim_is_given_back_after_an_error():
    ledger = Ledger()
    with pytest.raises(KeyError), ledger.claim(600, 1000):
        raise KeyError
    assert ledger.held == 0


def test_nobody_waits_for_an_evaluation_that_calls_back():
    ledger = Ledger()
    with ledger.claim(600, 1000, calls_back=True):
        thread, granted = claimed_elsewhere(ledger, 500)
        assert granted.wait(10)
        thread.join()
        with ledger.claim(100, 1000):  # but for one that does not
            thread, granted = claimed_elsewhere(ledger, 500)
            assert not granted.wait(0.05)
    assert granted.wait(10)
    thread.join()
    assert ledger.held == 0


@pytest.mark.parametrize(
    ("held", "calls_back", "share"),
    [
        (600, True, 256),
        (400, True, 512),
        (1024, True, 16),
        (5000, True, 16),
        (1024, False, 1024),
    ],
)
def test_what_may_call_back_leaves_a_part_of_the_budget(
    held: int, calls_back: bool, share: int
):
    ledger = Ledger()
    with ledger.claim(held, 1024, calls_back=calls_back), ledger.share(1024) as found:
        assert found == share
    with ledger.share(1024) as found:
        assert found == 1024


def test_within_a_step_all_that_is_held_is_lacking():
    ledger = Ledger()
    with ledger.claim(600, 1024), ledger.inside(), ledger.share(1024) as found:
        assert found == 256


def test_the_error_says_who_holds_the_rest():
    ledger = Ledger()
    with pytest.raises(MemoryBudgetError) as caught, ledger.share(1024):
        raise MemoryBudgetError
    assert not hasattr(caught.value, "__notes__")
    with (
        pytest.raises(MemoryBudgetError) as caught,
        ledger.claim(600, 1024, calls_back=True),
        ledger.share(1024),
    ):
        raise MemoryBudgetError
    (note,) = caught.value.__notes__
    assert "256 bytes" in note
    assert "holds 600 bytes" in note


@pytest.mark.parametrize("held", [0, 10, 600, 1000, 5000])
@pytest.mark.parametrize("part", [1, 100, 700, 1024])
def test_of_the_whole_an_evaluation_gets_the_part_at_least(held: int, part: int):
    ledger = Ledger()
    with ledger.claim(held, 10_000, calls_back=True):
        whole = ledger.whole(part)
        with ledger.share(whole) as found:
            assert found >= part
