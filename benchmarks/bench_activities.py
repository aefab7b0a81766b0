"""Measure the CPU cost of timing activities, in hosts and in the actor's thread.

    python benchmarks/bench_activities.py [--quick] [--format gen9randombattle] [--save]

Hosts: two hosts in one process play the same matches with the same actions, one of them with a clock; their frames are
interleaved. Reported are CPU microseconds per decision. `host_laps` is an estimate from the laps alone: their number
per decision times the cost of one, relative to the cost of a decision. It is more reliable on a busy machine. Actor:
one fleet is answered by a random policy, and every other frame is timed. Reported are CPU microseconds of the thread
per frame; `actor_timers` is the estimate from the timers alone. With a net, frames take longer and the share is
smaller. The last line on stdout is one JSON object; --save appends it to benchmarks/results/activities.jsonl.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus.config.settings import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.games.showdown import install
from ludus.games.showdown.game import NODE_FLAGS
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.times import ACTOR
from ludus.processes.launch import tied
from ludus.types import Policy

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "activities.jsonl"
HOST = ROOT / "src" / "ludus" / "games" / "showdown" / "host"
MATCHES = 64
REPEATS = 7
LIMIT = 1.01  # what is asked of each
DEADLINE_S = 60.0
TIMED = 2000  # frames' worth of timers, to see what they cost

Ask = Callable[[int], dict[str, list[float]]]


def main() -> None:
    arguments = _arguments()
    frames = 20 if arguments.quick else 80
    samples: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    with _hosts(arguments.format) as play, _actor(arguments.format) as answer:
        play(2 * frames)  # compiled by then
        answer(frames // 4)
        for repeat in range(REPEATS):
            host, actor = play(4 * frames), answer(frames)
            for name, spent in (("host", host), ("actor", actor)):
                for way in ("on", "off"):
                    samples.setdefault(f"{name} {way}", []).append(statistics.median(spent[way]))
                ratios.setdefault(f"{name}_on_vs_off", []).append(_on_vs_off(spent))
            samples.setdefault("host laps", []).append(host["laps"][0] * host["lap_us"][0])
            samples.setdefault("actor timers", []).append(actor["timers_us"][0])
            line = ", ".join(f"{name} {own[-1]:.3f}" for name, own in {**samples, **ratios}.items())
            contest.say(f"repeat {repeat + 1} of {REPEATS}, CPU us: {line}")
    rows = {name: contest.summary(own) for name, own in samples.items()}
    for name, cost, whole in (("host_laps", "host laps", "host off"), ("actor_timers", "actor timers", "actor off")):
        ratios[name] = [1 + own / off for own, off in zip(samples[cost], samples[whole], strict=True)]
    spread = {name: _spread(own) for name, own in ratios.items()}
    for name, row in {**rows, **spread}.items():
        print(f"{name:18}{row['median']:>10.4f}   {row['low']:>8.4f} to {row['high']:.4f}")
    result = {
        "bench": "activities",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "unit": "CPU us: of a host a decision, of the actor a frame",
        "format": arguments.format,
        "repeats": REPEATS,
        "limit": LIMIT,
    }
    contest.report(result, rows, spread, RESULTS if arguments.save else None)


def _spread(ratios: Sequence[float]) -> dict[str, float]:
    """Return median and spread over repeats, with more digits than contest.summary: here one percent matters."""
    return {
        "median": round(statistics.median(ratios), 4),
        "low": round(min(ratios), 4),
        "high": round(max(ratios), 4),
    }


def _on_vs_off(spent: Mapping[str, Sequence[float]]) -> float:
    """Return the median ratio of paired frames, weighted by the shares of timed and untimed frames."""
    timed_of = spent.get("timed_of", [1])[0]
    timed, others = (
        [on / off for on, off in zip(spent.get(f"{kind}on", ()), spent.get(f"{kind}off", ()), strict=True)]
        for kind in ("", "others_")
    )
    if not others:
        return statistics.median(timed)
    return (statistics.median(timed) + (timed_of - 1) * statistics.median(others)) / timed_of


def _arguments() -> argparse.Namespace:
    parser = contest.Options((__doc__ or "").split("\n")[0], RESULTS, quick="fewer frames: coarser")
    parser.add_argument("--format", default="gen1randombattle")
    return parser.arguments()


@contextmanager
def _hosts(format_name: str) -> Iterator[Ask]:
    """Play this many frames. Returns CPU us per decision with and without clock, laps per decision, and us per lap."""
    samples = install.ensure()
    driver = ROOT / "benchmarks" / "drivers" / "activities.js"
    words = ("--sim", str(samples.root), "--host", str(HOST), "--format", format_name, "--matches", str(MATCHES))
    command = tied((str(samples.node), *NODE_FLAGS, str(driver), *words))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def ask(frames: int) -> dict[str, list[float]]:
            stdin.write(json.dumps({"frames": frames}) + "\n")
            stdin.flush()
            spent: dict[str, list[float]] = json.loads(stdout.readline())
            return spent

        try:
            yield ask
        finally:
            process.kill()


@contextmanager
def _actor(format_name: str) -> Iterator[Ask]:
    """Answer this many frames, timing every other one. Returns CPU us of this thread per frame, with and without."""
    game = registry.load("showdown")
    options = game.options(format=format_name)
    config = FleetConfig(hosts=1, matches=MATCHES)
    with (
        tempfile.TemporaryDirectory() as logs,
        HostFleet(
            game.command(options), config, options=msgspec.to_builtins(options), seed=1, log_dir=Path(logs)
        ) as fleet,
    ):
        policy = game.scripted["random"](fleet.spec, 1)
        ways = {"on": _Answering(fleet, policy, timed=True), "off": _Answering(fleet, policy, timed=False)}

        def ask(frames: int) -> dict[str, list[float]]:
            spent: dict[str, list[float]] = {way: [] for way in ways}
            for at in range(frames):
                for way in ("on", "off") if at % 2 else ("off", "on"):
                    spent[way].append(ways[way].frame_us())
            return {**spent, "timers_us": [ways["on"].timers_us() - ways["off"].timers_us()]}

        yield ask


class _Answering:
    """The loop of an actor without recording."""

    def __init__(self, fleet: HostFleet, policy: Policy, *, timed: bool) -> None:
        self._fleet, self._policy = fleet, policy
        self._metrics = Metrics(ACTOR, timed=timed)
        activities = (names.WAIT_HOSTS, names.SEGMENTS, names.POLICIES, names.SEND)
        self._waiting, self._recording, self._choosing, self._sending = (
            self._metrics.activity(name) for name in activities
        )

    def frame_us(self) -> float:
        began_s = time.thread_time()
        with self._waiting:
            arrivals = self._fleet.recv(DEADLINE_S, wait_all=True)
        with self._recording:
            pass
        with self._choosing:
            choices = self._policy.act(arrivals)
        with self._sending:
            self._fleet.send(arrivals.row, choices.action)
        with self._recording:
            pass
        return (time.thread_time() - began_s) * 1e6

    def timers_us(self) -> float:
        """Return the CPU us of one frame's timers alone: the minimum of several tries."""
        timers = (self._waiting, self._recording, self._choosing, self._sending, self._recording)

        def tried() -> float:
            began_s = time.thread_time()
            for _ in range(TIMED):
                for timer in timers:
                    with timer:
                        pass
            return (time.thread_time() - began_s) * 1e6 / TIMED

        return min(tried() for _ in range(5))


if __name__ == "__main__":
    main()
