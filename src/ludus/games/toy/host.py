"""The toy host: `python -m ludus.games.toy.host`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from ludus.errors import ConfigError
from ludus.games.toy.matches import WaitingMatch, new_match, spec_of
from ludus.games.toy.options import ToyOptions
from ludus.sdk.match import HostedGame
from ludus.sdk.serve import serve


def make_game(options: Mapping[str, Any]) -> HostedGame:
    """Return the game for the options in CONFIGURE (Any: not yet checked). Raises ConfigError."""
    try:
        toy_options = msgspec.convert(dict(options), ToyOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(f"toy options: {error}") from error
    spec = spec_of(toy_options)
    if toy_options.wait_s:
        return HostedGame(spec, lambda: WaitingMatch(new_match(toy_options, spec), toy_options.wait_s))
    return HostedGame(spec, lambda: new_match(toy_options, spec))


if __name__ == "__main__":
    sys.exit(serve(make_game))
