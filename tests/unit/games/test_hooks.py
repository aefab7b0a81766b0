from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points

import pytest

from ludus.errors import ConfigError
from ludus.games import hooks, registry

TOY = registry.load("toy")


def test_a_game_without_hooks_changes_nothing() -> None:
    assert hooks.stable_log_of(TOY)("a log") == "a log"
    assert list(hooks.table_lines_of(TOY)({})) == []
    assert hooks.findings_of(TOY) == []


def test_a_hook_is_imported_from_its_module() -> None:
    assert hooks.stable_log_of(replace(TOY, stable_log="builtins:ascii")) is ascii


@pytest.mark.parametrize("reference", ["no.such.module:log", "builtins:no_such_name", "builtins", ":ascii"])
def test_a_hook_that_does_not_exist_is_refused_with_its_reference(reference: str) -> None:
    with pytest.raises(ConfigError, match=f"toy names '{reference}' as the function that makes its logs comparable"):
        hooks.stable_log_of(replace(TOY, stable_log=reference))


@pytest.mark.parametrize(("checks", "cause"), [("builtins:len", "TypeError"), ("no.such.module:checks", "ConfigError")])
def test_checks_that_fail_are_a_finding(checks: str, cause: str) -> None:
    (finding,) = hooks.findings_of(replace(TOY, checks=checks))
    assert (finding.name, finding.state) == ("toy", "missing")
    assert f"its checks failed: {cause}" in finding.detail


def test_every_hook_of_an_installed_game_exists() -> None:
    for game in map(registry.load, registry.names()):
        for name in game.commands:
            assert callable(hooks.command_of(game, name))
        for reference in filter(None, (game.checks, game.table_lines, game.stable_log)):
            assert callable(registry.attribute_of(game, reference, "a hook"))


def test_games_of_ludus_come_before_those_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    points = entry_points(group=registry.GROUP)
    other = EntryPoint("a-game", "package_of_its_own:game", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [other, *points])
    names = registry.names_by_precedence()
    assert registry.names()[0] == names[-1] == "a-game"
