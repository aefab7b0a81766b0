"""The games that are installed."""

from __future__ import annotations

from dataclasses import dataclass

from ludus.config import load
from ludus.games import registry


@dataclass(frozen=True, slots=True)
class GameInfo:
    name: str
    summary: str
    presets: tuple[str, ...]  # names that `train` takes
    opponents: tuple[str, ...]  # scripted policies
    formats: tuple[str, ...]  # variants, where the game has such


def games() -> tuple[GameInfo, ...]:
    """Every installed game, in alphabetical order."""
    return tuple(_info(registry.load(name)) for name in registry.names())


def _info(game: registry.Game) -> GameInfo:
    presets = tuple(path.stem for path in load.preset_files(game.presets))
    formats = () if game.formats is None else tuple(game.formats())
    return GameInfo(game.name, game.summary, presets, tuple(game.scripted), formats)
