"""Measure the client cost of playing on a Showdown server: ludus against poke-env.

    python benchmarks/bench_servers.py [--quick] [--format gen9randombattle] [--stock-server] [--save]

Both run interleaved on one server, with random policies and the same number of concurrent battles:

    peer   poke-env's random players in one process, with the fastest number of pairs
    ours   one host of the game showdown-server, the fleet and the random policy, including masks and observations

The server is one of `ludus servers`; with --stock-server it is Showdown as published, whose simulator needs most of the
CPU time. Both are measured while all their battles are running. Decisions are those of both sides; CPU seconds exclude
the server. `idle_agent_cpu_percent` is the share of one core that `ludus play --accept` uses while nobody challenges
it. The last line on stdout is one JSON object; --save appends it to benchmarks/results/servers.jsonl.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest, idle_agent
from benchmarks.contest import Contestant
from benchmarks.showdown_server import serve

from ludus.games.showdown import install
from ludus.games.showdown.servers.server import address

ROOT = Path(__file__).parents[1]
DRIVERS = ROOT / "benchmarks" / "drivers"
RESULTS = ROOT / "benchmarks" / "results" / "servers.jsonl"
PEER_PAIRS, QUICK_PEER_PAIRS = "1,2,4", "1"
FIGURES = {  # name: of what a driver answered
    "decisions_per_s": ("decisions", "seconds"),
    "matches_per_s": ("battles", "seconds"),
    "decisions_per_cpu_s": ("decisions", "cpu_s"),
}
RATIOS = {"client_cpu_vs_peer": "decisions_per_cpu_s", "matches_vs_peer": "matches_per_s"}
BUSY = 0.15  # share of the machine that others may use before the figures are doubted

Samples = Mapping[str, list[float]]


def main() -> None:
    arguments = _arguments()
    others = _busy_share()
    with ExitStack() as running:
        port = running.enter_context(serve(install.ensure(), "0", stock=arguments.stock_server))
        contestants = _contestants(arguments, port)
        contest.start(contestants.values(), running)
        contest.run_interleaved(
            contestants.values(), repeats=arguments.repeats, warm_up_s=arguments.warm_up, seconds=arguments.seconds
        )
        idle = idle_agent.cpu_share(
            address(port), arguments.format, repeats=arguments.repeats, seconds=arguments.seconds
        )
    samples = {name: _samples(each) for name, each in contestants.items()}
    rows = {f"{name}_{figure}": contest.summary(samples[name][figure]) for name in samples for figure in FIGURES}
    rows["idle_agent_cpu_percent"] = contest.summary([100 * share for share in idle])
    ratios = {name: contest.ratio(samples["ours"][of], samples["peer"][of]) for name, of in RATIOS.items()}
    contest.show(rows, ratios)
    if others > BUSY:
        contest.say("the machine was busy with something else: measure again before you believe the figures")
    result = {
        "bench": "servers",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "format": arguments.format,
        "server": "stock" if arguments.stock_server else "ludus",
        "concurrency": arguments.concurrency,
        "peer_pairs": contestants["peer"].last["pairs"],
        "repeats": arguments.repeats,
        "seconds": arguments.seconds,
        "quiet": others <= BUSY,
    }
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


def _arguments() -> argparse.Namespace:
    parser = contest.Options(__doc__, RESULTS)
    parser.add_argument("--format", default="gen1randombattle", help="a random-battle format")
    parser.add_argument("--concurrency", type=int, default=16, help="concurrent battles (16)")
    parser.add_argument("--stock-server", action="store_true", help="Showdown as published, with the unmodified engine")
    parser.trials(repeats=(7, 2), seconds=(16.0, 2.0), warm_up=(30.0, 3.0))
    return parser.arguments()


def _contestants(arguments: argparse.Namespace, port: int) -> dict[str, Contestant]:
    def python(driver: str, *words: object) -> list[list[str]]:
        return [[sys.executable, str(DRIVERS / f"{driver}.py"), *map(str, words)]]

    pairs = QUICK_PEER_PAIRS if arguments.quick else PEER_PAIRS
    return {
        "peer": Contestant("peer", python("steady_peer", arguments.format, port, arguments.concurrency, pairs)),
        "ours": Contestant(
            "ours", python("fleet", "random", arguments.format, 1, arguments.concurrency, address(port))
        ),
    }


def _samples(contestant: Contestant) -> Samples:
    return {name: [answer[a] / answer[b] for answer in contestant.answers] for name, (a, b) in FIGURES.items()}


def _busy_share() -> float:
    """Return the share of the machine's cores that is busy before the benchmark starts."""
    return psutil.cpu_percent(1.0) / 100


if __name__ == "__main__":
    main()
