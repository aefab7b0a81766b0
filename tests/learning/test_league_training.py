"""Runs that train in one league with roles, and exploiters whose result has a known limit."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from benchmarks.drivers.exploiters import PokerTable
from tests.commands import interrupted
from tests.running import Silent, train

from ludus.actors.resolved import resolve
from ludus.api import exploiting, league_training
from ludus.errors import ConfigError
from ludus.league.members import League
from ludus.league.roles import LeagueTrainingConfig
from ludus.policies.checkpoints.checkpoint import names_in

SMALL: dict[str, Any] = {
    "device": "cpu",
    "fleet": {"hosts": 1, "matches": 16},
    "policy": {"width": 16},
    "learner": {"decisions": 512, "minibatch": 256, "lr": 3e-3},
    "evaluation": {"every_updates": 1_000_000_000, "matches": 2, "quick_matches": 2},
    "checkpoint": {"every_s": 0.5},
    "opponents": {"snapshot_every": 5},
}


def league_config(folder: Path, **changes: Any) -> LeagueTrainingConfig:
    settings = {
        "league": str(folder / "league"),
        "game": "toy",
        "minutes": 0.045,
        "beside": 1,
        "matches": 2,
        "set": {**SMALL, "mode": "serial", "options": {"game": "rps"}},
        "main": {"promote_minutes": 0.02},
        "main_exploiter": {"promote_minutes": 0.02, "reset": 1.0},
        "league_exploiter": {"count": 0},
        **changes,
    }
    return msgspec.convert(settings, LeagueTrainingConfig)


def test_agents_train_join_the_league_and_begin_anew(tmp_path: Path) -> None:
    lines: list[str] = []
    state = league_training.train(league_config(tmp_path), tell=lines.append)
    assert {name: agent.status for name, agent in state.agents.items()} == {
        "main-1": "finished",
        "main-exploiter-1": "finished",
    }
    members = League.open(tmp_path / "league").members()
    assert sum(name.startswith("main-1.g1@") for name in members) == state.agents["main-1"].joined >= 1
    assert state.agents["main-exploiter-1"].generation > 1
    assert any("begins anew" in line for line in lines)


def test_a_run_that_dies_is_started_again_and_goes_on(tmp_path: Path) -> None:
    config = league_config(tmp_path, beside=1, main_exploiter={"count": 0}, minutes=0.07)
    victims: list[int] = []

    def kill_once(line: str) -> None:
        if "(pid " in line and not victims:
            victims.append(int(line.partition("(pid ")[2].rstrip(")")))
            threading.Thread(target=_kill_with_checkpoint, args=(victims[0], tmp_path), daemon=True).start()

    state = league_training.train(config, tell=kill_once)
    agent = state.agents["main-1"]
    assert (agent.status, agent.failures) == ("finished", 1)
    assert agent.starts == 2


def _kill_with_checkpoint(pid: int, folder: Path) -> None:
    checkpoints = folder / "league" / "runs" / "main-1-g1" / "checkpoints"
    deadline = time.monotonic() + 60
    while not names_in(checkpoints) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)


def test_a_stopped_training_goes_on_where_it_was(tmp_path: Path) -> None:
    config = league_config(tmp_path, main_exploiter={"count": 0})
    checkpoints = tmp_path / "league" / "runs" / "main-1-g1" / "checkpoints"
    first = league_training.train(config, stopped=lambda: bool(names_in(checkpoints)))
    assert first.agents["main-1"].status == "waiting"
    version = int(names_in(checkpoints)[-1][1:])
    assert version > 0
    again = league_training.train(config)
    assert again.agents["main-1"].status == "finished"
    assert again.agents["main-1"].generation == 1
    assert int(names_in(checkpoints)[-1][1:]) > version


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "league.yaml"
    path.write_text("league: x\ngame: toy\nmain: {promote_minuts: 3}\n")
    with pytest.raises(ConfigError, match=r"main.promote_minuts: unknown key; did you mean main.promote_minutes"):
        league_training.read(path)
    path.write_text("league: x\n")
    with pytest.raises(ConfigError, match="either `config`"):
        league_training.read(path)
    with pytest.raises(ConfigError, match="no agent 'main-7'"):
        league_training.train(league_config(tmp_path), only=["main-7"])


@pytest.mark.parametrize("clone", [False, True])
def test_an_exploiter_of_kuhn_comes_near_the_exact_best_response(tmp_path: Path, clone: bool) -> None:
    settings = {**SMALL, "mode": "serial", "game": "openspiel", "options": {"game": "kuhn_poker"}}
    settings |= {"budget": {"minutes": 0, "updates": 3}, "opponents": {"past": 0.0, "scripted": 0.0}}
    run = resolve(settings)
    member = train(run.config, tmp_path / "member", observer=Silent()).checkpoint
    assert member is not None
    sets = [f"{key}={value}" for key, value in (("mode", "serial"), ("fleet.hosts", 1), ("fleet.matches", 32))]
    sets += ["learner.decisions=512", "learner.minibatch=256", "learner.lr=1e-2", "learner.entropy_coef=0.003"]
    sets += ["budget.minutes=0", "budget.updates=120", "checkpoint.every_s=2", "policy.width=16"]
    result, folder = exploiting.exploit(
        member, minutes=1, clone=clone, matches=200, points=3, folder=tmp_path / "exploit", sets=sets
    )
    assert [point.matches for point in result.points] == [200] * len(result.points)
    assert (folder / "exploit.png").stat().st_size > 1000
    table = PokerTable("kuhn_poker")
    best, reached = table.best_response(member), table.curve(result, folder, member)[-1].exact
    assert 0.8 * best < reached <= best + 1e-4
    last = result.points[-1]
    error = (last.reward_high - last.reward_low) / 2 / 1.96
    assert 0 < error < 0.3
    assert abs(last.reward - reached) < 4 * error
    assert last.win_rate != pytest.approx(last.reward, abs=1e-3)


def test_ctrl_c_ends_the_matches_of_an_exploiter_and_shows_those_that_ended(tmp_path: Path) -> None:
    settings = {**SMALL, "mode": "serial", "game": "toy", "options": {"game": "nim"}, "budget": {"updates": 2}}
    run = resolve(settings)
    member = train(run.config, tmp_path / "member", observer=Silent()).checkpoint
    words = ["league", "exploit", str(member), "--minutes", "0.05", "--matches", "200000", "--points", "1"]
    words += ["--folder", "exploit", "--set", "mode=serial", "--set", "policy.width=16"]
    code, said = interrupted(tmp_path, lambda line: " matches: " in line, *words)
    assert code == 0, said
    assert "Stopped: the table has the matches that ended." in said
    (point,) = msgspec.json.decode((tmp_path / "exploit" / "exploit.json").read_bytes())["points"]
    assert 0 < point["matches"] < 200_000
    assert point["reward_low"] <= point["reward"] <= point["reward_high"]
