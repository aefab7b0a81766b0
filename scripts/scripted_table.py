"""Print the win rates of the scripted Showdown policies against each other, as a Markdown table with 95% intervals.

Example: python scripts/scripted_table.py --format gen1randombattle --matches 400
Example: python scripts/scripted_table.py --format gen9randombattle --matches 200 --policies max_damage,heuristic,expert
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ludus.evaluation import arena
from ludus.games import registry
from ludus.games.showdown.game import ShowdownOptions

WEAKEST_FIRST = ("random", "max_power", "max_damage", "heuristic")


def table(
    options: ShowdownOptions, matches: int, seed: int, hosts: int | None, policies: Sequence[str] = WEAKEST_FIRST
) -> str:
    """Return the table: each policy against all weaker ones, on the same seeds. `policies` begin with the weakest."""
    game = registry.load("showdown")
    lines = [f"| {options.format} | {' | '.join(policies[:-1])} |", "| --- " * len(policies) + "|"]
    for place, agent in enumerate(policies[1:], 1):
        with tempfile.TemporaryDirectory(prefix="ludus-table-") as logs:
            results = arena.play(
                game,
                options,
                lambda spec: {name: game.players[name](spec, seed) for name in policies},
                agent=agent,
                opponents=policies[:place],
                matches=matches,
                seed=seed,
                log_dir=Path(logs),
                hosts=hosts,
            )
        cells = [
            f"{result.win_rate:.1%} [{result.interval[0]:.1%}-{result.interval[1]:.1%}], {result.ties} ties"
            for result in results
        ]
        lines.append(f"| {agent} | {' | '.join(cells + [''] * (len(policies) - 1 - place))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", default="gen1randombattle")
    parser.add_argument("--matches", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=None)
    parser.add_argument("--policies", default=",".join(WEAKEST_FIRST), help="names, the weakest first")
    args = parser.parse_args()
    options = ShowdownOptions(format=args.format)
    print(table(options, args.matches, args.seed, args.hosts, args.policies.split(",")))


if __name__ == "__main__":
    main()
