"""Compare Magic on Forge through a fleet with play inside the Java process.

    FORGE_HOME=... python benchmarks/bench_forge.py [--quick] [--save]

One Java process each, all alive during the benchmark, measured in rotation with the two simple decks:
- sim: Forge's AI against itself inside the Java process, as in Forge's own `sim` mode
- inside: random play inside the Java process, one match at a time, without frames, pipe or fleet: the ceiling
- random: the fleet with one host, and random play in Python
- net: the fleet with one host, and an untrained net `entities` of the preset's size
- daemon: random play through a daemon on the same Forge (drivers/ForgeDaemon.java), by the game `forge-daemon`
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
import torch
from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus.config.settings import FleetConfig, PolicyConfig
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.games.forge import compiled, decks, installation, jvm
from ludus.games.forge.daemon_options import DaemonOptions
from ludus.games.forge.options import ForgeOptions
from ludus.games.registry import Game
from ludus.policies import nets
from ludus.policies.network import NetPolicy
from ludus.types import Policy

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "forge.jsonl"
DRIVERS = ROOT / "benchmarks" / "drivers"
NAMES = ("sim", "inside", "random", "net", "daemon")
MATCHES = 8
GAME = registry.load("forge")
OPTIONS = ForgeOptions()


@dataclass(frozen=True)
class Measured:
    """Decisions and matches per CPU second."""

    decisions: float
    matches: float


def main() -> None:
    parser = contest.Options((__doc__ or "").split("\n")[0], RESULTS)
    parser.trials(repeats=(5, 3), seconds=(15.0, 3.0), warm_up=(60.0, 6.0))
    arguments = parser.arguments()
    samples: dict[str, list[Measured]] = {name: [] for name in NAMES}
    with ExitStack() as running, tempfile.TemporaryDirectory() as logs:
        players: dict[str, _Inside | _ThroughFleet] = {}
        for name in NAMES:
            players[name] = running.enter_context(_contestant(name, Path(logs) / name))
        for player in players.values():
            player.measure(arguments.warm_up)
        for repeat in range(arguments.repeats):
            for name, player in players.items():
                samples[name].append(player.measure(arguments.seconds))
            line = "  ".join(f"{name} {measured[-1].decisions:,.0f}" for name, measured in samples.items())
            contest.say(f"repeat {repeat + 1} of {arguments.repeats}, decisions a CPU second: {line}")
    rates = {name: [each.decisions for each in measured] for name, measured in samples.items()}
    matches = {name: [each.matches for each in measured] for name, measured in samples.items()}
    rows = {f"{name}, decisions": contest.summary(rates[name]) for name in NAMES if name != "sim"}
    rows |= {f"{name}, matches": contest.summary(values) for name, values in matches.items()}
    ratios = {f"{name}_vs_inside": contest.ratio(rates[name], rates["inside"]) for name in ("random", "net")}
    ratios["random_vs_daemon"] = contest.ratio(rates["random"], rates["daemon"])
    ratios["random_vs_daemon_matches"] = contest.ratio(matches["random"], matches["daemon"])
    contest.show(rows, ratios)
    result = {"bench": "forge", "commit": contest.commit(ROOT), "machine": contest.machine(), "unit": "a CPU second"}
    contest.report(result, rows, ratios, RESULTS if arguments.save else None)


@contextmanager
def _contestant(name: str, folder: Path) -> Iterator[_Inside | _ThroughFleet]:
    folder.mkdir()
    files = "\n".join(map(str, decks.simple()))
    if name in ("sim", "inside"):
        with _java("ForgeSim" if name == "sim" else "ForgeInside", folder, files) as process:
            assert _line(process) == "ready"
            yield _Inside(process)
    elif name == "daemon":
        with _java("ForgeDaemon", folder) as process:
            daemon = DaemonOptions(daemons=f"127.0.0.1:{_line(process)}", decks=tuple(map(str, decks.simple())))
            with _through_fleet(registry.load("forge-daemon"), daemon, "random", 1, folder, process) as player:
                yield player
    else:
        with _through_fleet(GAME, OPTIONS, name, MATCHES, folder) as player:
            yield player


@contextmanager
def _java(driver: str, folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program of drivers/ in a Java process with Forge and the classes of the host."""
    forge, java = installation.find_forge(), installation.find_java()
    path = os.pathsep.join((str(compiled.classes_of(forge, java)), str(forge.jar)))
    source = DRIVERS / f"{driver}.java"
    subprocess.run(("javac", "-d", str(folder), "-cp", path, str(source)), check=True, timeout=100)
    command = (
        java.program,
        *jvm.flags(OPTIONS),
        "-cp",
        f"{folder}{os.pathsep}{path}",
        driver,
        str(forge.folder),
        *words,
    )
    with (
        (folder / "java.log").open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def _line(process: subprocess.Popen[str], question: str = "") -> str:
    """Return the next line of a Java process, after sending it a line if `question` is given."""
    assert process.stdin is not None
    assert process.stdout is not None
    if question:
        process.stdin.write(f"{question}\n")
        process.stdin.flush()
    return process.stdout.readline().strip()


class _Inside:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def measure(self, seconds: float) -> Measured:
        decisions, matches, cpu_ns = map(int, _line(self._process, str(seconds)).split())
        return Measured(decisions / cpu_ns * 1e9, matches / cpu_ns * 1e9)


class _ThroughFleet:
    def __init__(self, fleet: HostFleet, policies: list[Policy], daemon: subprocess.Popen[str] | None) -> None:
        self._fleet = fleet
        self._policies = policies
        self._daemon = daemon

    def measure(self, seconds: float) -> Measured:
        """Answer all rows for so many seconds. Only one contestant plays at a time, so all CPU time here is its own."""
        decisions, matches = 0, 0
        until, before = time.monotonic() + seconds, self._cpu_s()
        while time.monotonic() < until:
            arrivals = self._fleet.recv(60.0)
            matches += sum(not ending.void for ending in arrivals.endings)
            decisions += len(arrivals)
            for policy in self._policies:
                rows = arrivals.take(np.flatnonzero(arrivals.row % len(self._policies) == self._policies.index(policy)))
                if len(rows):
                    self._fleet.send(rows.row, policy.act(rows).action)
        spent_s = self._cpu_s() - before
        return Measured(decisions / spent_s, matches / spent_s)

    def _cpu_s(self) -> float:
        (pid,) = self._fleet.pids
        times = psutil.Process(pid).cpu_times()
        daemon_s = int(_line(self._daemon, "cpu")) / 1e9 if self._daemon is not None else 0.0
        return times.user + times.system + time.process_time() + daemon_s


@contextmanager
def _through_fleet(
    game: Game, options: Struct, policy: str, matches: int, logs: Path, daemon: subprocess.Popen[str] | None = None
) -> Iterator[_ThroughFleet]:
    config = FleetConfig(matches=matches, hello_deadline_s=300.0, reply_deadline_s=120.0)
    document = msgspec.to_builtins(options)
    with HostFleet(game.command(options), config, options=document, seed=7, log_dir=logs, hosts=1) as fleet:
        if policy == "net":
            settings = PolicyConfig(net="entities", width=48, context=96)
            torch.set_num_threads(settings.threads)  # as in a run: others wait for work in a loop, which costs CPU time
            net = nets.build(fleet.spec, settings, game.net, seed=1, game_nets=registry.nets_of(game))
            policies: list[Policy] = [NetPolicy(net, fleet.spec)]
        else:
            policies = [game.scripted[policy](fleet.spec, seat) for seat in range(fleet.spec.seats)]
        yield _ThroughFleet(fleet, policies, daemon)


if __name__ == "__main__":
    main()
