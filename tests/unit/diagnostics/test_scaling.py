from __future__ import annotations

from typing import Any

import pytest

from ludus.diagnostics import scaling
from ludus.diagnostics.scaling import FleetSize, Spread, StudyPlan, Trial


def plan(**changes: Any) -> StudyPlan:  # Any: the fields of a plan
    usual: dict[str, Any] = {
        "game": "toy",
        "options": {"game": "nim"},
        "fleet": {},
        "seed": 1,
        "policy": "random",
        "hosts": (1, 2),
        "matches": (4, 8),
        "repeats": 2,
        "budget_s": 80.0,
        "min_matches": 1,
    }
    return StudyPlan(**{**usual, **changes})


def trial(size: FleetSize, rate: float = 100.0, repeat: int = 0, **changes: Any) -> Trial:  # Any: the fields of a trial
    usual = {"decisions": round(10 * rate), "seconds": 10.0, "done": 999, "min_matches": size.at_once}
    return Trial(size=size, repeat=repeat, **{**usual, **changes})


def test_repeats_are_interleaved_over_all_sizes() -> None:
    sizes = [FleetSize(1, 4), FleetSize(1, 8), FleetSize(2, 4), FleetSize(2, 8)]
    assert plan().order == [(repeat, size) for repeat in (0, 1) for size in sizes]


def test_trial_share_the_budget_and_a_part_of_each_is_warm_up() -> None:
    assert plan().trial_s == 10.0
    assert plan().warm_s == 2.5
    assert plan(budget_s=8000.0).warm_s == scaling.WARM_MAX_S


def test_only_trial_that_were_not_played_are_missing() -> None:
    played = [
        trial(FleetSize(1, 4)),
        trial(FleetSize(2, 8), failure="no host is left"),
        trial(FleetSize(1, 4), repeat=1),
    ]
    assert scaling.missing(plan(), played) == [
        (0, FleetSize(1, 8)),
        (0, FleetSize(2, 4)),
        (1, FleetSize(1, 8)),
        (1, FleetSize(2, 4)),
        (1, FleetSize(2, 8)),
    ]


def test_the_time_left_counts_the_starts_that_were_seen() -> None:
    assert scaling.left_s(plan(), [], 0.0) == 80.0
    assert scaling.left_s(plan(), [trial(FleetSize(1, 4), start_s=2.0)], 0.0) == 7 * 12.0
    assert scaling.left_s(plan(), [trial(FleetSize(1, 4), start_s=2.0)], 5.0) == 5.0 + 6 * 12.0


def test_a_size_has_the_median_and_spread_of_its_repeats() -> None:
    trials = [trial(FleetSize(1, 4), rate, repeat) for repeat, rate in enumerate((100.0, 300.0, 120.0))]
    [summary] = scaling.summarise(plan(repeats=3), trials)
    assert summary.decisions_per_s == Spread(120.0, 100.0, 300.0)
    assert (summary.done, summary.min_matches, summary.state, summary.sound) == (2997, 12, "completed", True)


def test_rates_are_of_the_time_that_was_measured() -> None:
    one = trial(FleetSize(1, 4), 50.0, done=20)
    assert one.decisions_per_s == 50.0
    assert one.matches_per_hour == 7200.0


def test_a_trial_in_which_fewer_matches_ended_than_were_asked_for_has_timed_out() -> None:
    assert trial(FleetSize(2, 8), done=15).state == "timed out"
    [summary] = scaling.summarise(plan(), [trial(FleetSize(2, 8), done=15), trial(FleetSize(2, 8), repeat=1)])
    assert (summary.state, summary.timed_out) == ("timed out", 1)


def test_a_failed_trial_leaves_the_numbers_of_the_others_alone() -> None:
    trials = [trial(FleetSize(1, 4), 100.0), trial(FleetSize(1, 4), 0.0, 1, failure="host 0 died")]
    [summary] = scaling.summarise(plan(), trials)
    assert summary.decisions_per_s == Spread(100.0, 100.0, 100.0)
    assert (summary.failed, summary.failure, summary.sound) == (1, "host 0 died", False)
    [lost] = scaling.summarise(plan(), trials[1:])
    assert (lost.state, lost.decisions_per_s) == ("failed", None)


