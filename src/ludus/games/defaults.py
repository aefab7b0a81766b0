"""The game and the preset that are used when the user names none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GAME = "showdown"
PRESET = "gen1"


def with_game(settings: Mapping[str, Any]) -> Mapping[str, Any]:  # Any: plain data, not yet checked
    """Return the settings of a run with the default game, if they name no game."""
    return settings if "game" in settings else {"game": GAME, **settings}
