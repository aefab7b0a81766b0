"""Finds the game of a checkpoint, and the nets that this game brings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ludus.config import load
from ludus.config.folders import CONFIG
from ludus.errors import ConfigError
from ludus.games import defaults, registry
from ludus.games.registry import Game

if TYPE_CHECKING:
    from ludus.policies.nets import NetFactory


def nets_for(checkpoint_path: Path, spec_name: str) -> dict[str, NetFactory]:
    """Return the net architectures of a checkpoint's game, by name. Empty if that game is not installed."""
    try:
        return registry.nets_of(game_of(checkpoint_path, spec_name))
    except ConfigError:
        return {}


def local_options(checkpoint_path: Path, spec_name: str) -> frozenset[str]:
    """Return the names of the game's options that differ between machines. Empty if that game is not installed."""
    try:
        return game_of(checkpoint_path, spec_name).local
    except ConfigError:
        return frozenset()


def game_of(path: Path, spec_name: str) -> Game:
    """Return the game of a checkpoint, from its run's configuration or, outside of a run, from the name in its spec.

    Raises ConfigError if that game is not installed.
    """
    return game_in(config_of(path), spec_name)


def config_of(path: Path) -> Mapping[str, Any] | None:  # Any: plain data, not yet checked
    """Return the configuration of a checkpoint's run, or None if the checkpoint is not in the folder of a run."""
    config = path.parent.parent / CONFIG
    return load.read(config) if config.exists() else None


def game_in(config: Mapping[str, Any] | None, spec_name: str) -> Game:  # Any: plain data, not yet checked
    """Return the game that a run's configuration names; without one, the game of a spec's name. Raises ConfigError."""
    if config is not None:
        return registry.load(str(defaults.with_game(config)["game"]))
    return registry.load(re.split("[-/]", spec_name)[0])
