"""Train on nim from Python, watching the run with an observer of your own.

python examples/train_toy.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from ludus.config import load
from ludus.games import registry
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result
from ludus.run import train


class Printer:
    """Any object with these two methods can watch a run."""

    def on_progress(self, numbers: Numbers) -> None:
        print(f"update {numbers.get(names.UPDATES, 0)}: {numbers.get(names.DECISIONS, 0)} decisions so far")

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        for result in results:
            print(f"{result.win_rate:.0%} won against {result.opponent}")


def main(folder: Path) -> None:
    config = load.build(
        {
            "game": "toy",
            "options": {"game": "nim", "pile": 12},
            "mode": "serial",  # one process, deterministic
            "fleet": {"hosts": 1, "matches": 16},
            "learner": {"decisions": 1024, "minibatch": 256},
            "evaluation": {"matches": 40, "quick_matches": 10},
            "budget": {"updates": 20, "minutes": 0},
        },
        options_of=lambda name: registry.load(name).options,
    )
    folder.mkdir(parents=True, exist_ok=True)
    load.save(config, folder / "config.yaml")
    result = train(config, folder, observer=Printer())
    print(f"{result.version} updates; the weights are in {result.checkpoint}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs/example-nim"))
