"""Print the win rates of the scripted Showdown policies against each other, as a Markdown table with 95% intervals.

Example: python scripts/scripted_table.py --format gen1randombattle --matches 400
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from ludus.evaluation import arena
from ludus.games import registry
from ludus.games.showdown.game import ShowdownOptions
from ludus.games.showdown.scripted import POLICIES

WEAKEST_FIRST = ("random", "max_power", "max_damage", "heuristic")


def table(options: ShowdownOptions, matches: int, seed: int, hosts: int | None) -> str:
    """Return the table: each policy against all weaker ones, on the same seeds."""
    game = registry.load("showdown")
    lines = [f"| {options.format} | {' | '.join(WEAKEST_FIRST[:-1])} |", "| --- " * len(WEAKEST_FIRST) + "|"]
    for place, agent in enumerate(WEAKEST_FIRST[1:], 1):
        with tempfile.TemporaryDirectory(prefix="ludus-table-") as logs:
            results = arena.play(
                game,
                options,
                lambda spec: {name: make(spec, seed) for name, make in POLICIES.items()},
                agent=agent,
                opponents=WEAKEST_FIRST[:place],
                matches=matches,
                seed=seed,
                log_dir=Path(logs),
                hosts=hosts,
            )
        cells = [
            f"{result.win_rate:.1%} [{result.interval[0]:.1%}-{result.interval[1]:.1%}], {result.ties} ties"
            for result in results
        ]
        lines.append(f"| {agent} | {' | '.join(cells + [''] * (len(WEAKEST_FIRST) - 1 - place))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", default="gen1randombattle")
    parser.add_argument("--matches", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hosts", type=int, default=None)
    args = parser.parse_args()
    print(table(ShowdownOptions(format=args.format), args.matches, args.seed, args.hosts))


if __name__ == "__main__":
    main()
