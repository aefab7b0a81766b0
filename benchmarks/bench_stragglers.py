"""How fast environments are played whose steps wait, mostly little and now and then very long.

    python benchmarks/bench_stragglers.py [--quick] [--numbers 32 64] [--save]

A step sleeps lognormally, 5 ms on average with sigma 1.5: a simulator elsewhere, with stragglers. In one run, turn by
turn, in steps a second, for each number of environments:

    collect   random actions, nothing learned: ours (a thread for each, first ready), Stable-Baselines3's SubprocVecEnv,
              Gymnasium's AsyncVectorEnv, and tianshou's ShmemVectorEnv which goes on with the first quarter (wait_num)
    train     PPO from end to end with the same settings: ours, and Stable-Baselines3's on SubprocVecEnv

The peers are in the extra `bench`. Ratios are those of the largest number. The last line on stdout is one JSON object;
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
    chosen = _arguments()
    measured: dict[str, Contestant] = {}
    for number in chosen.numbers:
        for what, names in (("collect", COLLECTORS), ("train", LEARNERS)):
            group = {f"{what} {who} {number}": _contestant(what, who, number) for who in names}
            with ExitStack() as running:  # one group at a time: a peer has a process for each environment
                contest.start(group.values(), running)
                seconds = chosen.seconds if what == "collect" else chosen.train_seconds
                contest.run_interleaved(
                    group.values(), repeats=chosen.repeats, warm_up_s=chosen.warm_up, seconds=seconds
                )
            measured |= group
    rows = {name: _row(each) for name, each in measured.items()}
    rows |= {f"ideal {number}": contest.summary([number / MEAN_S]) for number in chosen.numbers}
    most = max(chosen.numbers)
    ratios = {
        name: contest.ratio(measured[f"{what} ours {most}"].samples, measured[f"{what} {peer} {most}"].samples)
        for name, (what, peer) in RATIOS.items()
    }
    contest.show(rows, ratios)
    result = {
        "bench": "stragglers",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "numbers": chosen.numbers,
        "repeats": chosen.repeats,
        "seconds": chosen.seconds,
    }
    contest.report(result, rows, ratios, RESULTS if chosen.save else None)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS)
    parser.add_argument("--numbers", type=int, nargs="+", help="of environments (32 64; quick: 16)")
    parser.turns(repeats=(5, 2), seconds=(6.0, 1.0), warm_up=(6.0, 1.0), of="collecting")
    parser.size("--train-seconds", 12.0, 2.0, "of one measurement of training")
    chosen = parser.chosen()
    chosen.numbers = chosen.numbers or ([16] if chosen.quick else [32, 64])
    return chosen


def _contestant(what: str, who: str, number: int) -> Contestant:
    driver, *more = ("collect",) if what == "collect" else ("ppo", "processes")
    command = [sys.executable, str(DRIVERS / f"{driver}.py"), who, "straggler", str(number), *more]
    return Contestant(f"{what} {who} {number}", [command], pausing=not (what == "train" and who == "ours"))


def _row(contestant: Contestant) -> dict[str, float]:
    cores = statistics.median(contestant.cores)
    return {**contest.summary(contestant.samples), "cores": round(cores, 2)}


if __name__ == "__main__":
    main()
