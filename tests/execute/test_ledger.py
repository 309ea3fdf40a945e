"""The ledger: who waits for memory, and who must not."""

import threading

import pytest

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
