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
