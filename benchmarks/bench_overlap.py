"""Measure the gain of playing while the learner learns: `mode: overlapped` against `mode: serial`.

    python benchmarks/bench_overlap.py [--quick] [--save]

Whole training runs are interleaved. Reported are decisions and updates per second:

    toy        a game whose decisions take 5 ms, for all matches at the same time, as on a remote server; hosts sleep
               most of the time, and learning from a batch takes about as long as playing one
    showdown   gen 1 random battles with the default preset, where hosts and learner share the cores

`updating` is the share of the time in which the learner updates: with 0.5 in serial mode, overlapping can at best
double the rate. The last line on stdout is one JSON object; --save appends it to benchmarks/results/overlap.jsonl.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.contest import Contestant

ROOT = Path(__file__).parents[1]
DRIVER = ROOT / "benchmarks" / "drivers" / "learn.py"
RESULTS = ROOT / "benchmarks" / "results" / "overlap.jsonl"
MODES = ("serial", "overlapped")
RATIOS = {"toy": "overlapped_vs_serial", "showdown": "overlapped_vs_serial_showdown"}
TOY = (
    "options.game=identity",
    "options.rounds=50",
    "options.wait_s=0.005",
    "fleet.hosts=2",
    "fleet.matches=16",
    "learner.decisions=512",
    "learner.minibatch=128",
    "learner.epochs=4",
    "learner.ppo.target_kl=0",  # the same work in every update
    "policy.width=128",
)
SHOWDOWN = (
    "options.format=gen1randombattle",
    "opponents.past=0",
    "opponents.scripted=0.3",
    "learner.epochs=3",
)


def main() -> None:
    arguments = _arguments()
    games = {"toy": ("toy", TOY), "showdown": ("showdown", (*SHOWDOWN, f"fleet.hosts={arguments.hosts}"))}
    contestants = {
        f"{name}, {mode}": Contestant(f"{name}, {mode}", [_command(game, mode, sets)], pausing=False)
        for name, (game, sets) in games.items()
        if name in arguments.games
        for mode in MODES
    }
    with ExitStack() as running:
        contest.start(contestants.values(), running)
        contest.run_interleaved(
            contestants.values(), repeats=arguments.repeats, warm_up_s=arguments.warm_up, seconds=arguments.seconds
        )
    rows = {name: _row(each) for name, each in contestants.items()}
    ratios = {}
    for name in arguments.games:
        serial, overlapped = (contestants[f"{name}, {mode}"] for mode in MODES)
        ratios[RATIOS[name]] = contest.ratio(overlapped.samples, serial.samples)
    contest.show(rows, ratios)
    result = {
        "bench": "overlap",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "toy": list(TOY),
        "showdown": list(SHOWDOWN),
        "hosts": arguments.hosts,
        "repeats": arguments.repeats,
        "seconds": arguments.seconds,
    }
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS)
    parser.add_argument("--games", nargs="+", choices=("toy", "showdown"), default=["toy", "showdown"])
    parser.trials(repeats=(5, 2), seconds=(10.0, 3.0), warm_up=(10.0, 2.0))
    parser.add_argument(
        "--hosts", type=int, default=contest.machine()["cores"], help="number of Showdown hosts (one per core)"
    )
    return parser.arguments()


def _command(game: str, mode: str, sets: tuple[str, ...]) -> list[str]:
    return [sys.executable, str(DRIVER), game, f"mode={mode}", *sets]


def _row(contestant: Contestant) -> dict[str, float]:
    updates_per_s = statistics.median(answer["updates"] / answer["seconds"] for answer in contestant.answers)
    update_ms = statistics.median(answer["update_ms"] for answer in contestant.answers)
    return {
        **contest.summary(contestant.samples),
        "updates_per_s": round(updates_per_s, 3),
        "update_ms": round(update_ms, 1),
        "updating": round(updates_per_s * update_ms / 1000, 3),
        "cores": round(statistics.median(contestant.cores), 2),
    }


if __name__ == "__main__":
    main()
