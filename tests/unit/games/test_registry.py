from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from ludus.config.settings import PolicyConfig, ServersConfig
from ludus.config.validation import check
from ludus.errors import ConfigError
from ludus.games import registry
from ludus.spec import GameSpec, ObsSpec


def test_installed_games_are_found_by_name() -> None:
    assert {"toy", "showdown"} <= set(registry.names())
    assert registry.load("toy").name == "toy"


def test_unknown_game_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"unknown game 'shodown'; did you mean showdown\?"):
        registry.load("shodown")


def test_name_near_nothing_is_refused_with_all_names() -> None:
    with pytest.raises(ConfigError, match=r"known are .*showdown.*toy"):
        registry.load("qqqqqq")


def test_servers_are_refused_by_a_game_that_is_played_without_them(tmp_path: Path) -> None:
    game = registry.load("toy")
    with pytest.raises(ConfigError, match=r"servers\.count: toy is played without servers"):
        game.served(game.options(), ServersConfig(count=1), tmp_path)


def test_no_servers_are_started_unless_asked_for(tmp_path: Path) -> None:
    game = registry.load("showdown-server")
    options = game.options()
    with game.served(options, ServersConfig(), tmp_path) as served:
        assert served.options is options
        assert list(served.pids()) == []
    assert list(tmp_path.iterdir()) == []


def test_servers_are_not_started_beside_addresses_given_by_hand(tmp_path: Path) -> None:
    game = registry.load("showdown-server")
    options = check({"servers": ["ws://10.0.0.1/showdown/websocket"]}, game.options)
    asked = r"servers\.count: 2 servers would be started, but options\.servers names ws://10\.0\.0\.1/"
    with pytest.raises(ConfigError, match=asked), game.served(options, ServersConfig(count=2), tmp_path):
        pass


def test_net_of_a_game_is_imported_when_it_is_built() -> None:
    missing = replace(registry.load("toy"), nets={"own": "no.such.module:Net"})
    build = registry.nets_of(missing)["own"]
    with pytest.raises(ConfigError, match=r"policy\.net: toy names 'no\.such\.module:Net' as its net 'own'"):
        build(GameSpec("toy", 1, 1, ObsSpec.pack({}), 1), PolicyConfig())


def test_games_name_nets_that_exist() -> None:
    for name in registry.names():
        for reference in registry.load(name).nets.values():
            module, _, attribute = reference.partition(":")
            assert isinstance(getattr(import_module(module), attribute), type)
