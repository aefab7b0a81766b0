"""Entry point of the toy game."""

from __future__ import annotations

from pathlib import Path

from ludus.games.registry import Game
from ludus.games.toy.options import ToyOptions
from ludus.games.toy.scripted import PerfectPolicy, RandomPolicy
from ludus.processes.command import HostCommand, python_host


def command(options: ToyOptions) -> HostCommand:
    return python_host("ludus.games.toy.host")


game = Game(
    name="toy",
    summary="Small games with known answers (identity, nim, rps, recall, cards), learned in seconds",
    options=ToyOptions,
    command=command,
    scripted={"random": RandomPolicy, "perfect": PerfectPolicy},
    net="mlp",
    presets=Path(__file__).parent / "presets",
    formats=lambda: ("identity", "nim", "rps", "recall", "cards"),
)
