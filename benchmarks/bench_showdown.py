"""Measure how fast ludus plays Pokemon Showdown, against poke-env and against the bare simulator.

    python benchmarks/bench_showdown.py [--quick] [--format gen9randombattle] [--save]

All programs run interleaved. Reported are decisions per second (a decision is an answered request that is not `wait`):

    peer      poke-env's random players over a real local Showdown server, at its best concurrency
    stock     the unmodified engine inside Node, random choices, no encoding
    bare      the same with the patched engine
    ceiling   the host's own matches inside Node: masks and observations encoded, no frames, no Python
    small     the ceiling with 16 battles per host, for which memory and microseconds are stated
    random    ours: hosts, fleet and the random policy
    policy    ours: hosts, fleet and the default net
    train     ours: a whole training run

The last line on stdout is one JSON object; --save appends it to benchmarks/results/showdown.jsonl.
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

from ludus.config.settings import FleetConfig
from ludus.games.showdown import install
from ludus.games.showdown.game import HERE, NODE_FLAGS

ROOT = Path(__file__).parents[1]
DRIVERS = ROOT / "benchmarks" / "drivers"
RESULTS = ROOT / "benchmarks" / "results" / "showdown.jsonl"
RATIOS = {  # name: (ours, the peer or the ceiling)
    "patched_vs_stock": ("bare", "stock"),
    "ceiling_vs_bare": ("ceiling", "bare"),
    "random_vs_ceiling": ("random", "ceiling"),
    "random_vs_peer": ("random", "peer"),
    "policy_vs_random": ("policy", "random"),
    "train_vs_random": ("train", "random"),
}
FACTS = ("concurrency", "server_processes", "rows", "host_rss_mib")  # that drivers add to their answers
PEER = ("8,16,32", "0,1")  # what its driver tries: battles at a time, kinds of servers
QUICK_PEER = ("16", "0")
QUIET = 0.9  # share of the cores that the bare engine gets on a machine with nothing else to do
PROMISED_MATCHES = 16  # the number that a host's memory and its microseconds for a decision are promised for


def main() -> None:
    arguments = _arguments()
    contestants = _contestants(arguments)
    memory = Contestant("memory", [_python("fleet", "random", arguments.format, 1, PROMISED_MATCHES)])
    with ExitStack() as running:
        contest.start([*contestants.values(), memory], running)
        contest.run_interleaved(
            contestants.values(),
            repeats=arguments.repeats,
            warm_up_s=arguments.warm_up,
            seconds=arguments.seconds,
            parts=arguments.parts,
        )
        memory.samples.append(memory.measure(arguments.seconds))
    rows = {name: _row(each) for name, each in contestants.items()}
    rows["host_rss_mib"] = contest.summary([memory.last["host_rss_mib"]], matches=PROMISED_MATCHES)
    for name, matches in (("small", PROMISED_MATCHES), ("ceiling", arguments.matches)):
        clocked = [each["encoding_us"] for each in contestants[name].answers]
        rows[f"mask_and_observation_us, {matches} battles"] = contest.summary(clocked, matches=matches)
    rows["ceiling_minus_bare_us"] = contest.summary(_difference_us(contestants, arguments.hosts))
    ratios = {name: contest.ratio(contestants[a].samples, contestants[b].samples) for name, (a, b) in RATIOS.items()}
    contest.show(rows, ratios)
    quiet = rows["bare"]["cores"] > QUIET * arguments.hosts
    if not quiet:
        contest.say("the machine was busy with something else: measure again before you believe the figures")
    _report(arguments, rows, ratios, quiet)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS)
    parser.add_argument("--format", default="gen1randombattle", help="a random-battle format")
    parser.trials(repeats=(15, 2), seconds=(2.0, 1.0), warm_up=(20.0, 1.2))
    parser.size("--parts", 8, 4, "pieces of a measurement that are interleaved; peer and training run in one piece")
    parser.add_argument("--hosts", type=int, default=contest.machine()["cores"], help="number of hosts (one per core)")
    parser.add_argument(
        "--matches", type=int, default=FleetConfig().matches, help="matches per host (%(default)s, as in runs)"
    )
    return parser.arguments()


def _contestants(arguments: argparse.Namespace) -> dict[str, Contestant]:
    installation = install.ensure()
    size = (arguments.hosts, arguments.matches)

    def engine(mode: str, name: str = "", matches: int = arguments.matches) -> Contestant:
        options = [
            "--sim",
            installation.root,
            "--host",
            HERE / "host",
            "--format",
            arguments.format,
            "--matches",
            matches,
        ]
        command = [str(part) for part in (installation.node, *NODE_FLAGS, DRIVERS / "engine.js", mode, *options)]
        return Contestant(name or mode, [command] * arguments.hosts)

    return {
        "peer": Contestant(
            "peer", [_python("peer", arguments.format, *(QUICK_PEER if arguments.quick else PEER))], steady=False
        ),
        "stock": engine("stock"),
        "bare": engine("bare"),
        "ceiling": engine("ceiling"),
        "small": engine("ceiling", "small", PROMISED_MATCHES),
        "random": Contestant("random", [_python("fleet", "random", arguments.format, *size)]),
        "policy": Contestant("policy", [_python("fleet", "net", arguments.format, *size)]),
        "train": Contestant("train", [_python("train", arguments.format, *size)], pausing=False, steady=False),
    }


def _python(driver: str, *arguments: object) -> list[str]:
    return [sys.executable, str(DRIVERS / f"{driver}.py"), *map(str, arguments)]


def _row(contestant: Contestant) -> dict[str, float]:
    per_cpu_s = [rate / cores for rate, cores in zip(contestant.samples, contestant.cores, strict=True)]
    more = {
        "cores": statistics.median(contestant.cores),
        "per_cpu_s": statistics.median(per_cpu_s),  # holds on a busy machine, too
        **{fact: contestant.last[fact] for fact in FACTS if fact in contestant.last},
    }
    return {**contest.summary(contestant.samples), **{name: round(value, 2) for name, value in more.items()}}


def _difference_us(contestants: dict[str, Contestant], hosts: int) -> list[float]:
    """Return the encoding cost per decision in microseconds, from the difference of two rates."""
    pairs = zip(contestants["ceiling"].samples, contestants["bare"].samples, strict=True)
    return [1e6 * hosts * (1 / ceiling - 1 / bare) for ceiling, bare in pairs]


def _report(
    arguments: argparse.Namespace, rows: dict[str, dict[str, float]], ratios: dict[str, dict[str, float]], quiet: bool
) -> None:
    result = {
        "bench": "showdown",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "format": arguments.format,
        "hosts": arguments.hosts,
        "matches": arguments.matches,
        "repeats": arguments.repeats,
        "seconds": arguments.seconds,
        "parts": arguments.parts,
        "quiet": quiet,
    }
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


if __name__ == "__main__":
    main()
