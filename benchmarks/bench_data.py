"""Measure datasets: recording and rendering against the same play without them, and reading rows for training.

    python benchmarks/bench_data.py [--quick] [--save]

Recording: `ludus generate` with the default net of gen 1, against the loop of `ludus bench scale` with the same net, on
two fleets of the same size that take turns. Rendering: all matches of a dataset, against the same matches played again
with the same actions while nothing is kept. Reading: shuffled batches of single decisions, per second of CPU time.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import contest

import ludus
from ludus.config.settings import FleetConfig, PolicyConfig
from ludus.data import probing, rendering
from ludus.data.dataset import Dataset
from ludus.data.generation import GenerationSession, schedule_of
from ludus.data.manifest import Manifest, PlanNote, PolicyNote
from ludus.data.rendering import Replay
from ludus.data.sampler import SegmentSampler
from ludus.data.selecting import Selection
from ludus.diagnostics import measure
from ludus.fleet.fleet import HostFleet
from ludus.games import registry
from ludus.policies import nets
from ludus.policies.checkpoints import checkpoint
from ludus.policies.network import NetPolicy
from ludus.rollout.segments import SegmentLayout
from ludus.spec import GameSpec
from ludus.types import Arrivals, Policy

ROOT = Path(__file__).parents[1]
KEPT_IN = ROOT / "benchmarks" / "results" / "data.jsonl"
MATCHES, BATCH = 200_000, 4096
NET = "net"


class Unkept(Replay):
    """Plays the matches of a ledger again and keeps nothing: the ceiling of rendering."""

    def keep(self, arrivals: Arrivals, place: NDArray[np.int64]) -> None:
        pass


@dataclass
class Bench:
    """What all measurements share."""

    folder: Path
    hosts: int
    game: registry.Game
    options: msgspec.Struct

    def fleet(self, schedule: list[tuple[int, int]] | None) -> HostFleet:
        return HostFleet(
            self.game.command(self.options),
            FleetConfig(),
            options=msgspec.to_builtins(self.options),
            seed=1,
            log_dir=self.folder / "logs",
            hosts=self.hosts,
            schedule=schedule,
        )

    def net(self, spec: GameSpec) -> Policy:
        built = nets.build(spec, PolicyConfig(), self.game.net, seed=1, game_nets=registry.nets_of(self.game))
        return NetPolicy(built, spec)


def main() -> None:
    parser = contest.Options(__doc__, KEPT_IN)
    parser.trials(repeats=(7, 3), seconds=(10.0, 3.0), warm_up=(5.0, 2.0))
    parser.size("--hosts", 2, 2, "hosts")
    values = parser.arguments()
    torch.set_num_threads(1)
    game = registry.load("showdown")
    samples: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        bench = Bench(Path(folder), values.hosts, game, game.options())
        dataset = record(bench, values, samples, running)
        render(bench, dataset, values, samples)
        read(bench, dataset, values, samples)
        size = sum(shard.ledger.size for shard in dataset.shards) / dataset.manifest.decisions
    rows = {name: contest.summary(figures) for name, figures in samples.items()}
    rows["ledger, bytes a decision"] = contest.summary([size])
    ratios = {
        "recording over playing": contest.ratio(samples["recording"], samples["playing"]),
        "rendering over playing again": contest.ratio(samples["rendering"], samples["playing again"]),
    }
    contest.show(rows, ratios)
    facts = contest.result("data", ROOT, values, hosts=values.hosts, unit="decisions/s")
    contest.report(facts, rows, ratios, KEPT_IN if values.save else None)


def record(bench: Bench, values: Any, samples: dict[str, list[float]], running: ExitStack) -> Dataset:
    """Play with and without recording, interleaved. Returns the dataset. Any: parsed arguments."""
    plain = running.enter_context(bench.fleet(None))
    spec, policy = plain.spec, bench.net(plain.spec)
    content = Manifest(
        game=bench.game.name,
        spec=checkpoint.note_game(spec),
        options=msgspec.to_builtins(bench.options),
        engine={},
        ludus=ludus.__version__,
        policies=[PolicyNote(NET, NET)],
        replayable=True,
        plan=PlanNote(0, 0, MATCHES, 1),
    )
    dataset = Dataset.create(bench.folder / "dataset", content)
    schedule = schedule_of(dataset)
    recorded = running.enter_context(bench.fleet(schedule.matches()))
    session = GenerationSession(dataset, schedule, lambda: False, lambda progress: None, 0)
    recorder = session.recorder(recorded)

    def recording(seconds: float) -> float:
        return _rate(lambda: session.decisions, lambda: session.step(recorded, {NET: policy}, recorder), seconds)

    def playing(seconds: float) -> float:
        counts = measure.play(plain, policy, seconds, lambda seconds: None)
        return counts.decisions / counts.seconds

    _interleave({"recording": recording, "playing": playing}, values, samples)
    recorder.write()
    return dataset


def render(bench: Bench, dataset: Dataset, values: Any, samples: dict[str, list[float]]) -> None:
    """Render shards and play them again without keeping rows, interleaved. Any: parsed arguments."""
    shards = dataset.shards[: 1 if values.quick else 4]
    contents = [dataset.ledger(shard) for shard in shards]
    decisions, spec = sum(shard.decisions for shard in shards), _spec(bench)
    for name in ("rendering", "playing again"):
        samples[name] = []
    for repeat in range(values.repeats):
        for name, kind in (("rendering", Replay), ("playing again", Unkept)):
            replay = kind(contents, spec)
            with bench.fleet(replay.schedule) as fleet:
                began_s = time.perf_counter()
                while replay.unfinished:
                    replay.step(fleet)
                samples[name].append(decisions / (time.perf_counter() - began_s))
        contest.say(f"repeat {repeat + 1}: rendering {samples['rendering'][-1]:,.0f}")


def read(bench: Bench, dataset: Dataset, values: Any, samples: dict[str, list[float]]) -> None:
    """Render the dataset, then draw shuffled batches from its rows. Any: parsed arguments."""
    spec = _spec(bench)
    dataset.update(shards=dataset.shards[:16])
    rendering.render(dataset, bench.game, bench.options, spec, log_dir=bench.folder / "logs", hosts=bench.hosts)
    batch = SegmentLayout(spec, BATCH, 1).allocate()
    sampler = SegmentSampler(dataset, spec, Selection(), segments=BATCH, gamma=0.99)
    for _ in range(sampler.available // BATCH):  # warms up the page cache
        sampler.next(batch)
    samples["reading, rows/s a core"] = []
    for _ in range(values.repeats):
        began_s, drawn = time.process_time(), 0
        while (spent_s := time.process_time() - began_s) < min(values.seconds, 3.0):
            sampler.next(batch)
            drawn += BATCH
        samples["reading, rows/s a core"].append(drawn / spent_s)


def _spec(bench: Bench) -> GameSpec:
    return probing.describe(bench.game, bench.options, bench.folder / "logs").spec


def _rate(counted: Callable[[], int], step: Callable[[], object], seconds: float) -> float:
    began_s, before = time.perf_counter(), counted()
    while (played_s := time.perf_counter() - began_s) < seconds:
        step()
    return (counted() - before) / played_s


def _interleave(
    contestants: Mapping[str, Callable[[float], float]], values: Any, samples: dict[str, list[float]]
) -> None:
    """Warm up each contestant, then measure all in turn. Any: parsed arguments."""
    for name, measured in contestants.items():
        contest.say(f"warming up {name}: {measured(values.warm_up):,.0f} decisions/s")
        samples[name] = []
    for repeat in range(values.repeats):
        for name, measured in contestants.items():
            samples[name].append(measured(values.seconds))
        contest.say(f"repeat {repeat + 1}: " + ", ".join(f"{name} {samples[name][-1]:,.0f}" for name in contestants))


if __name__ == "__main__":
    main()
