from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ludus.config.settings import OpponentsConfig, StageConfig
from ludus.errors import ConfigError
from ludus.league.curriculum import Change, Curriculum, CurriculumState, StageProgress, refuse_unplayed


def stages(*rules: dict[str, Any]) -> tuple[StageConfig, ...]:
    named = [{"name": f"stage {at}", **rule} for at, rule in enumerate(rules)]
    return msgspec.convert(named, tuple[StageConfig, ...])


def standing(updates: int = 0, decisions: int = 0, matches: int = 0, **others: Any) -> StageProgress:
    return StageProgress(updates, decisions, matches, **others)


def changed(course: Curriculum, seen: StageProgress) -> Change | None:
    change = course.due(seen)
    if change is not None:
        course.enter(change, seen)
    return change


def test_a_stage_is_left_when_all_its_rules_hold() -> None:
    rules = {"updates": 3, "reward": 0.5, "win_rate": {"opponent": "random", "at_least": 0.8, "matches": 10}}
    course = Curriculum(stages({"promote": rules}, {}))
    enough: dict[str, Any] = {"reward": (5, 0.5), "trained": {"random": (10, 0.8)}}
    assert course.due(standing(2, **enough)) is None
    assert course.due(standing(3, **{**enough, "reward": (5, 0.4)})) is None
    assert course.due(standing(3, **{**enough, "reward": (0, 0.9)})) is None
    assert course.due(standing(3, **{**enough, "trained": {"random": (9, 0.9)}})) is None
    assert course.due(standing(3, **{**enough, "trained": {"random": (90, 0.7)}})) is None
    assert course.due(standing(3, **{**enough, "trained": {}})) is None
    change = changed(course, standing(3, **enough))
    assert change == Change(
        "promoted", "stage 0", "stage 1", "3 updates, reward 0.5, 80.0% won against random in training"
    )
    assert course.index == 1


@pytest.mark.parametrize("rule", ["updates", "decisions", "matches"])
def test_each_stage_counts_from_its_own_begin(rule: str) -> None:
    course = Curriculum(stages({"promote": {rule: 5}}, {"promote": {rule: 3}}, {}))
    went = []
    for total in range(1, 12):
        changed(course, standing(**{rule: total}))
        went.append(course.index)
    assert went == [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2]


def test_a_share_of_the_budget_counts_from_the_start_of_the_run() -> None:
    course = Curriculum(stages({"promote": {"budget": 0.5}}, {"promote": {"budget": 0.75, "updates": 2}}, {}))
    assert changed(course, standing(10, used=0.49)) is None
    change = changed(course, standing(11, used=0.5))
    assert change == Change("promoted", "stage 0", "stage 1", "50% of the budget")
    assert changed(course, standing(12, used=0.8)) is None
    assert changed(course, standing(13, used=0.8)) is not None


def test_an_evaluation_may_decide_and_none_yet_decides_nothing() -> None:
    rule = {"win_rate": {"opponent": "perfect", "at_least": 0.5, "of": "evaluation"}}
    course = Curriculum(stages({"promote": rule}, {}))
    assert course.due(standing(trained={"perfect": (1000, 1.0)})) is None
    assert course.due(standing(evaluated={"perfect": 0.49})) is None
    assert course.due(standing(evaluated={"perfect": 0.5})) is not None


def test_a_stage_that_is_too_hard_leads_back_to_the_one_before() -> None:
    back = {"updates": 2, "win_rate": {"opponent": "random", "below": 0.3, "matches": 1}}
    course = Curriculum(stages({"promote": {"updates": 1}}, {"promote": {"reward": 0.0}, "fall_back": back}, {}))
    assert changed(course, standing(1)) is not None
    poor: dict[str, Any] = {"trained": {"random": (50, 0.29)}, "reward": (9, 1.0)}
    fair: dict[str, Any] = {"trained": {"random": (50, 0.3)}, "reward": (9, -1.0)}
    assert course.due(standing(3, **fair)) is None
    change = changed(course, standing(3, **poor))  # both rules hold: a stage that is too hard is not skipped
    assert change is not None
    assert (change.way, change.after, course.index) == ("fell back", "stage 0", 0)
    assert course.due(standing(3, **poor)) is None
    assert changed(course, standing(4)) is not None


