"""The Python interface of ludus: train, evaluate, load and games. The commands of the terminal call it too.

import ludus

run = ludus.train("gen1", minutes=10)
for result in ludus.evaluate(run, opponents=["heuristic"]):
    print(result.opponent, result.win_rate, result.interval)
agent = ludus.load(run)
"""

from ludus.api.agents import Agent, load
from ludus.api.evaluating import evaluate
from ludus.api.training import Run, train
from ludus.errors import LudusError
from ludus.evaluation.arena import MatchupResult
from ludus.games.listing import GameInfo, games

__all__ = ["Agent", "GameInfo", "LudusError", "MatchupResult", "Run", "evaluate", "games", "load", "train"]
