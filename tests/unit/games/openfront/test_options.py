"""Options of OpenFront: what is refused, with which words, and that both sides have the same defaults."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import msgspec
import pytest

from ludus.errors import ConfigError, SetupError, UntrustedError
from ludus.games import registry, trust
from ludus.games.openfront.game import HERE, command, names_of_maps
from ludus.games.openfront.options import DEFAULT_REWARDS, HOME, OpenFrontOptions, check, checkout
from ludus.games.showdown import node


def of_node(expression: str) -> object:
    """Return the value of an expression, in which `host` requires a module of the host."""
    script = f"const host = name => require('{HERE}/host/' + name); console.log(JSON.stringify({expression}))"
    run = subprocess.run([node.find(), "-e", script], capture_output=True, text=True, timeout=60, check=True)
    answer: object = json.loads(run.stdout)
    return answer


def test_both_sides_have_the_same_options_defaults_and_reward_terms() -> None:
    theirs = of_node("Object.fromEntries(Object.entries(host('options.js').OPTIONS).map(([n, o]) => [n, o.fallback]))")
    assert theirs == msgspec.to_builtins(OpenFrontOptions())
    assert of_node("host('rewards.js').DEFAULTS") == DEFAULT_REWARDS


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seats": 3, "team_size": 2}, "team_size: 3 seats cannot be divided by 2"),
        ({"seats": 2, "team_size": 2, "nations": 0}, "nations: all seats are one team"),
        ({"bots": 0}, "bots: a single seat needs"),
        ({"rewards": {"kills": 1.0}}, "no term 'kills'; did you mean kill"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check(msgspec.convert(options, OpenFrontOptions))


@pytest.mark.parametrize(
    "options", [{"bots": 401}, {"maps": []}, {"maps": ["../onion"]}, {"ticks": 1}, {"difficulty": "brutal"}]
)
def test_values_out_of_range_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(options, OpenFrontOptions)


def test_a_missing_checkout_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOME, raising=False)
    with pytest.raises(SetupError, match=f"npm ci .* set options.openfront or {HOME}"):
        checkout()
    with pytest.raises(SetupError, match="no checkout of OpenFront: there is no folder src/core"):
        checkout(str(tmp_path))
    (tmp_path / "src" / "core").mkdir(parents=True)
    with pytest.raises(SetupError, match="has no dependencies; run there: npm ci"):
        checkout(str(tmp_path))
    (tmp_path / "node_modules").mkdir()
    monkeypatch.setenv(HOME, str(tmp_path))
    assert checkout() == tmp_path
    assert command(OpenFrontOptions()).argv[-2:] == ("--checkout", str(tmp_path))


def test_the_folder_of_the_checkout_comes_from_this_machine_only() -> None:
    game = registry.load("openfront")
    with pytest.raises(UntrustedError, match=r"options\.openfront"):
        trust.accept(game, {"openfront": "/somewhere"}, "a file")
    with pytest.raises(UntrustedError, match=r"options\.node"):
        trust.accept(game, {"node": "/bin/node"}, "a file")
    harmless = {"maps": ["onion", "world"], "bots": 3, "rewards": {"win": 2.0}, "difficulty": "hard"}
    assert trust.accept(game, harmless, "a file", {"openfront": "/mine"}) == {**harmless, "openfront": "/mine"}
    assert not names_of_maps(["../../etc"])
    assert {"openfront", "node"} <= game.local
