"""Hosts of other people's environments keep the protocol."""

from __future__ import annotations

import pytest

from ludus.games import registry
from ludus.hosting.check import check


@pytest.mark.parametrize("stepping", ["in turn", "threads"])
def test_the_gymnasium_host_keeps_the_protocol(stepping: str) -> None:
    game = registry.load("gymnasium")
    options = game.options(env="CartPole-v1", stepping=stepping)
    report = check(game.command(options), {"env": "CartPole-v1", "stepping": stepping})
    assert report.ok, str(report)


@pytest.mark.parametrize("env", ["connect_four_v3", pytest.param("classic.rps_v2", marks=pytest.mark.slow)])
def test_the_pettingzoo_host_keeps_the_protocol(env: str) -> None:
    game = registry.load("pettingzoo")
    report = check(game.command(game.options(env=env)), {"env": env, "stepping": "in turn"})
    assert report.ok, str(report)
