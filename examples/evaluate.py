"""Evaluate a trained agent from Python: a list of matches in which every seed is played from every seat.

python examples/evaluate.py FOLDER_OF_A_RUN
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ludus.config import load
from ludus.evaluation import arena
from ludus.games import registry
from ludus.policies import checkpoint
from ludus.spec import GameSpec
from ludus.types import Policy


def main(run_dir: Path) -> None:
    config = load.load(run_dir / "config.yaml", options_of=lambda name: registry.load(name).options)
    game = registry.load(config.game)
    options = game.options(**config.options)

    def policies(spec: GameSpec) -> dict[str, Policy]:
        """Made when the hosts have said what their game looks like."""
        scripted = {name: make(spec, 1) for name, make in game.scripted.items()}
        return {"agent": checkpoint.load_agent(run_dir, spec), **scripted}

    with tempfile.TemporaryDirectory() as logs:
        results = arena.play(
            game,
            options,
            policies,
            agent="agent",
            opponents=tuple(game.scripted),
            matches=40,
            seed=7,
            log_dir=Path(logs),
            hosts=1,
        )
    for result in results:
        low, high = result.interval
        print(f"{result.opponent}: {result.win_rate:.1%} won, 95% interval {low:.1%} to {high:.1%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
