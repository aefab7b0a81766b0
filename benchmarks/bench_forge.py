"""Compare Magic on Forge through a fleet with play inside the Java process.

    FORGE_HOME=... python benchmarks/bench_forge.py [--quick] [--save]

One Java process each, all alive during the benchmark, measured in rotation with the two simple decks:
- inside: random play inside the Java process, without frames, pipe or fleet: the ceiling
- random: the fleet with one host, and random play in Python
- net: the fleet with one host, and an untrained net `entities` of the preset's size
Rates are per CPU second of all processes of a contestant, because other programs may use the machine. The ratios are
those of decisions; matches are counted, too. The last line on stdout is one JSON object; --save appends it to
benchmarks/results/forge.jsonl.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus.config.settings import FleetConfig, PolicyConfig
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.games.forge import compiled, decks, installation, jvm
from ludus.games.forge.options import ForgeOptions
from ludus.policies import nets
from ludus.policies.network import NetPolicy
from ludus.types import Policy

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "forge.jsonl"
DRIVER = ROOT / "benchmarks" / "drivers" / "ForgeInside.java"
NAMES = ("inside", "random", "net")
MATCHES = 8
REPEATS = 5
GAME = registry.load("forge")
OPTIONS = ForgeOptions()


@dataclass(frozen=True)
class Measured:
    """Decisions and matches per CPU second."""

    decisions: float
    matches: float


def main() -> None:
    parser = contest.Options((__doc__ or "").split("\n")[0], RESULTS, quick="3 s each instead of 15, 6 s of warm-up")
    arguments = parser.arguments()
    seconds, warm_up_s = (3.0, 6.0) if arguments.quick else (15.0, 60.0)
    samples: dict[str, list[Measured]] = {name: [] for name in NAMES}
    with ExitStack() as running, tempfile.TemporaryDirectory() as logs:
        players: dict[str, _Inside | _ThroughFleet] = {"inside": running.enter_context(_inside(Path(logs)))}
        for name in NAMES[1:]:
            players[name] = running.enter_context(_through_fleet(name, Path(logs) / name))
        for player in players.values():
            player.measure(warm_up_s)
        for repeat in range(REPEATS):
            for name, player in players.items():
                samples[name].append(player.measure(seconds))
            line = "  ".join(f"{name} {measured[-1].decisions:,.0f}" for name, measured in samples.items())
            contest.say(f"repeat {repeat + 1} of {REPEATS}, decisions a CPU second: {line}")
    rates = {name: [each.decisions for each in measured] for name, measured in samples.items()}
    rows = {f"{name}, decisions": contest.summary(values) for name, values in rates.items()}
    rows |= {f"{name}, matches": contest.summary([each.matches for each in samples[name]]) for name in NAMES}
    ratios = {f"{name}_vs_inside": contest.ratio(rates[name], rates["inside"]) for name in ("random", "net")}
    contest.show(rows, ratios)
    result = {"bench": "forge", "commit": contest.commit(ROOT), "machine": contest.machine(), "unit": "a CPU second"}
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


class _Inside:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def measure(self, seconds: float) -> Measured:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        decisions, matches, cpu_ns = map(int, self._process.stdout.readline().split())
        return Measured(decisions / cpu_ns * 1e9, matches / cpu_ns * 1e9)


@contextmanager
def _inside(folder: Path) -> Iterator[_Inside]:
    forge, java = installation.find_forge(), installation.find_java()
    path = os.pathsep.join((str(compiled.classes_of(forge, java)), str(forge.jar)))
    subprocess.run(("javac", "-d", str(folder), "-cp", path, str(DRIVER)), check=True, timeout=100)
    words = (java.program, *jvm.flags(OPTIONS), "-cp", f"{folder}{os.pathsep}{path}", "ForgeInside", str(forge.folder))
    command = (*words, "\n".join(map(str, decks.simple())))
    with (
        (folder / "inside.log").open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield _Inside(process)
        finally:
            process.kill()


class _ThroughFleet:
    def __init__(self, fleet: HostFleet, policies: list[Policy]) -> None:
        self._fleet = fleet
        self._policies = policies

    def measure(self, seconds: float) -> Measured:
        """Answer all rows for so many seconds. Only one contestant plays at a time, so all CPU time here is its own."""
        (pid,) = self._fleet.pids
        decisions, matches = 0, 0
        until, before = time.monotonic() + seconds, _cpu_s(pid)
        while time.monotonic() < until:
            arrivals = self._fleet.recv(60.0)
            matches += sum(not ending.void for ending in arrivals.endings)
            decisions += len(arrivals)
            for policy in self._policies:
                rows = arrivals.take(np.flatnonzero(arrivals.row % len(self._policies) == self._policies.index(policy)))
                if len(rows):
                    self._fleet.send(rows.row, policy.act(rows).action)
        spent_s = _cpu_s(pid) - before
        return Measured(decisions / spent_s, matches / spent_s)


@contextmanager
def _through_fleet(name: str, logs: Path) -> Iterator[_ThroughFleet]:
    config = FleetConfig(matches=MATCHES, hello_deadline_s=300.0, reply_deadline_s=120.0)
    options = msgspec.to_builtins(OPTIONS)
    with HostFleet(GAME.command(OPTIONS), config, options=options, seed=7, log_dir=logs, hosts=1) as fleet:
        if name == "net":
            settings = PolicyConfig(net="entities", width=48, context=96)
            net = nets.build(fleet.spec, settings, GAME.net, seed=1, game_nets=registry.nets_of(GAME))
            policies: list[Policy] = [NetPolicy(net, fleet.spec)]
        else:
            policies = [GAME.scripted[name](fleet.spec, seat) for seat in range(fleet.spec.seats)]
        yield _ThroughFleet(fleet, policies)


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system + time.process_time()


if __name__ == "__main__":
    main()