def test_the_last_stage_stays() -> None:
    course = Curriculum(stages({"promote": {"updates": 1}}, {}))
    changed(course, standing(1))
    assert changed(course, standing(10**9)) is None


def test_a_resumed_run_goes_on_in_its_stage_wherever_that_stands_now() -> None:
    course = Curriculum(stages({"promote": {"updates": 1}}, {"promote": {"updates": 4}}, {}))
    changed(course, standing(1))
    kept = msgspec.json.decode(msgspec.json.encode(course.state), type=CurriculumState)
    again = Curriculum(stages({"promote": {"updates": 1}}, {"promote": {"updates": 4}}, {}), kept)
    assert again.due(standing(4)) is None
    assert again.due(standing(5)) is not None
    moved = Curriculum((*stages({"promote": {"updates": 1}})[:0], *stages({}, {})[1:]), kept)
    assert moved.index == 0
    with pytest.raises(ConfigError, match="in stage 'stage 1', but there are only stage 0"):
        Curriculum(stages({}), kept)


@pytest.mark.parametrize(
    ("win_rate", "opponents", "message"),
    [
        ({"opponent": "strog"}, {}, r"curriculum\[0\].promote.win_rate.opponent: .*no scripted policy 'strog'.*strong"),
        ({"opponent": "strong"}, {"scripted": 0.0, "past": 0.0}, "strong is not played in this stage.*nobody"),
        ({"opponent": "past"}, {"past": 0.0}, "past is not played in this stage, whose opponents are strong"),
        ({"opponent": "random"}, {}, "random is not played in this stage, whose opponents are strong, past"),
        ({"opponent": "random", "of": "evaluation"}, {}, "whose evaluation.opponents are strong"),
    ],
)
def test_a_win_rate_against_somebody_who_never_plays_is_refused(
    win_rate: dict[str, Any], opponents: dict[str, Any], message: str
) -> None:
    stage = stages({"promote": {"win_rate": {"at_least": 0.5, **win_rate}}})[0]
    shares = msgspec.convert(opponents, OpponentsConfig)
    with pytest.raises(ConfigError, match=message):
        refuse_unplayed(stage, shares, ("strong",), ("random", "strong"), "curriculum[0]")


def test_a_game_with_one_seat_promotes_by_its_share_of_matches_won() -> None:
    stage = stages({"promote": {"win_rate": {"opponent": "none", "at_least": 0.8, "matches": 50}}}, {})
    refuse_unplayed(stage[0], OpponentsConfig(past=0, scripted=0), (), ("random",), "curriculum[0]")
    course = Curriculum(stage)
    assert course.due(standing(trained={"none": (49, 0.9)})) is None
    assert course.due(standing(trained={"none": (50, 0.79)})) is None
    change = course.due(standing(trained={"none": (50, 0.81)}))
    assert change is not None
    assert change.why == "81.0% won in training"


@pytest.mark.parametrize(
    "win_rate", [{"opponent": "past"}, {"opponent": "strong"}, {"opponent": "random", "of": "evaluation"}]
)
def test_opponents_that_play_are_taken_and_the_same_are_not_where_they_do_not(win_rate: dict[str, Any]) -> None:
    stage = stages({"promote": {"win_rate": {"at_least": 0.5, **win_rate}}})[0]
    names = ("random", "strong")
    refuse_unplayed(stage, OpponentsConfig(), (), names, "curriculum[0]")
    with pytest.raises(ConfigError, match=r"curriculum\[0\]"):
        refuse_unplayed(stage, OpponentsConfig(past=0, scripted=0), ("strong",), names, "curriculum[0]")
