"""Entry point of OpenFront."""

from __future__ import annotations

from pathlib import Path

from ludus.games.openfront.options import OpenFrontOptions, check, checkout, reward_weights, with_rewards
from ludus.games.openfront.page import page
from ludus.games.openfront.scripted import CautiousPolicy, ExpanderPolicy
from ludus.games.portable import named_numbers
from ludus.games.registry import Game, HostFootprint, RewardTerms
from ludus.games.showdown import node
from ludus.games.toy.scripted import RandomPolicy
from ludus.processes.command import HostCommand

HERE = Path(__file__).parent
NODE_FLAGS = ("--max-semi-space-size=16", "--max-old-space-size=4096")


def command(options: OpenFrontOptions) -> HostCommand:
    """Return the command that starts a host. Raises ConfigError, or SetupError if Node or OpenFront is missing."""
    check(options)
    folder, executable = checkout(options.openfront), node.find(options.node)
    return HostCommand((str(executable), *NODE_FLAGS, str(HERE / "host" / "host.js"), "--checkout", str(folder)))


def names_of_maps(value: object) -> bool:
    """Accept a list of plain names, which cannot lead out of the folder of maps."""
    return isinstance(value, list) and all(isinstance(name, str) and name.isalnum() for name in value)


game = Game(
    name="openfront",
    summary="OpenFront, a game of territory for many players, from your checkout of its source",
    options=OpenFrontOptions,
    command=command,
    scripted={"random": RandomPolicy, "cautious": CautiousPolicy, "expander": ExpanderPolicy},
    net="entities",
    presets=HERE / "presets",
    local=frozenset({"openfront", "node"}),
    portable={"rewards": named_numbers, "maps": names_of_maps},
    reward_terms=RewardTerms(reward_weights, with_rewards),
    page=page,
    checks="ludus.games.openfront.checks:checks",
    memory=HostFootprint(
        145.0, 10.0, 13056
    ),  # after 150 decisions: compact 148 to 269 MiB with 1 to 16 matches, normal less than 12 each,
)
