"""The accounts of a storm: a match that vanishes is found, and so is one that is counted twice."""

from __future__ import annotations

import pytest
from tests.storm import accounting
from tests.storm.accounting import Account

from ludus.metrics import names

WHOLE = {
    names.BEGUN: "20",
    names.MATCHES: "10",
    names.VOIDED: "4",
    names.VOIDED_BY("died"): "3",
    names.VOIDED_BY("hung"): "1",
    names.UNFINISHED: "",
    names.UNDER_WAY: "6",
    names.VOIDED_DECISIONS: "31",
    names.DECISIONS: "200",
    names.PHASE: "training",
}


def test_a_report_in_which_all_matches_are_accounted_for_has_no_errors() -> None:
    assert accounting.errors([WHOLE, {}], matches=6) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({names.BEGUN: "21"}, "1 matches are missing"),
        ({names.MATCHES: "12"}, "-2 matches are missing"),
        ({names.UNDER_WAY: "7", names.BEGUN: "21"}, "7 matches are under way, there is room for 6"),
        ({names.VOIDED: "5"}, "match/voided is 5, its reasons are {'died': 3, 'hung': 1}"),
    ],
)
def test_what_does_not_add_up_is_said(change: dict[str, str], words: str) -> None:
    assert words in "\n".join(accounting.errors([WHOLE, {**WHOLE, **change}], matches=6))


def test_many_errors_are_cut_short() -> None:
    errors = accounting.errors([{**WHOLE, names.BEGUN: "21"}] * 100, matches=6)
    assert len(errors) == accounting.ENOUGH + 1
    assert errors[-1] == "and more"


def test_accounts_of_several_runs_add_up() -> None:
    one = accounting.account(accounting.numbers_of(WHOLE))
    both = one.plus(Account(begun=5, ended=3, voided={"hung": 1, "actor": 1}, decisions=9))
    assert (both.begun, both.ended, both.decisions, both.missing) == (25, 13, 209, 0)
    assert both.voided == {"actor": 1, "died": 3, "hung": 2}


def test_what_came_after_the_checkpoint_of_a_killed_run_is_rolled_back() -> None:
    checkpoint = {names.BEGUN: 15.0, names.DECISIONS: 150.0}
    assert accounting.rolled_back(accounting.numbers_of(WHOLE), checkpoint) == (5, 50)
    assert accounting.rolled_back({}, checkpoint) == (0, 0)
