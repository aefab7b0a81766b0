"""Environments that break, one among healthy ones: the others play on, and what happened is counted and named."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.playing import Played, host_of, play, voided
from tests.running import Watch, train

from ludus.config import load
from ludus.config.settings import FleetConfig
from ludus.errors import HostRefused
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.metrics import names

MODULE = Path(__file__).with_name("environment_faults.py")
ONE_EACH = FleetConfig(hosts=4, matches=1, backoff_s=0.01, reply_deadline_s=2.0, failures_in_a_row=2)
TOGETHER = FleetConfig(hosts=1, matches=4, backoff_s=0.01, reply_deadline_s=10.0, failures_in_a_row=2)


def fleet_of(tmp_path: Path, config: FleetConfig, kwargs: Mapping[str, object], **options: object) -> HostFleet:
    shutil.copy(MODULE, tmp_path / "somebodys.py")
    game = registry.load("gymnasium")
    chosen = {"env": "somebodys:Faulty", "kwargs": dict(kwargs), "stepping": "in turn", **options}
    command = dataclasses.replace(game.command(game.options()), cwd=tmp_path)
    return HostFleet(command, config, options=chosen, seed=1, log_dir=tmp_path / "logs")


FAULTS = {
    "raise in step": "ValueError: step was told to fail",
    "wrong shape": "EnvironmentFault: observation 'obs' has shape [5], its space says [3]",
    "huge observation": "EnvironmentFault: observation 'obs' has shape [30000000], its space says [3]",
    "NaN": "BadTurn: an observation has a value that is not finite in leaf 'obs'",
    "empty mask": "EnvironmentFault: the action mask allows nothing",
    "long mask": "EnvironmentFault: the action mask has 9 entries, expected 4",
    "raise in reset": "RuntimeError: reset was told to fail",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_one_environment_of_four_loses_its_match_and_no_other(
    tmp_path: Path, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    with fleet_of(tmp_path, TOGETHER, {"fault": fault, "made": 2}) as fleet:
        played = play(fleet, lambda played: len(played.finished) >= 12)
        assert voided(fleet) == {f"host: {FAULTS[fault]}": 1}
        assert fleet.health.restarts == 0
        assert {int(ending.rows[0]) for ending in played.finished} == {0, 1, 2, 3}  # its place has another one
    assert f"host 0 lost a match, host: {FAULTS[fault]}" in caplog.text


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("die", "died"),
        ("hang", "hung"),
        ("raise in reset", "host: RuntimeError: reset was told to fail"),
    ],
)
def test_one_host_of_four_whose_environment_never_works_is_given_up_while_the_others_play(
    tmp_path: Path, fault: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    bad = 2
    with fleet_of(tmp_path, ONE_EACH, {"fault": fault, "host": bad}) as fleet:

        def given_up(played: Played) -> bool:
            return fleet.health.given_up == 1 and len(played.finished) >= 12

        played = play(fleet, given_up)
        assert {host_of(fleet, int(ending.rows[0])) for ending in played.finished} == {0, 1, 3}
        assert set(voided(fleet)) == {reason}
        assert fleet.health.restarts == 1
        assert fleet.health.alive == 3
    assert "giving it up" in caplog.text


def test_a_hang_in_a_thread_loses_its_match_after_its_deadline_and_no_other(tmp_path: Path) -> None:
    waiting = {"stepping": "threads", "step_deadline_s": 0.5}
    with fleet_of(tmp_path, TOGETHER, {"fault": "hang", "made": 2}, **waiting) as fleet:
        play(fleet, lambda played: bool(fleet.health.voided) and len(played.finished) >= 12)
        ((reason, count),) = voided(fleet).items()
        assert count == 1
        assert "0.5 s" in reason
        assert fleet.health.restarts == 0


def test_what_an_environment_prints_and_threads_it_leaves_do_no_harm(tmp_path: Path) -> None:
    with fleet_of(tmp_path, TOGETHER, {"fault": "noise", "made": 1}) as fleet:
        play(fleet, lambda played: len(played.finished) >= 8)
        assert voided(fleet) == {}
        assert fleet.health.restarts == 0
    log = (tmp_path / "logs" / "host-0.log").read_text()
    for words in ("printed to stdout", "written to descriptor 1", "printed by a child"):
        assert words in log


def test_a_module_that_cannot_be_imported_is_refused_in_one_line_and_without_restarts(tmp_path: Path) -> None:
    with pytest.raises(HostRefused, match=r"there is no module nobodys; it must be importable from"):
        fleet_of(tmp_path, FleetConfig(hosts=1, matches=1), {}, env="nobodys:Env")


@pytest.mark.parametrize(("fault", "alive", "restarts", "lost"), [("die twice", 2, 2, 4), ("die", 1, 2, 6)])
def test_a_run_goes_on_with_the_others_and_says_what_it_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, alive: int, restarts: int, lost: int
) -> None:
    shutil.copy(MODULE, tmp_path / "somebodys.py")
    monkeypatch.chdir(tmp_path)
    data = {
        "game": "gymnasium:somebodys:Faulty",
        "options": {"kwargs": {"fault": fault, "host": 1}, "stepping": "in turn"},
        "mode": "serial",
        "device": "cpu",
        "fleet": {"hosts": 2, "matches": 2, "backoff_s": 0.01, "failures_in_a_row": 3},
        "learner": {"decisions": 64, "minibatch": 64},
        "rollout": {"segment": 8},
        "evaluation": {"matches": 2, "quick_matches": 2, "every_updates": 1000},
        "budget": {"minutes": 0, "updates": 8},
    }
    config = load.build(data, options_of=lambda name: registry.load(name).options)
    watch = Watch()
    result = train(config, tmp_path / "run", observer=watch)
    assert result.version == 8
    assert watch.numbers[names.HOSTS_ALIVE] == alive
    assert watch.numbers[names.HOSTS_RESTARTS] == restarts
    assert watch.numbers[names.HOSTS_GIVEN_UP] == 2 - alive
    assert watch.numbers[names.VOIDED_BY("died")] == watch.numbers[names.VOIDED] == lost
    assert watch.numbers[names.RETURN("none")] == 6.0
