"""Trained agents that come with a game: `ludus play gen9-best`. `ludus agents` lists them.

An agent is a folder in `Game.agents`, laid out as the folder of a run: config.yaml, one checkpoint without its
optimiser, and a model card. Its name is accepted wherever the folder of a run is. A folder of the user's with the same
name comes first.
"""

from __future__ import annotations

import re
from pathlib import Path

from ludus.errors import ConfigError, LudusError
from ludus.games import registry
from ludus.policies.checkpoints import checkpoint

CARD = "card.md"
BEST = "best"  # the agent of the game that is played
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


def folders() -> dict[str, Path]:
    """Return the folder of every agent of the installed games, by name. Games that cannot be imported are left out. If
    two games use one name, the first of `names_by_precedence` has it."""
    agents: dict[str, Path] = {}
    for name in reversed(registry.names_by_precedence()):
        try:
            folder = registry.load(name).agents
        except LudusError:
            continue
        if folder is not None and folder.is_dir():
            agents.update({each.name: each for each in sorted(folder.iterdir()) if (each / CARD).is_file()})
    return dict(sorted(agents.items()))


def path_of(name: str | Path) -> Path:
    """Return the folder of an agent that comes with a game, if `name` is its name and no file has it. Otherwise return
    `name` as a path."""
    path = Path(name)
    if path.exists() or NAME.fullmatch(str(name)) is None:
        return path
    return folders().get(str(name), path)


def best_for(spec_name: str) -> Path:
    """Return the agent that was trained on the game with this spec's name. Raises ConfigError if none comes with it."""
    agents = folders()
    for path in agents.values():
        if checkpoint.read_state(checkpoint.find(path)).game.name == spec_name:
            return path
    raise ConfigError(f"no agent for {spec_name} comes with ludus; there are: {', '.join(agents) or 'none'}")