RATES = {
    FleetSize(1, 4): 100.0,
    FleetSize(1, 8): 150.0,
    FleetSize(2, 4): 180.0,
    FleetSize(2, 8): 240.0,
    FleetSize(4, 4): 200.0,
}


def test_efficiency_is_against_linear_growth_from_the_fewest_hosts() -> None:
    grown = {each.size: each for each in scaling.growth(RATES, "hosts")}
    assert grown[FleetSize(1, 4)].efficiency == 1.0
    assert grown[FleetSize(1, 4)].gain is None
    assert grown[FleetSize(2, 4)].efficiency == pytest.approx(0.9)
    assert grown[FleetSize(4, 4)].efficiency == pytest.approx(0.5)
    assert grown[FleetSize(2, 8)].efficiency == pytest.approx(0.8)
    assert grown[FleetSize(4, 4)].gain == pytest.approx(10.0)  # two hosts brought 20


def test_a_gain_per_match_counts_every_match_added_in_the_fleet() -> None:
    grown = {each.size: each for each in scaling.growth(RATES, "matches")}
    assert set(grown) == {
        FleetSize(1, 4),
        FleetSize(1, 8),
        FleetSize(2, 4),
        FleetSize(2, 8),
    }  # four hosts were tried with 4 matches only
    assert grown[FleetSize(1, 8)].efficiency == pytest.approx(0.75)
    assert grown[FleetSize(1, 8)].gain == pytest.approx(12.5)
    assert grown[FleetSize(2, 8)].gain == pytest.approx(7.5)


def test_without_a_second_value_on_an_axis_there_is_no_growth() -> None:
    assert scaling.growth({FleetSize(1, 4): 100.0}, "hosts") == []


def judged(rates: dict[FleetSize, float], **changes: Any) -> scaling.Verdict | None:
    wide = plan(hosts=(1, 2, 4), matches=(4, 8, 64), repeats=1)
    return scaling.judge(scaling.summarise(wide, [trial(size, rate, **changes) for size, rate in rates.items()]))


def test_the_smallest_size_near_the_best_has_the_fewest_rows() -> None:
    rates = {FleetSize(1, 64): 96.0, FleetSize(2, 8): 95.0, FleetSize(2, 64): 100.0, FleetSize(1, 8): 94.9}
    assert judged(rates) == scaling.Verdict(best=FleetSize(2, 64), smallest=FleetSize(2, 8))


def test_the_best_is_its_own_smallest_where_no_other_is_near() -> None:
    assert judged({FleetSize(1, 4): 50.0, FleetSize(2, 4): 100.0}) == scaling.Verdict(FleetSize(2, 4), FleetSize(2, 4))


def test_equal_sizes_are_decided_by_fewer_hosts() -> None:
    assert judged({FleetSize(2, 4): 100.0, FleetSize(1, 8): 99.0}) == scaling.Verdict(FleetSize(2, 4), FleetSize(1, 8))


def test_a_size_that_timed_out_is_not_the_best_while_another_completed() -> None:
    trials = [trial(FleetSize(1, 4), 100.0), trial(FleetSize(2, 4), 900.0, done=0)]
    verdict = scaling.judge(scaling.summarise(plan(repeats=1), trials))
    assert verdict is not None
    assert verdict.best == FleetSize(1, 4)
    alone = scaling.judge(scaling.summarise(plan(repeats=1), trials[1:]))
    assert alone is not None
    assert alone.best == FleetSize(2, 4)


def test_without_any_rate_there_is_no_verdict() -> None:
    assert judged({FleetSize(1, 4): 0.0}) is None
    assert judged({FleetSize(1, 4): 100.0}, failure="host 0 died") is None


def test_plans_that_differ_say_where() -> None:
    assert scaling.differences(plan(), plan()) == []
    assert scaling.differences(plan(), plan(seed=2, hosts=(1,))) == [
        "seed is 1 there, 2 here",
        "hosts is [1,2] there, [1] here",
    ]
    assert scaling.differences(plan(), plan(options={"game": "rps"})) == ['options.game is "nim" there, "rps" here']
    assert scaling.differences(plan(), plan(options={})) == ['options.game is "nim" there, null here']
