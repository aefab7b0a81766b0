"""Entry point of PettingZoo's environments."""

from __future__ import annotations

from pathlib import Path

from ludus.games.environments.loading import require
from ludus.games.pettingzoo.options import PettingZooOptions
from ludus.games.portable import named_numbers, text_like
from ludus.games.registry import Game
from ludus.games.toy.scripted import RandomPolicy
from ludus.processes.command import HostCommand, python_host


def command(options: PettingZooOptions) -> HostCommand:
    require("pettingzoo")
    return python_host("ludus.games.pettingzoo.host")


game = Game(
    name="pettingzoo",
    summary="Any PettingZoo environment with discrete actions: pettingzoo:connect_four_v3, pettingzoo:my_module:env",
    options=PettingZooOptions,
    command=command,
    scripted={"random": RandomPolicy},
    net="mlp",
    presets=Path(__file__).parent / "presets",
    portable={"env": text_like(r"[a-z0-9_]+_v\d+"), "kwargs": named_numbers},  # with a dot it may be any module
)
