from __future__ import annotations

from ludus.evaluation.league_pictures import SHOWN, shortened


def test_members_of_one_run_have_different_labels() -> None:
    labels = {
        shortened(f"main-exploiter-1.g{generation}@u{version:08d}") for generation in (1, 2) for version in (9, 10)
    }
    assert len(labels) == 4
    assert max(map(len, labels)) == SHOWN


def test_a_dollar_sign_is_no_formula() -> None:
    assert shortened("a$b$") == r"a\$b\$"
