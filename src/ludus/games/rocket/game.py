"""Entry point of Rocket League."""

from __future__ import annotations

from pathlib import Path

from ludus.games.portable import named_numbers
from ludus.games.registry import Game, RewardTerms
from ludus.games.rocket.options import RocketOptions, check, reward_weights, with_rewards
from ludus.games.rocket.scripted import ChaserPolicy, KeeperPolicy
from ludus.games.rocket.simulator import rocketsim
from ludus.games.toy.scripted import RandomPolicy
from ludus.processes.command import HostCommand, python_host


def command(options: RocketOptions) -> HostCommand:
    check(options)
    rocketsim(options.meshes)  # what is missing is said here, before a host starts
    return python_host("ludus.games.rocket.host")


game = Game(
    name="rocket",
    summary="Rocket League soccar on RocketSim, 1v1 to 3v3, with RLGym's observations and actions",
    options=RocketOptions,
    command=command,
    scripted={"random": RandomPolicy, "chaser": ChaserPolicy, "keeper": KeeperPolicy},
    net="mlp",
    presets=Path(__file__).parent / "presets",
    local=frozenset({"meshes"}),
    reward_terms=RewardTerms(reward_weights, with_rewards),
    portable={"rewards": named_numbers, "starts": named_numbers},
)
