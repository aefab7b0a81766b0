from __future__ import annotations

import pytest

from ludus.errors import ConfigError
from ludus.games import registry


def test_installed_games_are_found_by_name() -> None:
    assert {"toy", "showdown"} <= set(registry.names())
    assert registry.load("toy").name == "toy"


def test_unknown_game_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"unknown game 'shodown'; did you mean 'showdown'\?"):
        registry.load("shodown")


def test_name_near_nothing_is_refused_with_all_names() -> None:
    with pytest.raises(ConfigError, match=r"known are .*showdown.*toy"):
        registry.load("qqqqqq")
