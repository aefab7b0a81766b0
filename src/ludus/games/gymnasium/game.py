"""Entry point of Gymnasium's environments."""

from __future__ import annotations

from pathlib import Path

from ludus.games.environments.loading import require
from ludus.games.gymnasium.options import GymnasiumOptions
from ludus.games.portable import named_numbers, text_like
from ludus.games.registry import Game
from ludus.processes.command import HostCommand, python_host


def command(options: GymnasiumOptions) -> HostCommand:
    require("gymnasium")
    return python_host("ludus.games.gymnasium.host")


game = Game(
    name="gymnasium",
    summary="Any Gymnasium environment with discrete actions: gymnasium:CartPole-v1, gymnasium:my_module:MyEnv",
    options=GymnasiumOptions,
    command=command,
    scripted={},
    net="mlp",
    presets=Path(__file__).parent / "presets",
    portable={"env": text_like(r"[\w./-]+"), "kwargs": named_numbers},  # an id has no colon; module:Class has one
)
