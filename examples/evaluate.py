"""Evaluate a trained agent from Python. Each seed is played from every seat.

python examples/evaluate.py FOLDER_OF_A_RUN
"""

from __future__ import annotations

import sys

import ludus


def main(folder: str) -> None:
    for result in ludus.evaluate(folder, matches=40, seed=7, hosts=1):
        low, high = result.interval
        print(f"{result.opponent}: {result.win_rate:.1%} won, 95% interval {low:.1%} to {high:.1%}")


if __name__ == "__main__":
    main(sys.argv[1])
