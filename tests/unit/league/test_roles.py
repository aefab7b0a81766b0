from __future__ import annotations

import msgspec
import numpy as np
import pytest

from ludus.league.opponent_log import MetOpponent, OpponentLine
from ludus.league.roles import (
    MAIN_EXPLOITER,
    AgentProgress,
    LeagueTrainingConfig,
    RoleConfig,
    begins_anew,
    next_turns,
    promotion_due,
    run_settings,
)

ROLE = RoleConfig(promote_minutes=10.0, promote_win_rate=0.7)


def line(**win_rates: float) -> OpponentLine:
    opponents = tuple(MetOpponent(f"league:{name}", 0.5, 100, rate, 0.0, 30.0) for name, rate in win_rates.items())
    return OpponentLine(5, 60.0, 0.0, opponents)


def test_a_run_joins_when_its_minutes_have_passed() -> None:
    assert promotion_due(ROLE, AgentProgress(599.0, 0.0, None), ["a"]) == ""
    assert promotion_due(ROLE, AgentProgress(600.0, 0.0, None), ["a"]) == "10.0 minutes have passed"
    assert promotion_due(ROLE, AgentProgress(900.0, 600.0, None), ["a"]) == ""


def test_a_run_joins_at_once_when_it_beats_every_opponent() -> None:
    strong = AgentProgress(60.0, 0.0, line(a=0.8, b=0.75))
    assert promotion_due(ROLE, strong, ["a", "b"]) == "it wins 75% or more against each of 2"
    assert promotion_due(ROLE, AgentProgress(60.0, 0.0, line(a=0.8, b=0.6)), ["a", "b"]) == ""
    assert promotion_due(ROLE, strong, ["a", "b", "never met"]) == ""
    assert promotion_due(ROLE, strong, []) == ""
    assert promotion_due(msgspec.structs.replace(ROLE, promote_win_rate=0.0), strong, ["a", "b"]) == ""


def test_a_run_begins_anew_as_often_as_its_role_says() -> None:
    generator = np.random.default_rng(1)
    assert not any(begins_anew(ROLE, generator) for _ in range(100))
    often = msgspec.structs.replace(ROLE, reset=0.25)
    assert sum(begins_anew(often, generator) for _ in range(4000)) == pytest.approx(1000, abs=120)
    assert begins_anew(msgspec.structs.replace(ROLE, reset=1.0), generator)


def test_those_who_have_trained_least_go_next() -> None:
    assert next_turns(["a", "b", "c"], {"a": 60.0, "b": 20.0}, 2) == ["c", "b"]
    assert next_turns(["a", "b"], {}, 1) == ["a"]
    assert next_turns(["a"], {}, 0) == []


def test_settings_of_a_role_win_over_those_of_all_runs() -> None:
    config = LeagueTrainingConfig(
        league="l", game="toy", set={"seed": 5, "opponents": {"past": 0.1}}, main_exploiter=RoleConfig(set={"seed": 7})
    )
    settings = run_settings(config, MAIN_EXPLOITER, seed=1, minutes=3.0, start_from="")
    assert settings["seed"] == 7
    assert settings["opponents.league_members"] == ["main-[0-9]*"]
    assert settings["opponents.league"] == "l"
    assert [name for name, _ in config.agents()] == ["main-1", "main-exploiter-1", "league-exploiter-1"]
