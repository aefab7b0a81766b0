from __future__ import annotations

from pathlib import Path

import pytest

from ludus.actors.resolved import resolve
from ludus.cli.scale_result import check_target
from ludus.errors import ConfigError
from ludus.games import catalogue, defaults, registry


def test_settings_without_a_game_are_of_the_default_game() -> None:
    assert resolve({}).game is registry.load(defaults.GAME)
    assert defaults.with_game({"game": "toy"}) == {"game": "toy"}


def test_the_default_preset_is_one_of_the_default_game() -> None:
    assert catalogue.presets()[defaults.PRESET].parent == registry.load(defaults.GAME).presets


def test_a_file_without_a_game_takes_only_results_of_the_default_game(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("seed: 3\n")
    check_target(path, defaults.GAME)
    with pytest.raises(ConfigError, match=f"is for {defaults.GAME}, this measures toy"):
        check_target(path, "toy")
