"""Runs in stages on the toy games: forward, back, stopped and resumed, refused."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.running import NEVER, Silent, Watch, assert_equal_runs, counters, latest, small_run, train

from ludus.config import load
from ludus.config.settings import (
    EvaluationConfig,
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PromoteConfig,
    RunConfig,
    StageConfig,
)
from ludus.errors import ConfigError
from ludus.games import catalogue
from ludus.metrics import accounts, names
from ludus.metrics.observer import Numbers
from ludus.policies.checkpoints import checkpoint
from ludus.policies.checkpoints.archive import Checkpoints

AGAINST = OpponentsConfig(past=0.0, scripted=0.5, scripted_names=("random", "perfect"), snapshot_every=1, pool=2)


def config(updates: int, *stages: dict[str, Any], mode: str = "serial", **changes: Any) -> RunConfig:
    return small_run(
        updates,
        mode=mode,
        options={"game": "nim", "pile": 16},
        fleet=FleetConfig(hosts=1, matches=16, backoff_s=0.01),
        learner=LearnerConfig(decisions=256, minibatch=128, lr=3e-3, lr_schedule="constant"),
        opponents=AGAINST,
        evaluation=EvaluationConfig(("random",), matches=4, quick_matches=4, every_updates=NEVER),
        curriculum=msgspec.convert(list(stages), tuple[StageConfig, ...]),
        **changes,
    )


GROWING: tuple[dict[str, Any], ...] = (
    {"name": "small", "set": {"options.dealt": 4, "learner.lr": 1e-3}, "promote": {"updates": 2}},
    {"name": "middle", "set": {"options.dealt": 8, "opponents.past": 0.3}, "promote": {"matches": 50, "updates": 2}},
    {"name": "whole"},
)


class Stages(Silent):
    """Every stage that was shown, in turn."""

    def __init__(self) -> None:
        self.seen: list[tuple[float | str, float | str]] = []

    def on_progress(self, numbers: Numbers) -> None:
        stage = (numbers[names.STAGE], numbers[names.STAGE_NAME])
        if stage not in self.seen[-1:]:
            self.seen.append(stage)


def kept(run_dir: Path) -> dict[str, Any]:
    found = Checkpoints(run_dir, 1).latest()
    assert found is not None
    state = checkpoint.read_state(found).curriculum
    assert state is not None
    return state


@pytest.mark.parametrize(("mode", "stages"), [("serial", GROWING), ("overlapped", (GROWING[0], GROWING[2]))])
def test_a_run_goes_through_its_stages_with_one_net(
    tmp_path: Path, mode: str, stages: tuple[dict[str, Any], ...], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ludus")
    watch = Stages()
    result = train(config(6, *stages, mode=mode), tmp_path, observer=watch)
    assert watch.seen == [(at, stage["name"]) for at, stage in enumerate(stages, 1)]
    counted, changes = counters(result), len(stages) - 1
    assert (counted[names.PROMOTIONS], counted.get(names.FALLBACKS, 0)) == (changes, 0)
    fewest = 16 if mode == "serial" else 1  # overlapped, a slot may be between two matches
    assert fewest * changes <= counted[names.UNFINISHED] <= 16 * changes
    assert fewest <= accounts.under_way(counted) <= 16
    assert names.BEGUN_ANEW not in counted
    assert (result.version, counted[names.UPDATES], kept(tmp_path)["stage"]) == (6, 6, "whole")
    state = checkpoint.read_state(latest(result))
    assert state.options["dealt"] == 0
    said = [record.getMessage() for record in caplog.records if "promoted" in record.getMessage()]
    assert said[0] == f"update 2: promoted from small to {stages[1]['name']}: 2 updates"


def test_a_run_that_is_stopped_anywhere_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole = train(config(4, *GROWING), tmp_path / "whole", observer=Silent())
    for stop in (2, 3):  # between two stages; within one
        folder = tmp_path / str(stop)
        train(config(stop, *GROWING), folder, observer=Silent())
        assert kept(folder)["stage"] == "middle"
        parts = train(config(4, *GROWING), folder, resume=True, observer=Silent())
        assert_equal_runs(whole, parts)


def test_a_stage_that_is_too_hard_leads_back(tmp_path: Path) -> None:
    back = {"updates": 2, "win_rate": {"opponent": "perfect", "below": 0.9, "matches": 5}}
    stages = ({"name": "small", "promote": {"updates": 2}}, {"name": "hard", "fall_back": back})
    watch = Stages()
    result = train(config(6, *stages), tmp_path, observer=watch)
    assert [name for _, name in watch.seen] == ["small", "hard", "small", "hard"]
    assert (counters(result)[names.PROMOTIONS], counters(result)[names.FALLBACKS]) == (2, 1)


def test_an_evaluation_promotes_and_the_best_checkpoint_is_of_the_last_stage(tmp_path: Path) -> None:
    rule = {"win_rate": {"opponent": "random", "at_least": 0.0, "of": "evaluation"}}
    stages = ({"name": "small", "set": {"evaluation.every_updates": 2}, "promote": rule}, {"name": "whole"})
    watch = Watch()
    result = train(config(4, *stages), tmp_path, observer=watch)
    assert [final for final, _ in watch.evaluations] == [False, True]
    assert counters(result)[names.PROMOTIONS] == 1
    best = Checkpoints(tmp_path, 1).best()
    assert best is not None
    assert (best.stage, best.name) == (1, latest(result).name)


def test_rewards_promote_where_there_is_nobody_to_win_against(tmp_path: Path) -> None:
    stages = (
        {"name": "three", "set": {"options.rounds": 3}, "promote": {"reward": 1.2}},
        {"name": "eight"},
    )
    chosen = msgspec.structs.replace(
        config(20, *stages), options={"game": "identity", "actions": 3}, opponents=OpponentsConfig(0.0, 0.0)
    )
    result = train(chosen, tmp_path, observer=Silent())
    assert counters(result)[names.PROMOTIONS] == 1
    assert 2 < kept(tmp_path)["updates"] < 20


def test_a_change_that_cannot_be_saved_is_put_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = Checkpoints.save

    def full(self: Checkpoints, *parts: Any, between: bool = False) -> Path:
        if between:
            raise OSError(28, "No space left on device")
        return save(self, *parts)

    monkeypatch.setattr(Checkpoints, "save", full)
    watch = Stages()
    result = train(config(4, *GROWING), tmp_path, observer=watch)
    assert [name for _, name in watch.seen] == ["small"]
    assert result.checkpoint_failures == 1
    assert names.PROMOTIONS not in counters(result)
    monkeypatch.undo()
    train(config(6, *GROWING), tmp_path, resume=True, observer=watch)
    assert kept(tmp_path)["stage"] != "small"


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        ({"set": {"options.pile": 8}}, r"curriculum\[1\].set: this stage observes .*\(9,\).*, the first .*\(17,\)"),
        ({"set": {"options.game": "rps"}}, r"curriculum\[1\].set: this stage observes .*called"),
        ({"set": {"opponents.scripted_names": ["perfekt"]}}, r"curriculum\[1\], with its settings: opponents"),
        (
            {"set": {"options.pile": 2}},
            r"curriculum\[1\].set.options.pile: must be a whole number, at least 4, but is 2",
        ),
    ],
)
def test_a_stage_that_the_net_cannot_play_is_refused_before_the_run_begins(
    tmp_path: Path, stage: dict[str, Any], message: str
) -> None:
    stages = ({"name": "first", "promote": {"updates": 1}}, {"name": "second", **stage})
    with pytest.raises(ConfigError, match=message):
        train(config(3, *stages), tmp_path / "run", observer=Silent())
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.slow
def test_one_net_plays_from_one_against_one_to_three_against_three(tmp_path: Path) -> None:
    pytest.importorskip("RocketSim", reason="needs the extra rocket")
    preset = load.load(catalogue.presets()["rocket-stages"], options_of=catalogue.options_of)
    soon = [msgspec.structs.replace(stage, promote=PromoteConfig(updates=1)) for stage in preset.curriculum[:-1]]
    small = config(5)
    chosen = msgspec.structs.replace(
        preset,
        mode="serial",
        device="cpu",
        fleet=FleetConfig(hosts=1, matches=2),
        policy=small.policy,
        rollout=small.rollout,
        learner=small.learner,
        evaluation=EvaluationConfig(("chaser",), matches=2, quick_matches=2, every_updates=NEVER),
        budget=small.budget,
        curriculum=(*soon, preset.curriculum[-1]),
    )
    watch = Stages()
    result = train(chosen, tmp_path, observer=watch)
    assert [name for _, name in watch.seen] == [stage.name for stage in preset.curriculum]
    assert checkpoint.read_state(latest(result)).game.seats == 6
