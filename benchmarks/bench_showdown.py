"""How fast ludus plays Pokemon Showdown, against what people use today and against the simulator's own ceiling.

    python benchmarks/bench_showdown.py [--quick] [--format gen9randombattle] [--save]

In one run, turn by turn, in decisions a second (one decision: one request that is not `wait`, answered):

    peer      poke-env's random players over a real local Showdown server, at its best concurrency
    stock     the untouched engine inside Node, random choices, no encoding
    bare      the same with the patched engine
    ceiling   the host's own matches inside Node: masks and observations encoded, no frames, no Python
    small     the ceiling with 16 battles a host, the number that memory and microseconds are promised for
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
    chosen = _arguments()
    contestants = _contestants(chosen)
    memory = Contestant("memory", [_python("fleet", "random", chosen.format, 1, PROMISED_MATCHES)])
    with ExitStack() as running:
        contest.start([*contestants.values(), memory], running)
        contest.run_interleaved(
            contestants.values(),
            repeats=chosen.repeats,
            warm_up_s=chosen.warm_up,
            seconds=chosen.seconds,
            parts=chosen.parts,
        )
        memory.samples.append(memory.measure(chosen.seconds))
    rows = {name: _row(each) for name, each in contestants.items()}
    rows["host_rss_mib"] = contest.summary([memory.last["host_rss_mib"]], matches=PROMISED_MATCHES)
    for name, matches in (("small", PROMISED_MATCHES), ("ceiling", chosen.matches)):
        clocked = [each["encoding_us"] for each in contestants[name].answers]
        rows[f"mask_and_observation_us, {matches} battles"] = contest.summary(clocked, matches=matches)
    rows["ceiling_minus_bare_us"] = contest.summary(_difference_us(contestants, chosen.hosts))
    ratios = {name: contest.ratio(contestants[a].samples, contestants[b].samples) for name, (a, b) in RATIOS.items()}
    contest.show(rows, ratios)
    quiet = rows["bare"]["cores"] > QUIET * chosen.hosts
    if not quiet:
        contest.say("the machine was busy with something else: measure again before you believe the figures")
    _report(chosen, rows, ratios, quiet)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS)
    parser.add_argument("--format", default="gen1randombattle", help="a random-battle format")
    parser.turns(repeats=(15, 2), seconds=(2.0, 1.0), warm_up=(20.0, 1.2))
    parser.size("--parts", 8, 4, "in which turns are taken, peer and training excepted")
    parser.add_argument("--hosts", type=int, default=contest.machine()["cores"], help="processes (one per core)")
    parser.add_argument("--matches", type=int, default=FleetConfig().matches, help="per host (%(default)s, as in runs)")
    return parser.chosen()


def _contestants(chosen: argparse.Namespace) -> dict[str, Contestant]:
    found = install.ensure()
    size = (chosen.hosts, chosen.matches)

    def engine(mode: str, name: str = "", matches: int = chosen.matches) -> Contestant:
        options = ["--sim", found.root, "--host", HERE / "host", "--format", chosen.format, "--matches", matches]
        command = [str(part) for part in (found.node, *NODE_FLAGS, DRIVERS / "engine.js", mode, *options)]
        return Contestant(name or mode, [command] * chosen.hosts)

    return {
        "peer": Contestant(
            "peer", [_python("peer", chosen.format, *(QUICK_PEER if chosen.quick else PEER))], steady=False
        ),
        "stock": engine("stock"),
        "bare": engine("bare"),
        "ceiling": engine("ceiling"),
        "small": engine("ceiling", "small", PROMISED_MATCHES),
        "random": Contestant("random", [_python("fleet", "random", chosen.format, *size)]),
        "policy": Contestant("policy", [_python("fleet", "net", chosen.format, *size)]),
        "train": Contestant("train", [_python("train", chosen.format, *size)], pausing=False, steady=False),
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
    """What encoding costs a decision, by the difference of two rates."""
    pairs = zip(contestants["ceiling"].samples, contestants["bare"].samples, strict=True)
    return [1e6 * hosts * (1 / ceiling - 1 / bare) for ceiling, bare in pairs]


def _report(
    chosen: argparse.Namespace, rows: dict[str, dict[str, float]], ratios: dict[str, dict[str, float]], quiet: bool
) -> None:
    result = {
        "bench": "showdown",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "format": chosen.format,
        "hosts": chosen.hosts,
        "matches": chosen.matches,
        "repeats": chosen.repeats,
        "seconds": chosen.seconds,
        "parts": chosen.parts,
        "quiet": quiet,
    }
    contest.report(result, rows, ratios, RESULTS if chosen.save else None)


if __name__ == "__main__":
    main()
