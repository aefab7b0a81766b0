"""Measure OpenFront's hosts against the core alone and against one process per environment.

    OPENFRONT_HOME=... python benchmarks/bench_openfront.py [--quick] [--save]

Onion, 512 x 512 tiles, 10 bots, 10 ticks a decision, a careful random player. All programs run interleaved. Reported
are decisions per second:

    core      OpenFront's core alone, one process per core: the same ticks and intents, nothing is observed or sent;
              one match after the other
    turns     the same with as many matches in a process as a host has, a decision of each in turn
    summary   a fleet with one host per core, without the grid
    full      the same with the grid of 32 x 32 cells
    net       `full` with an untrained net in place of the random player
    sb3       Stable-Baselines3's SubprocVecEnv over the same hosts, `full`, one match per process; as many matches

SB3 is in the extra `bench`. The last line on stdout is one JSON object; --save appends it to
benchmarks/results/openfront.jsonl.
"""

from __future__ import annotations

import json
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest
from benchmarks.contest import Contestant

from ludus.games.openfront.game import NODE_FLAGS
from ludus.games.openfront.options import checkout
from ludus.games.showdown import node
from ludus.processes.cores import cores

ROOT = Path(__file__).parents[1]
DRIVERS = ROOT / "benchmarks" / "drivers"
RESULTS = ROOT / "benchmarks" / "results" / "openfront.jsonl"
OPTIONS = {"maps": ["onion"], "size": "normal", "bots": 10, "nations": 0, "max_minutes": 15.0}


def main() -> None:
    parser = contest.Options(__doc__, RESULTS)
    parser.trials(repeats=(5, 3), seconds=(10.0, 2.0), warm_up=(10.0, 2.0))
    parser.add_argument("--hosts", type=int, default=0, help="hosts and processes of the core (one per core)")
    parser.add_argument("--matches", type=int, default=4, help="matches per host")
    arguments = parser.arguments()
    hosts = arguments.hosts or cores()
    contestants = [
        _core("core", hosts, "2"),
        _core("turns", hosts, str(arguments.matches), "turns"),
        *(_ours(kind, hosts, arguments.matches) for kind in ("summary", "full", "net", "sb3")),
    ]
    with ExitStack() as running:
        contest.start(contestants, running)
        contest.run_interleaved(
            contestants, repeats=arguments.repeats, warm_up_s=arguments.warm_up, seconds=arguments.seconds
        )
    named = {each.name: each for each in contestants}
    rows = {name: _row(each) for name, each in named.items()}
    rows["core ticks"] = contest.summary([10 * sample for sample in named["core"].samples])
    ratios = {
        f"{each}_vs_core": contest.ratio(named[each].samples, named["core"].samples) for each in ("summary", "full")
    }
    ratios["full_vs_turns"] = contest.ratio(named["full"].samples, named["turns"].samples)
    per_cpu = {
        name: [sample / used for sample, used in zip(each.samples, each.cores, strict=True)]
        for name, each in named.items()
    }
    ratios["full_vs_core_per_cpu_second"] = contest.ratio(per_cpu["full"], per_cpu["core"])
    ratios["full_vs_turns_per_cpu_second"] = contest.ratio(per_cpu["full"], per_cpu["turns"])
    ratios["full_vs_sb3_per_cpu_second"] = contest.ratio(per_cpu["full"], per_cpu["sb3"])
    ratios["full_vs_sb3"] = contest.ratio(named["full"].samples, named["sb3"].samples)
    contest.show(rows, ratios)
    facts = contest.result("openfront", ROOT, arguments, hosts=hosts, matches=arguments.matches)
    contest.report(facts, rows, ratios, RESULTS if arguments.save else None)


def _core(name: str, processes: int, *words: str) -> Contestant:
    driver = str(DRIVERS / "openfront_core.js")
    command = (str(node.find()), *NODE_FLAGS, driver, str(checkout()), json.dumps(OPTIONS), *words)
    return Contestant(name, [command] * processes)


def _ours(kind: str, hosts: int, matches: int) -> Contestant:
    features = "summary" if kind == "summary" else "full"
    driver = {"net": "net", "sb3": "sb3"}.get(kind, "ours")
    options = json.dumps({**OPTIONS, "feature_set": features})
    return Contestant(
        kind, [(sys.executable, str(DRIVERS / "openfront.py"), driver, options, str(hosts), str(matches))]
    )


def _row(contestant: Contestant) -> dict[str, float]:
    memory = statistics.median(answer["host_rss_mib"] for answer in contestant.answers)
    return contest.summary(contestant.samples, cores=statistics.median(contestant.cores), rss_mib=memory)


if __name__ == "__main__":
    main()
