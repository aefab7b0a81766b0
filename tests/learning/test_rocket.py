"""Whole runs of Rocket League: teams, rewards term by term, and a resumed run that is the uninterrupted one."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("RocketSim", reason="needs the extra rocket")

from tests.running import Watch, assert_equal_runs, small_run, train, with_updates

from ludus.config.settings import EvaluationConfig, FleetConfig, LearnerConfig, OpponentsConfig

OPTIONS = {
    "team_size": 2,
    "timeout_s": 2.0,
    "starts": {"shot": 1.0, "ground": 1.0},
    "rewards": {"goal": 10.0, "speed_to_ball": 1.0, "touch": 1.0},
}
CONFIG = small_run(
    2,
    game="rocket",
    options=OPTIONS,
    fleet=FleetConfig(hosts=1, matches=8),
    learner=LearnerConfig(decisions=1024, minibatch=256),
    opponents=OpponentsConfig(past=0.0, scripted=0.5, scripted_names=("chaser",)),
    evaluation=EvaluationConfig(opponents=("chaser",), matches=4, every_updates=1_000_000),
)


def test_a_run_reports_each_term_and_is_evaluated_by_teams(tmp_path: Path) -> None:
    watch = Watch()
    train(CONFIG, tmp_path / "run", observer=watch)
    for fact in ("reward_goal", "reward_speed_to_ball", "reward_touch", "touches", "goals", "seconds"):
        assert f"fact/{fact}" in watch.numbers
    assert not any("@" in name for name in watch.numbers)
    ((final, rates),) = watch.evaluations
    assert final
    assert set(rates) == {"chaser"}
    assert watch.numbers.get("match/voided", 0) == 0


def test_a_run_that_was_stopped_goes_on_with_its_matches_bit_for_bit(tmp_path: Path) -> None:
    whole = train(CONFIG, tmp_path / "whole", observer=Watch())
    train(with_updates(CONFIG, 1), tmp_path / "parts", observer=Watch())
    assert_equal_runs(whole, train(CONFIG, tmp_path / "parts", observer=Watch(), resume=True))
