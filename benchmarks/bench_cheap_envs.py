"""Measure end-to-end PPO training on environments whose steps cost almost nothing.

    python benchmarks/bench_cheap_envs.py [--quick] [--number 32] [--save]

The environments are CartPole-v1 and one with 256 numbers that does nothing. All programs run interleaved with the same
settings (benchmarks/drivers/ppo.py). Reported are environment steps per second, including learning:

    ours      a whole training run: hosts, actor and learner, as `ludus train --game gymnasium:...` starts them
    sb3       Stable-Baselines3's PPO on DummyVecEnv, as its manual recommends for such environments
    cleanrl   a CleanRL-style loop on Gymnasium's SyncVectorEnv (benchmarks/drivers/cleanrl.py)

The peers are in the extra `bench`. Each ratio is the smaller one of both environments; the rows contain both. The last
line on stdout is one JSON object; --save appends it to benchmarks/results/cheap_envs.jsonl.
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
DRIVERS = ROOT / "benchmarks" / "drivers"
RESULTS = ROOT / "benchmarks" / "results" / "cheap_envs.jsonl"
ENVIRONMENTS = ("CartPole-v1", "idle")
PEERS = ("sb3", "cleanrl")


def main() -> None:
    arguments = _arguments()
    measured = {
        f"{who} {environment}": _contestant(who, environment, arguments.number)
        for environment in ENVIRONMENTS
        for who in ("ours", *PEERS)
    }
    with ExitStack() as running:
        contest.start(measured.values(), running)
        contest.run_interleaved(
            measured.values(), repeats=arguments.repeats, warm_up_s=arguments.warm_up, seconds=arguments.seconds
        )
    rows = {name: _row(each) for name, each in measured.items()}
    ratios: dict[str, dict[str, float]] = {}
    for peer in PEERS:
        each = {
            environment: contest.ratio(
                measured[f"ours {environment}"].samples, measured[f"{peer} {environment}"].samples
            )
            for environment in ENVIRONMENTS
        }
        ratios |= {f"train_vs_{peer}_{environment}": ratio for environment, ratio in each.items()}
        ratios[f"train_vs_{peer}"] = min(each.values(), key=lambda ratio: ratio["median"])
    contest.show(rows, ratios)
    result = contest.result("cheap_envs", ROOT, arguments, number=arguments.number)
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS)
    parser.add_argument("--number", type=int, default=32, help="number of environments (%(default)s)")
    parser.trials(repeats=(5, 2), seconds=(6.0, 1.0), warm_up=(6.0, 1.0))
    return parser.arguments()


def _contestant(who: str, environment: str, number: int) -> Contestant:
    command = [sys.executable, str(DRIVERS / "ppo.py"), who, environment, str(number)]
    return Contestant(f"{who} {environment}", [command], pausing=who != "ours")


def _row(contestant: Contestant) -> dict[str, float]:
    per_cpu_s = [rate / cores for rate, cores in zip(contestant.samples, contestant.cores, strict=True)]
    more = {"cores": statistics.median(contestant.cores), "per_cpu_s": statistics.median(per_cpu_s)}
    return {**contest.summary(contestant.samples), **{name: round(value, 2) for name, value in more.items()}}


if __name__ == "__main__":
    main()
