"""Every host keeps the protocol: toy, OpenSpiel and Showdown, by the same check that authors of hosts run."""

from __future__ import annotations

import msgspec
import pytest

from ludus.games import registry
from ludus.games.showdown.install import Installation
from ludus.hosting.check import check


@pytest.mark.parametrize("game", ["identity", "nim", "rps", "recall"])
def test_toy_host_keeps_the_protocol(game: str) -> None:
    toy = registry.load("toy")
    options = toy.options(game=game)
    report = check(toy.command(options), msgspec.to_builtins(options))
    assert report.ok, str(report)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_openspiel_host_keeps_the_protocol(name: str) -> None:
    game = registry.load("openspiel")
    options = game.options(game=name)
    report = check(game.command(options), msgspec.to_builtins(options))
    assert report.ok, str(report)


@pytest.mark.parametrize("format_", ["gen1randombattle", "gen9randomdoublesbattle"])
def test_showdown_host_keeps_the_protocol(showdown: Installation, format_: str) -> None:
    game = registry.load("showdown")
    options = game.options(format=format_)
    report = check(game.command(options), msgspec.to_builtins(options), decisions=600)
    assert report.ok, str(report)
