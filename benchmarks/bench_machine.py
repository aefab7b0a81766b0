"""Measure how much of a machine a training run uses, with one actor and with several.

    python benchmarks/bench_machine.py [--quick] [--format gen9randombattle] [--actors 1,2,4] [--set KEY=VALUE]

All programs run interleaved on the same number of hosts. Reported are decisions per second, and the CPU shares of the
processes, as means over all processes of a kind:

    random    hosts, one fleet and the random policy: what the hosts can do in one process
    train-N   a whole training run with N actors

The last line on stdout is one JSON object; --save appends it to benchmarks/results/machine.jsonl.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from benchmarks import contest
from benchmarks.contest import Contestant

from ludus.config.settings import FleetConfig

ROOT = Path(__file__).parents[1]
DRIVERS = ROOT / "benchmarks" / "drivers"
RESULTS = ROOT / "benchmarks" / "results" / "machine.jsonl"
BUSY = ("learner_busy", "actors_busy", "hosts_busy")  # that the driver of a training run adds to its answers


def main() -> None:
    arguments = _arguments()
    counts = [int(count) for count in arguments.actors.split(",")]
    contestants = _contestants(arguments, counts)
    with ExitStack() as running:
        contest.start(contestants.values(), running)
        contest.run_interleaved(
            contestants.values(), repeats=arguments.repeats, warm_up_s=arguments.warm_up, seconds=arguments.seconds
        )
    rows = {name: _row(each) for name, each in contestants.items()}
    samples = {name: each.samples for name, each in contestants.items()}
    ratios = {f"{name}_vs_random": contest.ratio(samples[name], samples["random"]) for name in _runs(counts)}
    first, *others = _runs(counts)
    ratios |= {f"{name}_vs_{first}": contest.ratio(samples[name], samples[first]) for name in others}
    contest.show(rows, ratios)
    for name in _runs(counts):
        contest.say(f"{name}: " + ", ".join(f"{kind} {rows[name][kind]:.0%}" for kind in BUSY))
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    facts = contest.result(
        "machine",
        ROOT,
        arguments,
        gpu=gpu,
        format=arguments.format,
        hosts=arguments.hosts,
        matches=arguments.matches,
        settings=arguments.set,
    )
    contest.report(facts, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    cores = int(contest.machine()["cores"])
    parser = contest.Options(__doc__, RESULTS)
    parser.add_argument("--format", default="gen9randombattle", help="a random-battle format")
    parser.add_argument("--actors", default="1,2", help="numbers of actors, separated by commas (%(default)s)")
    parser.add_argument("--hosts", type=int, default=max(cores, 2), help="number of hosts (%(default)s)")
    parser.add_argument("--matches", type=int, default=FleetConfig().matches, help="matches per host (%(default)s)")
    parser.add_argument("--set", action="append", default=[], help="a setting of the runs, as in `ludus train --set`")
    parser.trials(repeats=(5, 2), seconds=(10.0, 3.0), warm_up=(20.0, 3.0))
    return parser.arguments()


def _contestants(arguments: argparse.Namespace, counts: list[int]) -> dict[str, Contestant]:
    size = (arguments.format, str(arguments.hosts), str(arguments.matches))

    def run(actors: int) -> Contestant:
        command = [sys.executable, str(DRIVERS / "train.py"), *size, *arguments.set, f"actors.count={actors}"]
        return Contestant(f"train-{actors}", [command], pausing=False, steady=False)

    random = Contestant("random", [[sys.executable, str(DRIVERS / "fleet.py"), "random", *size]])
    return {each.name: each for each in (random, *map(run, counts))}


def _runs(counts: list[int]) -> list[str]:
    return [f"train-{count}" for count in counts]


def _row(contestant: Contestant) -> dict[str, float]:
    more = {
        fact: round(statistics.median(answer[fact] for answer in contestant.answers), 3)
        for fact in (*BUSY, "update_ms")
        if fact in contestant.last
    }
    return {**contest.summary(contestant.samples), "cores": round(statistics.median(contestant.cores), 2), **more}


if __name__ == "__main__":
    main()
