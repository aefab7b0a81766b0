"""Every host keeps the protocol: toy, OpenSpiel and Showdown, by the same check that authors of hosts run."""

from __future__ import annotations

from itertools import islice

import msgspec
import pytest

from ludus.games import registry
from ludus.games.showdown.install import Installation
from ludus.hostcheck.check import CheckReport, results

OF_THE_GAME = 10  # the first rules; the others do not depend on what a host plays, so one game of each kind does


@pytest.fixture(autouse=True)
def _speed_is_measured_coarsely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludus.hostcheck.rules.SPEED_S", 0.1)


def report(name: str, options: dict[str, object], rules: int | None, decisions: int = 400) -> CheckReport:
    game = registry.load(name)
    chosen = game.options(**options)
    found = results(game.command(chosen), msgspec.to_builtins(chosen), decisions=decisions)
    return CheckReport(tuple(islice(found, rules)))


@pytest.mark.parametrize(
    ("game", "rules"), [("nim", None), ("identity", OF_THE_GAME), ("rps", OF_THE_GAME), ("recall", OF_THE_GAME)]
)
def test_toy_host_keeps_the_protocol(game: str, rules: int | None) -> None:
    found = report("toy", {"game": game}, rules)
    assert found.ok, str(found)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_openspiel_host_keeps_the_protocol(name: str) -> None:
    found = report("openspiel", {"game": name}, OF_THE_GAME)
    assert found.ok, str(found)


SLOWER = [
    pytest.param(format_, rules, 600, marks=pytest.mark.slow)
    for format_, rules in (("gen1randombattle", None), ("gen9randomdoublesbattle", OF_THE_GAME))
]


@pytest.mark.parametrize(("format_", "rules", "decisions"), [("gen9randombattle", 13, 200), *SLOWER])
def test_showdown_host_keeps_the_protocol(
    showdown: Installation, format_: str, rules: int | None, decisions: int
) -> None:
    found = report("showdown", {"format": format_}, rules, decisions)
    assert found.ok, str(found)
