"""Train game-playing agents against simulators that live outside the Python process.

    run = ludus.train("gen1", minutes=10)      # a preset, a YAML file, a mapping, or game="gymnasium:CartPole-v1"
    ludus.evaluate(run, opponents=["heuristic"], matches=400)
    agent = ludus.load(run)                    # agent.act(arrivals), agent.choose(observation)
    ludus.games()                              # what is installed

`import ludus` is quick: torch and the rest are imported when one of these is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ludus.api import Agent, GameInfo, LudusError, MatchupResult, Run, evaluate, games, load, train

__version__ = "0.1.0"
__all__ = ["Agent", "GameInfo", "LudusError", "MatchupResult", "Run", "evaluate", "games", "load", "train"]


def __getattr__(name: str) -> Any:  # Any: whatever the name stands for
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "games":  # also the package of all games, which can be called
        return importlib.import_module("ludus.games")
    return getattr(importlib.import_module("ludus.api"), name)
