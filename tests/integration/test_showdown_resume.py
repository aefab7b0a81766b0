"""A run on real Showdown hosts that is stopped and resumed ends with the weights it would have had."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.running import NEVER, Silent, assert_equal_runs, counters, small_run, train

from ludus.config.settings import (
    EvaluationConfig,
    FleetConfig,
    LearnerConfig,
    OpponentsConfig,
    PolicyConfig,
    RunConfig,
)
from ludus.metrics import names


def config(updates: int, format_id: str, hosts: int) -> RunConfig:
    """Battles last for several updates."""
    return small_run(
        updates,
        game="showdown",
        options={"format": format_id},
        fleet=FleetConfig(hosts=hosts, matches=12 // hosts),
        policy=PolicyConfig(width=16, context=32),
        learner=LearnerConfig(decisions=192, minibatch=96, lr_schedule="constant"),
        opponents=OpponentsConfig(
            past=0.3, scripted=0.4, scripted_names=("random", "max_power", "heuristic"), snapshot_every=1, pool=2
        ),
        evaluation=EvaluationConfig(("random",), matches=2, quick_matches=2, every_updates=NEVER),
    )


@pytest.mark.parametrize(
    ("format_id", "hosts"),
    [
        ("gen1randombattle", 1),
        pytest.param("gen1randombattle", 2, marks=pytest.mark.slow),
        pytest.param("gen9randomdoublesbattle", 2, marks=pytest.mark.slow),
    ],
)
def test_three_updates_and_three_more_are_six(tmp_path: Path, format_id: str, hosts: int) -> None:
    three, six = (config(updates, format_id, hosts) for updates in (3, 6))
    whole = train(six, tmp_path / "whole", observer=Silent())
    half = train(three, tmp_path / "parts", observer=Silent())
    parts = train(six, tmp_path / "parts", resume=True, observer=Silent())
    assert_equal_runs(whole, parts)
    assert counters(parts)[names.MATCHES] > counters(half).get(names.MATCHES, 0)
    assert names.VOIDED not in counters(parts)
