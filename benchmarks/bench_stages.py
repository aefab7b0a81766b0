"""What it costs to know where the time goes: CPU time of hosts and of the actor's thread, measuring against not.

    python benchmarks/bench_stages.py [--quick] [--format gen9randombattle] [--save]

Hosts: two in one process play the same matches with the same choices, one of them with its clock; CPU microseconds a
decision, frame by frame in turn. `host_laps` is what its laps alone come to: their number a decision times what one
costs by itself, over the cost of a decision; on a busy machine it is the surer of the two. Actor: one fleet, answered
by a random policy, every other frame with its stages timed; CPU microseconds of the thread a frame. With a net frames
take longer, and the timers' share is smaller. The last line on stdout is one JSON object; --save appends it to
benchmarks/results/stages.jsonl.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

from ludus.config.schema import FleetConfig
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.games.showdown import install
from ludus.games.showdown.game import NODE_FLAGS
from ludus.hosting.launch import tied
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.times import ACTOR
from ludus.types import Policy

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "stages.jsonl"
HOST = ROOT / "src" / "ludus" / "games" / "showdown" / "host"
MATCHES = 64
REPEATS = 7
LIMIT = 1.01  # what is asked of each
DEADLINE_S = 60.0

Ask = Callable[[int], dict[str, list[float]]]


def main() -> None:
    chosen = _arguments()
    frames = 40 if chosen.quick else 200
    found: dict[str, list[float]] = {}
    with _hosts(chosen.format) as play, _actor(chosen.format) as answer:
        play(2 * frames)  # compiled by then
        answer(frames // 4)
        for repeat in range(REPEATS):
            host, actor = play(frames), answer(frames)
            for name, spent in (("host", host), ("actor", actor)):
                for way in ("on", "off"):
                    found.setdefault(f"{name} {way}", []).append(statistics.median(spent[way]))
            found.setdefault("host laps", []).append(host["laps"][0] * host["lap_us"][0])
            shown = ", ".join(f"{name} {own[-1]:.2f}" for name, own in found.items())
            contest.say(f"repeat {repeat + 1} of {REPEATS}, CPU us: {shown}")
    rows = {name: contest.summary(own) for name, own in found.items()}
    laps = [1 + lap / off for lap, off in zip(found["host laps"], found["host off"], strict=True)]
    ratios = {
        "host_on_vs_off": _ratio(found["host on"], found["host off"]),
        "host_laps": _ratio(laps, [1.0] * REPEATS),
        "actor_on_vs_off": _ratio(found["actor on"], found["actor off"]),
    }
    for name, row in {**rows, **ratios}.items():
        print(f"{name:18}{row['median']:>10.4f}   {row['low']:>8.4f} to {row['high']:.4f}")
    result = {
        "bench": "stages",
        "commit": contest.commit(ROOT),
        "machine": contest.machine(),
        "unit": "CPU us: of a host a decision, of the actor a frame",
        "format": chosen.format,
        "repeats": REPEATS,
        "limit": LIMIT,
    }
    contest.report(result, rows, ratios, RESULTS if chosen.save else None)


def _ratio(ours: Sequence[float], other: Sequence[float]) -> dict[str, float]:
    """Finer than contest.ratio: here a percent matters."""
    pairs = [a / b for a, b in zip(ours, other, strict=True)]
    return {"median": round(statistics.median(pairs), 4), "low": round(min(pairs), 4), "high": round(max(pairs), 4)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer frames: coarser")
    parser.add_argument("--format", default="gen1randombattle")
    parser.add_argument("--save", action="store_true", help=f"append the result to {RESULTS.relative_to(ROOT)}")
    return parser.parse_args()


@contextmanager
def _hosts(format_name: str) -> Iterator[Ask]:
    """Plays so many frames: CPU us a decision of each, on and off; laps a decision, and what one costs."""
    found = install.ensure()
    driver = ROOT / "benchmarks" / "drivers" / "stages.js"
    words = ("--sim", str(found.root), "--host", str(HOST), "--format", format_name, "--matches", str(MATCHES))
    command = tied((str(found.node), *NODE_FLAGS, str(driver), *words))
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
    """Answers so many frames, every other one with its stages timed: CPU us of this thread for each, on and off."""
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
            for _ in range(frames):
                for way, answering in ways.items():
                    spent[way].append(answering.frame_us())
            return spent

        yield ask


class _Answering:
    """The loop of an actor, without what it would record."""

    def __init__(self, fleet: HostFleet, policy: Policy, *, timed: bool) -> None:
        self._fleet, self._policy = fleet, policy
        self._metrics = Metrics(ACTOR, timed=timed)
        stages = (names.WAIT_HOSTS, names.SEGMENTS, names.POLICIES, names.SEND)
        self._waiting, self._recording, self._choosing, self._sending = (self._metrics.stage(name) for name in stages)

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


if __name__ == "__main__":
    main()
