"""Train on nim from Python and watch the run with your own observer.

python examples/train_toy.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import ludus
from ludus.metrics import names
from ludus.metrics.observer import Numbers, Result


class Printer:
    """An observer: any object with these two methods."""

    def on_progress(self, numbers: Numbers) -> None:
        print(f"update {numbers.get(names.UPDATES, 0)}: {numbers.get(names.DECISIONS, 0)} decisions so far")

    def on_evaluation(self, results: Sequence[Result], *, final: bool = False) -> None:
        for result in results:
            print(f"{result.win_rate:.0%} won against {result.opponent}")


def main(folder: str) -> None:
    run = ludus.train(
        {
            "game": "toy",
            "options": {"game": "nim", "pile": 12},
            "mode": "serial",  # one process, deterministic
            "fleet": {"hosts": 1, "matches": 16},
            "learner": {"decisions": 1024, "minibatch": 256},
            "evaluation": {"matches": 40, "quick_matches": 10},
        },
        updates=20,
        run_dir=folder,
        observer=Printer(),
    )
    print(f"{run.updates} updates; the weights are in {run.checkpoint}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/example-nim")
