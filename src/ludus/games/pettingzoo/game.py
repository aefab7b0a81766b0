"""Entry point of PettingZoo's environments."""

from __future__ import annotations

import sys
from pathlib import Path

from ludus.games.environments.loading import require
from ludus.games.pettingzoo.options import PettingZooOptions
from ludus.games.registry import Game
from ludus.games.toy.scripted import RandomPolicy
from ludus.hosting.command import HostCommand


def command(options: PettingZooOptions) -> HostCommand:
    require("pettingzoo")
    return HostCommand((sys.executable, "-m", "ludus.games.pettingzoo.host"))


game = Game(
    name="pettingzoo",
    summary="Any PettingZoo environment with discrete actions: pettingzoo:connect_four_v3, pettingzoo:my_module:env",
    options=PettingZooOptions,
    command=command,
    scripted={"random": RandomPolicy},
    net="mlp",
    presets=Path(__file__).parent / "presets",
)
