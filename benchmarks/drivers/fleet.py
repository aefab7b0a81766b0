"""Play without learning: hosts, fleet and a policy; nothing is recorded.

Usage: fleet.py random|net FORMAT HOSTS MATCHES [SERVER]. With the address of a server, battles are played there.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.drivers.lines import Answer, answer_requests

from ludus.config.settings import FleetConfig, PolicyConfig
from ludus.fleet.fleet import HostFleet
from ludus.games.registry import Game, load, nets_of
from ludus.spec import GameSpec
from ludus.types import Policy

PAUSE_S = 1e6  # hosts wait this long for their turn to be measured
LEAD_S = 0.03  # before a measurement: what hosts made ready while others were measured must not count


def main(kind: str, battle_format: str, hosts: str, matches: str, server: str | None = None) -> None:
    game = load("showdown" if server is None else "showdown-server")
    options = game.options(format=battle_format, **({} if server is None else {"servers": (server,)}))
    with (
        tempfile.TemporaryDirectory(prefix="ludus-bench-") as logs,
        HostFleet(
            game.command(options),
            FleetConfig(reply_deadline_s=PAUSE_S),
            options=msgspec.to_builtins(options),
            seed=1,
            log_dir=Path(logs),
            hosts=int(hosts),
            matches=int(matches),
        ) as fleet,
    ):
        policy = game.scripted["random"](fleet.spec, 1) if kind == "random" else _net(fleet.spec, game)
        answer_requests(play(fleet, policy))


def play(fleet: HostFleet, policy: Policy) -> Callable[[float], Answer]:
    def run(seconds: float) -> tuple[int, int, int, float]:
        """Play. Returns decisions, endings, rounds and the seconds it took."""
        decisions = endings = rounds = 0
        begin = time.perf_counter()
        while (took_s := time.perf_counter() - begin) < seconds:
            arrivals = fleet.recv(1.0)
            endings += len(arrivals.endings)
            if len(arrivals):
                fleet.send(arrivals.row, policy.act(arrivals).action)
                decisions += len(arrivals)
                rounds += 1
        return decisions, endings, rounds, took_s

    def measure(seconds: float) -> Answer:
        cpu_s = used_cpu_s()  # not after the lead: a look at all processes takes milliseconds
        *_, lead_s = run(LEAD_S)
        decisions, endings, rounds, took_s = run(seconds)
        rss = [child.memory_info().rss / 2**20 for child in psutil.Process().children()]
        return {
            "decisions": decisions,
            "battles": endings,
            "seconds": took_s,
            "cpu_s": (used_cpu_s() - cpu_s) * took_s / (lead_s + took_s),
            "rows": decisions / max(rounds, 1),
            "host_rss_mib": max(rss),
        }

    return measure


def used_cpu_s() -> float:
    """Return the CPU seconds of this process and its hosts."""
    return time.process_time() + sum(sum(child.cpu_times()[:2]) for child in psutil.Process().children(recursive=True))


def _net(spec: GameSpec, game: Game) -> Policy:
    import torch  # only here: the random policy's process does without

    from ludus.policies import nets
    from ludus.policies.network import NetPolicy

    config = PolicyConfig()
    torch.set_num_threads(config.threads)
    return NetPolicy(nets.build(spec, config, game.net, game_nets=nets_of(game)), spec)


if __name__ == "__main__":
    main(*sys.argv[1:])
