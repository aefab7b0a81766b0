from __future__ import annotations

from ludus.metrics import names, reward_terms


def row(minute: float, **columns: str) -> dict[str, str]:
    return {names.TRAINING_S: str(60 * minute), **{name.replace("__", "/"): value for name, value in columns.items()}}


ROWS = [
    row(0),
    row(1, fact__reward_goal="0.5", fact__touches="3"),
    row(2, fact__reward_goal="nan", fact__touches="inf", match__reward="9"),
    row(3, fact__reward_goal="1.5", fact__touches="oops", fact__reward_="7"),
]


def test_terms_are_the_facts_with_the_prefix() -> None:
    (goal,) = reward_terms.terms(ROWS)
    assert goal == reward_terms.Curve("goal", (1.0, 3.0), (0.5, 1.5))
    assert (goal.begin, goal.end) == (0.5, 1.5)


def test_other_facts_are_curves_too_and_numbers_that_are_not_finite_are_left_out() -> None:
    assert reward_terms.facts(ROWS) == [
        reward_terms.Curve("touches", (1.0,), (3.0,)),
        reward_terms.Curve("reward_", (3.0,), (7.0,)),
    ]


def test_begin_and_end_are_means_of_a_tenth() -> None:
    rows = [row(minute, fact__reward_goal=str(minute)) for minute in range(100)]
    (goal,) = reward_terms.terms(rows)
    assert (goal.begin, goal.end) == (4.5, 94.5)


def test_a_run_without_facts_has_no_curves() -> None:
    assert reward_terms.terms([row(0)]) == []
    assert reward_terms.facts([]) == []
