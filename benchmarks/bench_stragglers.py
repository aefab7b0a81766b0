"""Measure throughput on environments whose step times vary widely.

    python benchmarks/bench_stragglers.py [--quick] [--numbers 32 64] [--save]

A step sleeps for a lognormally distributed time, 5 ms on average with sigma 1.5, like a remote simulator with
stragglers. All programs run interleaved. Reported are steps per second for each number of environments:

    collect   random actions, no learning: ours (one thread per environment, first ready), Stable-Baselines3's
              SubprocVecEnv, Gymnasium's AsyncVectorEnv, and tianshou's ShmemVectorEnv, which continues when a quarter
              of the environments is ready (wait_num)
    train     end-to-end PPO with the same settings: ours, and Stable-Baselines3's on SubprocVecEnv

The peers are in the extra `bench`. Ratios refer to the largest number. The last line on stdout is one JSON object;
--save appends it to benchmarks/results/stragglers.jsonl.
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
from benchmarks.drivers.environments import MEAN_S

ROOT = Path(__file__).parents[1]
DRIVERS = ROOT / "benchmarks" / "drivers"
RESULTS = ROOT / "benchmarks" / "results" / "stragglers.jsonl"
COLLECTORS = ("ours", "sb3", "gymnasium", "tianshou")
LEARNERS = ("ours", "sb3")
RATIOS = {  # name: (what, the peer)
    "collect_vs_sb3": ("collect", "sb3"),
    "collect_vs_gymnasium": ("collect", "gymnasium"),
    "collect_vs_tianshou": ("collect", "tianshou"),
    "train_vs_sb3": ("train", "sb3"),
}


def main() -> None:
    arguments = _arguments()
    measured: dict[str, Contestant] = {}
    for number in arguments.numbers:
        for what, names in (("collect", COLLECTORS), ("train", LEARNERS)):
            group = {f"{what} {who} {number}": _contestant(what, who, number) for who in names}
            with ExitStack() as running:  # one group at a time: a peer has a process for each environment
                contest.start(group.values(), running)
                seconds = arguments.seconds if what == "collect" else arguments.train_seconds
                contest.run_interleaved(
                    group.values(), repeats=arguments.repeats, warm_up_s=arguments.warm_up, seconds=seconds
                )
            measured |= group
    rows = {name: _row(each) for name, each in measured.items()}
    rows |= {f"ideal {number}": contest.summary([number / MEAN_S]) for number in arguments.numbers}
    most = max(arguments.numbers)
    ratios = {
        name: contest.ratio(measured[f"{what} ours {most}"].samples, measured[f"{what} {peer} {most}"].samples)
        for name, (what, peer) in RATIOS.items()
    }
    contest.show(rows, ratios)
    result = contest.result("stragglers", ROOT, arguments, numbers=arguments.numbers)
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS)
    parser.add_argument("--numbers", type=int, nargs="+", help="numbers of environments (32 64; quick: 16)")
    parser.trials(repeats=(5, 2), seconds=(6.0, 1.0), warm_up=(6.0, 1.0), of="collecting")
    parser.size("--train-seconds", 12.0, 2.0, "seconds of one measurement of training")
    arguments = parser.arguments()
    arguments.numbers = arguments.numbers or ([16] if arguments.quick else [32, 64])
    return arguments


def _contestant(what: str, who: str, number: int) -> Contestant:
    driver, *more = ("collect",) if what == "collect" else ("ppo", "processes")
    command = [sys.executable, str(DRIVERS / f"{driver}.py"), who, "straggler", str(number), *more]
    return Contestant(f"{what} {who} {number}", [command], pausing=not (what == "train" and who == "ours"))


def _row(contestant: Contestant) -> dict[str, float]:
    cores = statistics.median(contestant.cores)
    return {**contest.summary(contestant.samples), "cores": round(cores, 2)}


if __name__ == "__main__":
    main()
