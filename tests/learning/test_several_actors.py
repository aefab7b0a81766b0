"""Runs with two actors: every algorithm gets what it needs, from parts of either actor."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.running import Silent, Watch, counters, small_run, train, with_updates

from ludus.config.settings import (
    ActorsConfig,
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    PromoteConfig,
    RecurrentConfig,
    ReplayConfig,
    RolloutConfig,
    RunConfig,
    StageConfig,
)
from ludus.metrics import accounts, names

PPO = LearnerConfig(decisions=256, minibatch=128)
RUNS: dict[str, dict[str, object]] = {
    "ppo": {"learner": PPO},
    "recurrent": {
        "learner": PPO,
        "policy": PolicyConfig(width=16, recurrent=RecurrentConfig("gru", width=16, sequence_length=8)),
    },
    "vtrace": {
        "learner": LearnerConfig(
            algorithm="vtrace", decisions=256, minibatch=128, replay=ReplayConfig(decisions=1024, reuse=3)
        ),
    },
    "rnad": {"learner": LearnerConfig(algorithm="rnad", decisions=256, minibatch=128)},
}


def config(updates: int, **changes: object) -> RunConfig:
    given: dict[str, object] = {
        "options": {"game": "nim"},
        "actors": ActorsConfig(count=2),
        "fleet": FleetConfig(hosts=3, matches=8),
        "rollout": RolloutConfig(segment=8),
        "opponents": OpponentsConfig(past=0.2, scripted=0.2, snapshot_every=2),
        **changes,
    }
    return small_run(updates, mode="overlapped", **given)


@pytest.mark.parametrize("name", RUNS)
def test_algorithm_learns_from_the_parts_of_two_actors_and_goes_on_after_a_resume(tmp_path: Path, name: str) -> None:
    watch = Watch()
    first = train(config(6, **RUNS[name]), tmp_path, observer=watch)
    assert first.version == 6
    assert (watch.numbers[names.ACTORS_PLAYING], watch.numbers[names.ACTORS_TOTAL]) == (2, 2)
    assert (watch.numbers[names.HOSTS_ALIVE], watch.numbers[names.HOSTS_TOTAL]) == (3, 3)
    again = train(config(9, **RUNS[name]), tmp_path, resume=True, observer=Silent())
    counted = counters(again)
    assert again.version == 9
    assert names.BEGUN_ANEW not in counted
    assert names.VOIDED not in counted or counted[names.VOIDED] == 0
    assert 0 < accounts.under_way(counted) <= 3 * 8
    if name == "vtrace":
        assert counted.get(names.LEARNED, 0) + counted.get(names.REPLAYED, 0) == 9 * 256


def test_curriculum_counts_the_matches_of_both_actors(tmp_path: Path) -> None:
    stages = (
        StageConfig("first", promote=PromoteConfig(matches=200, reward=-10.0)),
        StageConfig("second", set={"actors.count": 1}),
    )
    whole = config(12, curriculum=stages)
    result = train(with_updates(whole, 40), tmp_path, observer=(watch := Watch()))
    assert result.version == 40
    assert watch.numbers[names.STAGE] == 2
    assert counters(result)[names.PROMOTIONS] == 1
    assert names.BEGUN_ANEW not in counters(result)
    assert accounts.under_way(counters(result)) > 0
