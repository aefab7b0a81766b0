"""Entry point of the games of OpenSpiel."""

from __future__ import annotations

import sys
from pathlib import Path

from ludus.games.openspiel.loading import load, playable
from ludus.games.openspiel.options import SpielOptions
from ludus.games.registry import Game
from ludus.games.toy.scripted import RandomPolicy
from ludus.hosting.command import HostCommand


def command(options: SpielOptions) -> HostCommand:
    load(options)  # what cannot be played is refused here, before a host starts
    return HostCommand((sys.executable, "-m", "ludus.games.openspiel.host"))


game = Game(
    name="openspiel",
    summary="Games of OpenSpiel for two in turns (kuhn_poker, leduc_poker ...), with their distance from equilibrium",
    options=SpielOptions,
    command=command,
    scripted={"random": RandomPolicy},
    net="mlp",
    presets=Path(__file__).parent / "presets",
    formats=playable,
)
