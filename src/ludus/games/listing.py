"""The games that are installed."""

from __future__ import annotations

from dataclasses import dataclass

from ludus.config import load
from ludus.games import registry


@dataclass(frozen=True, slots=True)
class GameInfo:
    """An installed game."""

    name: str  # as in `train(game=...)`
    summary: str  # one line about the game
    presets: tuple[str, ...]  # names that `train` accepts
    opponents: tuple[str, ...]  # names of its scripted policies
    formats: tuple[str, ...]  # names of its variants; empty if it has none


def games() -> tuple[GameInfo, ...]:
    """Return all installed games, in alphabetical order."""
    return tuple(_info(registry.load(name)) for name in registry.names())


def _info(game: registry.Game) -> GameInfo:
    presets = tuple(path.stem for path in load.preset_files(game.presets))
    formats = () if game.formats is None else tuple(game.formats())
    return GameInfo(game.name, game.summary, presets, tuple(game.players), formats)
