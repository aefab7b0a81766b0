"""Train with ludus: `learn.py GAME SET...`, each SET as in `ludus train --set`.

It never pauses by itself: the benchmark stops and continues it with signals.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.drivers.train import ENDLESS, learn

from ludus.config import load
from ludus.games import registry


def main(game: str, *sets: str) -> None:
    options = registry.load(game).options
    learn(load.build(load.override({"game": game}, [*ENDLESS, *sets]), options_of=lambda _: options))


if __name__ == "__main__":
    main(*sys.argv[1:])
