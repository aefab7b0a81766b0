"""Measure what search before each decision is worth: an agent that thinks against the same agent that does not.

    python benchmarks/bench_search.py RUN [--think-ms 50 150 500] [--matches 300] [--hosts 0] [--quick] [--save]

Each time limit plays `--matches` matches, every seed from both sides, many at once; each core has a search process.
`rows` contain the score, Elo over the agent without search with its 95% interval, decisions that were
cut, and the slowest decision. The last line on stdout is one JSON object; --save appends it to
benchmarks/results/search.jsonl. With 16 cores, the defaults take about eight minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus.api import evaluating
from ludus.evaluation.arena import MatchupResult
from ludus.metrics.intervals import wilson

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "search.jsonl"
QUICK_MATCHES = 4
SEED = 31_000  # of a list that training does not use


def main() -> None:
    arguments = _arguments()
    resolved = evaluating.resolve(arguments.run, (arguments.run, *arguments.others), hosts=arguments.hosts)
    if resolved.game.prepare is not None:
        resolved.game.prepare(resolved.options, lambda step, share: None)
    matches = QUICK_MATCHES if arguments.quick else arguments.matches
    rows: dict[str, dict[str, float]] = {}
    for think_ms in arguments.think_ms:
        told: list[str] = []
        began_s = time.monotonic()
        results = evaluating.play(resolved, matches, seed=SEED, think_ms=think_ms, tell=told.append)
        for result in results:
            name = "itself" if result.opponent == arguments.run else result.opponent
            rows[f"{think_ms:g} ms against {name}"] = row = row_of(result)
            contest.say(f"{think_ms:g} ms against {name}: {sentence(row)}; {'; '.join(told)}")
        contest.say(f"{think_ms:g} ms: {time.monotonic() - began_s:.0f} s")
    report = {
        "bench": "search",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "agent": f"{resolved.agent.game_name}, {resolved.options}, {_name(arguments.run)}",
        "rows": rows,
        "ratios": {name: row["elo"] for name, row in rows.items()},
    }
    if arguments.save:
        with RESULTS.open("a") as file:
            file.write(json.dumps(report) + "\n")
    print(json.dumps(report))


def row_of(result: MatchupResult) -> dict[str, float]:
    """Return the score and what it means on the Elo scale; a tie counts half."""
    score = (result.wins + result.ties / 2) / result.matches
    low, high = wilson(round(result.wins + result.ties / 2), result.matches)
    return {
        "matches": result.matches,
        "wins": result.wins,
        "ties": result.ties,
        "score": round(score, 4),
        "elo": round(elo(score), 1),
        "elo_low": round(elo(low), 1),
        "elo_high": round(elo(high), 1),
        "decisions": result.decisions,
    }


def elo(score: float) -> float:
    """Return the difference in Elo that a mean score stands for, at most 800."""
    bounded = min(max(score, 0.01), 0.99)
    return 400 * math.log10(bounded / (1 - bounded))


def sentence(row: Mapping[str, float]) -> str:
    """Return a row in words."""
    interval = f"[{row['elo_low']:+.0f} to {row['elo_high']:+.0f}]"
    return f"{row['score']:.1%} of {row['matches']:,.0f} matches, {row['elo']:+.0f} Elo {interval}"


def _name(run: str) -> str:
    return "/".join(Path(run).parts[-2:])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", help="a run, a checkpoint, or an agent of `ludus agents`; Showdown's singles")
    parser.add_argument("others", nargs="*", help="further opponents, such as heuristic or expert")
    parser.add_argument("--think-ms", type=float, nargs="+", default=[500.0, 150.0, 50.0], help="limits to measure")
    parser.add_argument("--matches", type=int, default=300, help="matches for each limit and opponent (300)")
    parser.add_argument("--hosts", type=int, default=0, help="hosts; 0: one per core")
    parser.add_argument("--quick", action="store_true", help=f"only {QUICK_MATCHES} matches")
    parser.add_argument("--save", action="store_true", help=f"append to {RESULTS.relative_to(ROOT)}")
    return parser.parse_args()


if __name__ == "__main__":
    main()
