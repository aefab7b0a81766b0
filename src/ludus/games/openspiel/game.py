"""Entry point of the games of OpenSpiel."""

from __future__ import annotations

from pathlib import Path

from ludus.games.openspiel.loading import load, playable
from ludus.games.openspiel.options import SpielOptions
from ludus.games.portable import named_numbers, text_like
from ludus.games.registry import Game
from ludus.games.toy.scripted import RandomPolicy
from ludus.processes.command import HostCommand, python_host

WRITTEN = text_like(r"[a-z0-9_]+(\([a-zA-Z0-9_=,.()-]*\))?")  # as OpenSpiel writes a game with its parameters


def command(options: SpielOptions) -> HostCommand:
    load(options)  # what cannot be played is refused here, before a host starts
    return python_host("ludus.games.openspiel.host")


def is_portable(name: object) -> bool:
    """Return whether a file from another machine may name this game: its parameters must not name a file."""
    return WRITTEN(name) and "file" not in str(name)


game = Game(
    name="openspiel",
    summary="Games of OpenSpiel for two in turns (kuhn_poker, leduc_poker ...), with their distance from equilibrium",
    options=SpielOptions,
    command=command,
    scripted={"random": RandomPolicy},
    net="mlp",
    presets=Path(__file__).parent / "presets",
    formats=playable,
    portable={"game": is_portable, "parameters": named_numbers},
)
