"""Measure what Ray costs: training on one machine without Ray, on one node of Ray, and on two nodes with half the CPUs.

    python benchmarks/bench_cluster.py [--quick] [--hosts N] [--save]

The runs are interleaved, each in a program of its own that starts its cluster. All of them use the same hosts.
Reported are the decisions per second that the learner has trained on:

    alone       without Ray
    one node    one raylet with all CPUs
    two nodes   two raylets with half of them each

The last line on stdout is one JSON object; --save appends it to benchmarks/results/cluster.jsonl.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

ROOT = Path(__file__).parents[1]
DRIVER = ROOT / "benchmarks" / "drivers" / "cluster.py"
RESULTS = ROOT / "benchmarks" / "results" / "cluster.jsonl"
START_S = 300.0  # for a run and its cluster to start and to end


def main() -> None:
    arguments = _arguments()
    half = arguments.hosts // 2
    clusters = {"alone": "none", "one node": str(arguments.hosts), "two nodes": f"{half}+{arguments.hosts - half}"}
    samples: dict[str, list[float]] = {name: [] for name in clusters}
    for _ in range(arguments.repeats):
        for name, cpus in clusters.items():
            samples[name].append(_decisions_per_s(cpus, arguments))
    rows = {name: contest.summary(each) for name, each in samples.items()}
    ratios = {
        "one_node_vs_alone": contest.ratio(samples["one node"], samples["alone"]),
        "two_nodes_vs_one_node": contest.ratio(samples["two nodes"], samples["one node"]),
    }
    contest.show(rows, ratios)
    facts = contest.result("cluster", ROOT, arguments, preset=arguments.preset, hosts=arguments.hosts)
    contest.report(facts, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS)
    parser.trials(repeats=(5, 2), seconds=(15.0, 5.0), warm_up=(10.0, 3.0))
    parser.add_argument("--preset", default="gen1", help="preset to train (default: gen1)")
    parser.add_argument("--hosts", type=int, default=max(2, contest.machine()["cores"]), help="hosts of every run")
    return parser.arguments()


def _decisions_per_s(cpus: str, arguments: argparse.Namespace) -> float:
    """Train once and return the speed."""
    times = [str(arguments.warm_up), str(arguments.seconds)]
    command = [sys.executable, str(DRIVER), cpus, *times, arguments.preset, str(arguments.hosts)]
    deadline_s = START_S + arguments.warm_up + arguments.seconds
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=deadline_s, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["decisions_per_s"])


if __name__ == "__main__":
    main()
