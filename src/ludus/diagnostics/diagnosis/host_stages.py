"""The stages with hosts: hosts without a policy, and hosts with the policy of the run but without a learner."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludus.actors.actor import Actor, open_fleet
from ludus.actors.division import ActorCount, ActorShare
from ludus.actors.resolved import ResolvedRun
from ludus.diagnostics import measure
from ludus.diagnostics.diagnosis import record
from ludus.diagnostics.diagnosis.clocks import SLICES, CpuClock
from ludus.diagnostics.diagnosis.record import Measure
from ludus.errors import FleetError
from ludus.fleet.interface import Fleet, FleetHealth
from ludus.fleet.saved_state import FleetState
from ludus.league.pool import Pool
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.times import ACTOR, HOSTS, Times
from ludus.policies.network import NetPolicy
from ludus.spec import GameSpec
from ludus.types import Arrivals, Choices, SegmentBatch

KEPT = 200  # inference batches that are recorded
KEPT_BYTES = 256 << 20  # most memory of recorded inference batches, and of recorded training batches
BATCHES = 3  # training batches that are recorded, if they fit
PATIENCE = 4.0  # a training batch may take so many times the time of the stage
Measures = dict[str, Measure]


class RandomActions:
    """Chooses legal actions at random. Costs next to nothing, so that the speed is that of the hosts."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def act(self, arrivals: Arrivals) -> Choices:
        draws = self._random.random(arrivals.legal.shape, np.float32)
        return Choices.scripted((draws * arrivals.legal).argmax(1).astype(np.int32))


def hosts_alone(run: ResolvedRun, log_dir: Path, seconds: float) -> tuple[Measures, Times]:
    """Measure the hosts of a run with random legal actions. Raises FleetError or HostRefused."""
    with open_fleet(_one_actor(run), log_dir, 0) as fleet:
        policy = RandomActions(run.seed("diagnose"))
        measure.play(fleet, policy, _warm_s(seconds), lambda played_s: None)
        metrics = Metrics(ACTOR)
        fleet.take_times()
        cpu = CpuClock()
        counts = [
            measure.play(fleet, policy, seconds / SLICES, lambda played_s: cpu.use.sample(), metrics)
            for _ in range(SLICES)
        ]
        cpu.stop()
        metrics.merge_times(fleet.take_times())
        metrics.report()
        times = metrics.times()
    decisions = sum(each.decisions for each in counts)
    if not decisions:
        raise FleetError(f"the hosts asked for no decision within {seconds:g} s")
    numbers = {
        record.ENV_RATE: _rate(each.decisions / each.seconds for each in counts),
        record.ENV_CPU: Measure("us", "lower", (cpu.children_s / decisions * 1e6,)),
        record.ENV_CORES: Measure("cores", "neither", (cpu.use.cpu_mean_cores,)),
        record.OTHER_CORES: Measure("cores", "neither", (cpu.other_cores,)),
        record.ENV_MIB: Measure("MiB", "lower", (cpu.use.ram_peak_mib,)),
    }
    busy = times.busy(HOSTS, (names.HOST_WAIT,))
    if busy is not None:
        numbers[record.ENV_BUSY] = Measure("share", "neither", (busy,))
    return numbers, times


@dataclass(slots=True)
class Recordings:
    """Recordings for the other stages: the rows of forward passes, and full training batches."""

    spec: GameSpec
    arrivals: list[Arrivals] = field(default_factory=list)
    batches: list[SegmentBatch] = field(default_factory=list)


