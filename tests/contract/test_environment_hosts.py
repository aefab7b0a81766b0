"""Hosts of other people's environments keep the protocol."""

from __future__ import annotations

from itertools import islice

import pytest

from ludus.games import registry
from ludus.hostcheck.check import CheckReport, results

UP_TO_OPTIONS = 13  # rules; the toy host keeps the others by the same means, where matches are played in turn


@pytest.fixture(autouse=True)
def _speed_is_measured_coarsely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.hostcheck.rules.SPEED_S", 0.1)


def report(name: str, env: str, stepping: str, rules: int | None) -> CheckReport:
    game = registry.load(name)
    options = {"env": env, "stepping": stepping}
    return CheckReport(tuple(islice(results(game.command(game.options(**options)), options, decisions=200), rules)))


@pytest.mark.parametrize(("stepping", "rules"), [("in turn", UP_TO_OPTIONS), ("threads", None)])
def test_the_gymnasium_host_keeps_the_protocol(stepping: str, rules: int | None) -> None:
    found = report("gymnasium", "CartPole-v1", stepping, rules)
    assert found.ok, str(found)


SLOWER = [pytest.param(env, None, marks=pytest.mark.slow) for env in ("connect_four_v3", "classic.rps_v2")]


@pytest.mark.parametrize(("env", "rules"), [("connect_four_v3", UP_TO_OPTIONS), *SLOWER])
def test_the_pettingzoo_host_keeps_the_protocol(env: str, rules: int | None) -> None:
    found = report("pettingzoo", env, "in turn", rules)
    assert found.ok, str(found)
