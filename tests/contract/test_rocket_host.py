"""The Rocket League host keeps the protocol."""

from __future__ import annotations

import msgspec
import pytest

pytest.importorskip("RocketSim", reason="needs the extra rocket")

from ludus.games import registry
from ludus.hostcheck.check import check


def test_the_rocket_host_keeps_the_protocol() -> None:
    game = registry.load("rocket")
    chosen = game.options(team_size=2, timeout_s=3.0, starts={"random": 1.0, "shot": 1.0}, feature_set="rich")
    report = check(game.command(chosen), msgspec.to_builtins(chosen), decisions=400)
    assert report.ok, str(report)
