"""What a file from elsewhere may set, and what only this machine may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from ludus.errors import UntrustedError
from ludus.games import registry, trust
from ludus.games.portable import named_numbers, text_like
from ludus.processes.command import python_host


@pytest.fixture(autouse=True)
def _fresh_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LUDUS_HOME", str(tmp_path / "home"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("gymnasium", {"env": "os:system"}),
        ("gymnasium", {"env": "CartPole-v1", "kwargs": {"xml_file": "/etc/passwd"}}),
        ("gymnasium", {"env": "CartPole-v1", "kwargs": {"nested": {"a": 1}}}),
        ("gymnasium", {"env": ["CartPole-v1"]}),
        ("pettingzoo", {"env": "my_module:env"}),
        ("pettingzoo", {"env": "os.path"}),
        ("pettingzoo", {"env": "classic.connect_four_v3"}),
        ("openspiel", {"game": "efg_game(filename=x.efg)"}),
        ("openspiel", {"game": "kuhn_poker", "parameters": {"a": "text"}}),
        ("rocket", {"rewards_file": "rewards.yaml"}),
        ("rocket", {"meshes": "/tmp"}),
        ("command", {"command": "touch canary"}),
        ("command", {"command": ["touch", "canary"]}),
        ("command", {"options": {"a": 1}}),
        ("command", {"env": {"LD_PRELOAD": "evil.so"}}),
        ("showdown", {"node": "/bin/sh"}),
        ("showdown", {"node": "system"}),
        ("showdown", {"teams": "/etc"}),
        ("showdown", {"format": "../../x"}),
        ("showdown-server", {"servers": ["ws://example.com/showdown/websocket"]}),
    ],
)
def test_a_file_cannot_choose_what_runs_here(game: str, options: dict[str, Any]) -> None:
    with pytest.raises(
        UntrustedError, match=r"^a file: sets options\.\w+ to .* give it yourself: --set options\.\w+=\.\.\."
    ):
        trust.accept(registry.load(game), options, "a file")


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("gymnasium", {"env": "ALE/Pong-v5", "kwargs": {"is_slippery": False, "size": 3}, "max_steps": 7}),
        ("pettingzoo", {"env": "connect_four_v3", "api": "aec", "kwargs": {}}),
        ("openspiel", {"game": "leduc_poker(players=2)", "parameters": {"players": 2}}),
        ("rocket", {"team_size": 2, "rewards": {"goal": 10.0}, "starts": {"kickoff": 1}, "meshes": ""}),
        ("toy", {"game": "nim", "pile": 9}),
        ("showdown", {"format": "gen9randombattle", "node": "wheel", "teams": None, "reward_win": 2.0}),
        ("showdown-server", {"format": "gen1ou", "name": "my bot", "patience_s": 5.0}),
        ("showdown", {"unheard_of": "refused later, by the check of all options"}),
    ],
)
def test_a_file_may_choose_formats_and_numbers(game: str, options: dict[str, Any]) -> None:
    assert trust.accept(registry.load(game), options, "a file") == options


def test_every_default_of_every_game_is_accepted() -> None:
    for name in registry.names():
        game = registry.load(name)
        defaults = {field: getattr(game.options(), field) for field in game.options.__struct_fields__}
        assert trust.accept(game, defaults, "a file") == defaults


def test_the_command_line_may_set_what_a_file_may_not() -> None:
    game = registry.load("gymnasium")
    options = trust.accept(game, {"env": "os:system", "max_steps": 3}, "a file", {"env": "my_module:MyEnv"})
    assert options == {"env": "my_module:MyEnv", "max_steps": 3}


def test_what_was_started_here_is_accepted_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    game = registry.load("gymnasium")
    options = {"env": "my_module:MyEnv", "kwargs": {"level": "hard"}, "max_steps": 3}
    trust.remember(game, options)
    assert trust.accept(game, options, "a file") == options
    with pytest.raises(UntrustedError, match=r"options\.env"):  # what was started with other values says nothing
        trust.accept(game, {**options, "kwargs": {"level": "evil"}}, "a file")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UntrustedError):  # a module of that name in another folder is another module
        trust.accept(game, options, "a file")


def test_the_same_start_is_noted_once_and_for_its_user_alone(tmp_path: Path) -> None:
    game = registry.load("command")
    for _ in range(3):
        trust.remember(game, {"command": ("node", "host.js")})
    trust.remember(game, {"command": ""})  # a default needs no note
    notes = tmp_path / "home" / trust.STARTED
    assert len(notes.read_bytes().splitlines()) == 1
    assert notes.stat().st_mode & 0o777 == 0o600


def test_damaged_notes_are_passed_over(tmp_path: Path) -> None:
    game = registry.load("command")
    trust.remember(game, {"command": "node host.js"})
    notes = tmp_path / "home" / trust.STARTED
    notes.write_bytes(b"\xff\xfe\n" + b"[" * 100_000 + b"\n" + notes.read_bytes() + b'{"game": "comm')
    assert trust.accept(game, {"command": "node host.js"}, "a file")


def test_notes_are_shortened_when_they_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "MOST_BYTES", 2_000)
    game = registry.load("command")
    for number in range(100):
        trust.remember(game, {"command": f"node host-{number}.js"})
    assert (tmp_path / "home" / trust.STARTED).stat().st_size < 3_000
    assert trust.accept(game, {"command": "node host-99.js"}, "a file")


def test_a_plugin_that_says_nothing_gives_files_no_power() -> None:
    class Options(Struct, frozen=True, forbid_unknown_fields=True):
        module: str
        level: int = 1

    plugin = registry.Game("plugin", "", Options, lambda _: python_host("x"), {}, "mlp", Path())
    assert trust.accept(plugin, {"level": 9}, "a file") == {"level": 9}
    with pytest.raises(UntrustedError, match="module"):
        trust.accept(plugin, {"module": "os"}, "a file")


def test_what_an_error_shows_of_a_value_is_short_and_printable() -> None:
    with pytest.raises(UntrustedError) as refusal:
        trust.accept(registry.load("command"), {"command": "\x1b[2J" + "x" * 10_000}, "a file")
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 400


def test_tests_of_values_take_whole_values() -> None:
    assert text_like("[a-z]+")("abc")
    assert not any(map(text_like("[a-z]+"), ["abc\n", "a" * 201, "", 5, None, ["a"]]))
    assert named_numbers({"a": 1, "b": True, "c": 0.5})
    assert not any(
        map(named_numbers, [{"a b": 1}, {"a": "x"}, {1: 1}, {"a": [1]}, [], {f"a{n}": 1 for n in range(101)}])
    )