def hosts_and_policy(
    run: ResolvedRun, policy: Callable[[GameSpec], NetPolicy], folder: Path, pool: Pool, seconds: float
) -> tuple[Measures, Times, Recordings]:
    """Play as the actor of the run does, without a learner, and record what it sees.

    `folder` is for logs. Raises FleetError, HostRefused, and CheckpointError if the weights do not fit.
    """
    one = _one_actor(run)
    with open_fleet(one, folder / "logs", 0) as hosts:
        fleet = RecordingFleet(hosts)
        actor = Actor(fleet, one, pool)
        actor.set_past(pool.versions())
        actor.adopt(policy(fleet.spec).weights.numpy(), 0)
        recordings = Recordings(fleet.spec)
        filler = _Filler(actor, recordings)
        filler.play(_warm_s(seconds))
        actor.drain()
        actor.metrics.begin()
        fleet.recording = True
        cpu, rates, before = CpuClock(), [], filler.learned
        total = fleet.decisions
        for _ in range(SLICES):
            began_s, decisions = time.perf_counter(), fleet.decisions
            filler.play(seconds / SLICES)
            cpu.use.sample()
            rates.append((fleet.decisions - decisions) / (time.perf_counter() - began_s))
        cpu.stop()
        total, learned = fleet.decisions - total, filler.learned - before
        times = actor.drain().times
        fleet.recording = False
        filler.play(PATIENCE * seconds, until_filled=True)
    if not total:
        raise FleetError(f"the hosts asked for no decision within {seconds:g} s")
    recordings.arrivals = fleet.recorded
    return _played(cpu, rates, total, learned), times, recordings


def _played(cpu: CpuClock, rates: list[float], total: int, learned: int) -> Measures:
    return {
        record.PLAY_RATE: _rate(rates),
        record.PLAY_LEARNED: Measure("share", "neither", (max(min(learned / total, 1.0), 1e-3),)),
        record.PLAY_ACTOR_CPU: Measure("us", "lower", (cpu.own_s / total * 1e6,)),
        record.PLAY_HOSTS_CPU: Measure("us", "lower", (cpu.children_s / total * 1e6,)),
    }


class _Filler:
    """Lets an actor fill training batches, of which the first ones are kept."""

    def __init__(self, actor: Actor, recordings: Recordings) -> None:
        self._actor = actor
        self._recordings = recordings
        self._batch = actor.layout.allocate()
        self._decisions = 0
        self._most = max(1, min(BATCHES, KEPT_BYTES // max(1, actor.layout.nbytes)))

    @property
    def learned(self) -> int:
        """The decisions that were recorded for the learner."""
        return self._decisions + self._actor.recorded

    def play(self, seconds: float, *, until_filled: bool = False) -> None:
        """Play for `seconds`, or with `until_filled` until one training batch is there."""
        until_s = time.perf_counter() + seconds

        def over() -> bool:
            return time.perf_counter() >= until_s or (until_filled and bool(self._recordings.batches))

        while not over():
            if not self._actor.play(self._batch, over):
                continue
            self._decisions += self._batch.decisions
            if len(self._recordings.batches) < self._most:
                self._recordings.batches.append(self._batch)
                self._batch = self._actor.layout.allocate()


class RecordingFleet:
    """Passes everything through to a fleet, counts decisions and keeps the first arrivals while `recording`."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.spec, self.hosts, self.rows = fleet.spec, fleet.hosts, fleet.rows
        self.recording = False
        self.decisions = 0
        self.recorded: list[Arrivals] = []
        self._bytes = 0

    @property
    def health(self) -> FleetHealth:
        return self._fleet.health

    def recv(self, timeout_s: float, *, wait_all: bool = False) -> Arrivals:
        arrivals = self._fleet.recv(timeout_s, wait_all=wait_all)
        self.decisions += len(arrivals)
        if self.recording and len(arrivals) and len(self.recorded) < KEPT and self._bytes < KEPT_BYTES:
            copy = arrivals.take(np.arange(len(arrivals)))
            self._bytes += copy.obs.nbytes + copy.legal.nbytes
            self.recorded.append(copy)
        return arrivals

    def send(self, row: NDArray[np.int32], action: NDArray[np.int32]) -> None:
        self._fleet.send(row, action)

    def saved_state(self) -> FleetState | None:
        return None

    def take_times(self) -> Times:
        return self._fleet.take_times()

    def close(self) -> None:
        self._fleet.close()


def _one_actor(run: ResolvedRun) -> ResolvedRun:
    """Return the run with one actor for all hosts."""
    return replace(run, actors=ActorCount(1, ""), share=ActorShare(0, 0, run.hosts))


def _rate(samples: Iterable[float]) -> Measure:
    return Measure("decisions/s", "higher", tuple(samples))


def _warm_s(seconds: float) -> float:
    return min(2.0, 0.4 * seconds)
