"""The faulty host: `python -m tests.faulty.host`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import msgspec
from tests.faulty.channel import FaultyChannel
from tests.faulty.options import FaultyOptions

from ludus.errors import ConfigError
from ludus.games.toy import host as toy
from ludus.games.toy.options import ToyOptions
from ludus.sdk.match import HostedGame, Match, Turn
from ludus.sdk.serve import serve
from ludus.wire.channel import PipeChannel


def make_game(options: Mapping[str, Any]) -> HostedGame:
    """Any: options as they came in CONFIGURE."""
    try:
        faulty = msgspec.convert(dict(options), FaultyOptions)
    except msgspec.ValidationError as error:
        raise ConfigError(f"faulty options: {error}") from error
    game = toy.make_game({name: getattr(faulty, name) for name in ToyOptions.__struct_fields__})
    new_match = cast(Callable[[], Match], game.match)
    if not faulty.match_error_after:
        return game
    return replace(game, match=lambda: FailingMatch(new_match(), faulty.match_error_after))


class FailingMatch:
    """Raises in turn `after` of its slot, once."""

    def __init__(self, match: Match, after: int) -> None:
        self._match = match
        self._after = after
        self._turns = 0

    def start(self, seed: int) -> Turn:
        return self._match.start(seed)

    def advance(self, actions: Mapping[int, int]) -> Turn:
        self._turns += 1
        if self._turns == self._after:
            raise RuntimeError("this match was told to fail")
        return self._match.advance(actions)


if __name__ == "__main__":
    sys.exit(serve(make_game, FaultyChannel(PipeChannel.take_stdio())))
