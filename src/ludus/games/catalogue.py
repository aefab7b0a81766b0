"""Presets and options of all installed games, as configurations refer to them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ludus.config import load
from ludus.games import registry


def presets() -> dict[str, Path]:
    """Return the presets of all installed games. If two games use one name, the first of `names_by_precedence` has
    it."""
    return load.presets_in({name: registry.load(name).presets for name in registry.names_by_precedence()})


def options_of(game: str) -> type[msgspec.Struct]:
    """Return the struct that checks the options of a game."""
    return registry.load(game).options
