"""Asks a host to describe its game."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.games.registry import Game
from ludus.spec import GameSpec


@dataclass(frozen=True, slots=True)
class Described:
    """A game as one of its hosts describes it."""

    spec: GameSpec
    engine: dict[str, Any]  # Any: what the host says about itself, such as the version of its simulator


def describe(game: Game, options: msgspec.Struct, log_dir: Path) -> Described:
    """Start one host with these options, and end it after its HELLO. Raises FleetError or HostRefused."""
    builtins = msgspec.to_builtins(options)
    with HostFleet(
        game.command(options), FleetConfig(), options=builtins, seed=0, log_dir=log_dir, hosts=1, matches=1
    ) as fleet:
        return Described(fleet.spec, dict(fleet.engine))
