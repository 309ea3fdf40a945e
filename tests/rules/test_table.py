"""The table of rules as a whole."""

import pytest

import jask.rules as _rules  # noqa: F401 - fills the tables
from jask._jax import ALL_PRIMITIVES
from jask.rules._table import REFUSALS, RULES, Rule, refuse, register
from jask.rules.control import INLINED
from jask.trace.flatten import CALLS, IDENTITIES

OWN = {"moments", "logsumexp_parts"}


@pytest.mark.parametrize("name", sorted(ALL_PRIMITIVES))
def test_each_primitive_has_a_rule_or_a_reason(name: str) -> None:
    rows = [name in RULES, name in REFUSALS, name in INLINED]
    assert rows.count(True) == 1


def test_each_reason_says_something() -> None:
    assert all(len(reason) > 20 for reason in REFUSALS.values())


@pytest.mark.parametrize("name", ["add", "while"])
def test_a_second_row_for_a_primitive_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} already has a row"):
        register([name], Rule())
    with pytest.raises(ValueError, match=f"{name} already has a row"):
        refuse([name], reason="it has one")


def test_the_tables_cannot_be_changed_from_outside() -> None:
    with pytest.raises(TypeError):
        RULES["new"] = Rule()  # type: ignore[index]


def test_the_programs_own_folds_have_rules() -> None:
    assert all(RULES[name].kind == "reduce" for name in OWN)


def test_primitives_that_the_program_inlines_have_no_rule() -> None:
    assert not set(CALLS) & {*RULES, *REFUSALS}
    assert {n for n in CALLS if n in ALL_PRIMITIVES} <= set(INLINED)


def test_primitives_that_the_program_drops_are_not_refused() -> None:
    assert not IDENTITIES & set(REFUSALS)
