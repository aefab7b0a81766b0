"""What a storm came to: problems are said, figures add up, the page has them."""

from __future__ import annotations

from collections import Counter

from tests.storm import outcome
from tests.storm.accounting import Account
from tests.storm.outcome import Outcome


def calm() -> Outcome:
    return Outcome(
        "toy",
        1,
        seconds=60.0,
        injected=Counter({"host-kill": 2, "host-stop": 1}),
        recovery_s={"host-kill": [1.0, 2.0], "host-stop": [6.0]},
        account=Account(begun=10, ended=7, voided={"died": 2}, under_way=1, decisions=90, decisions_voided=12),
        rolled_back=(1, 5),
        updates=40,
    )


def test_a_storm_without_problems_has_none_and_its_figures_add_up() -> None:
    result = outcome.summary([calm(), calm()])
    assert result["problems"] == []
    assert (result["minutes"], result["faults"], result["hangs"]) == (2.0, 6, 0)
    assert result["recovery_s"] == {"median": 2.0, "max": 6.0}
    assert result["matches"]["missing"] == 0
    assert result["decisions"]["lost"] == 34
    text = outcome.page(result, "python scripts/storm.py", "abc")
    assert "| host-kill | 4 | 1.5 | 2.0 |" in text
    assert "| + voided | 4 (4 died) |" in text
    assert "Problems" not in text


def test_hangs_ends_mistakes_leftovers_and_descriptors_are_problems() -> None:
    bad = calm()
    bad.hangs, bad.ends, bad.mistakes, bad.leftovers = ["h\nmore"], ["e"], ["m"], ["l"]
    bad.descriptors = 100
    assert [problem.partition(":")[0] for problem in bad.problems] == ["hang", "end", "accounts", "left", "descriptors"]
    assert "- toy: hang: h\n" in outcome.page(outcome.summary([bad]), "python scripts/storm.py", "abc")
