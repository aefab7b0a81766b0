"""The OpenSpiel host: `python -m ludus.games.openspiel.host`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from ludus.errors import ConfigError, SetupError
from ludus.games.openspiel.loading import load
from ludus.games.openspiel.matches import SpielMatch, spec_of
from ludus.games.openspiel.options import SpielOptions
from ludus.sdk.match import HostedGame
from ludus.sdk.serve import serve


def make_game(options: Mapping[str, Any]) -> HostedGame:
    """Return the game for the options in CONFIGURE (Any: not yet checked). Raises ConfigError."""
    try:
        spiel_options = msgspec.convert(dict(options), SpielOptions)
        game = load(spiel_options)
    except msgspec.ValidationError as error:
        raise ConfigError(f"openspiel options: {error}") from error
    except SetupError as error:  # a host can only refuse: nothing that it does would install it
        raise ConfigError(str(error)) from error
    spec = spec_of(game, spiel_options)
    return HostedGame(spec, lambda: SpielMatch(game, spec), {"open_spiel": version("open_spiel"), "game": str(game)})


if __name__ == "__main__":
    sys.exit(serve(make_game))
