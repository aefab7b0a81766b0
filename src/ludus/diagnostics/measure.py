"""Runs one trial of a scaling benchmark: hosts, servers if there are any, and a policy. Nothing is trained."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ludus.config.seed_streams import seed_for
from ludus.config.settings import FleetConfig, ServersConfig
from ludus.diagnostics.scaling import FleetSize, GpuUse, StudyPlan, Trial
from ludus.diagnostics.usage import SAMPLE_S, TreeUse, watching_gpus
from ludus.errors import FleetError, HostRefused, ProtocolError
from ludus.fleet.fleet import HostFleet
from ludus.fleet.interface import Fleet
from ludus.games.registry import Game
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.times import ACTOR, Times
from ludus.spec import GameSpec
from ludus.types import Policy

Tick = Callable[[float], None]
"""Called now and then with the seconds of the trial that have passed, including the warm-up."""


@dataclass(slots=True)
class PlayCounts:
    """Counts of a stretch of play."""

    decisions: int = 0
    done: int = 0
    truncated: int = 0
    voided: int = 0
    refused: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Measurements:
    """Measurements of a trial, from the end of its warm-up on."""

    counts: PlayCounts
    restarts: int
    use: TreeUse
    gpu: GpuUse | None
    times: Times


def measure(
    plan: StudyPlan,
    size: FleetSize,
    repeat: int,
    *,
    game: Game,
    options: msgspec.Struct,
    policy_of: Callable[[GameSpec, int], Policy],
    log_dir: Path,
    gpus: str = "",
    tick: Tick = lambda seconds: None,
) -> Trial:
    """Run one trial on its own hosts and servers.

    If they cannot start or break down, the returned trial has failed, with the reason, and its logs stay in `log_dir`.
    Raises HostRefused if a host refuses its options, since every other host would refuse them too.
    """
    min_matches = plan.min_matches * size.at_once
    seed = seed_for(plan.seed, "bench", repeat)
    before_mib = _resident_mib()
    began_s = time.perf_counter()
    try:
        with (
            game.served(options, ServersConfig(count=size.servers), log_dir / "servers") as served,
            HostFleet(
                game.command(served.options),
                msgspec.convert(plan.fleet, FleetConfig),
                options=msgspec.to_builtins(served.options),
                seed=seed,
                log_dir=log_dir,
                hosts=size.hosts,
                matches=size.matches,
            ) as fleet,
        ):
            start_s = time.perf_counter() - began_s
            measurements = _watch(plan, fleet, policy_of(fleet.spec, seed), served.pids, gpus, tick)
    except HostRefused:
        raise
    except (FleetError, ProtocolError, OSError, MemoryError) as error:
        return Trial(size=size, repeat=repeat, min_matches=min_matches, failure=_one_line(error))
    if not measurements.restarts and not measurements.counts.voided:
        _remove(log_dir)
    return _trial(size, repeat, min_matches, start_s, before_mib, measurements)


def _watch(
    plan: StudyPlan,
    fleet: HostFleet,
    policy: Policy,
    servers: Callable[[], Collection[int]],
    gpus: str,
    tick: Tick,
) -> Measurements:
    """Warm up, then play the rest of the trial and measure it."""
    play(fleet, policy, plan.warm_s, tick)
    with watching_gpus(gpus) as gpu:
        use = TreeUse(ignored=gpu.pid, apart=servers)
        restarts = fleet.health.restarts

        def watch(seconds: float) -> None:
            use.sample()
            tick(plan.warm_s + seconds)

        metrics = Metrics(ACTOR)
        fleet.take_times()  # discards those of the warm-up
        counts = play(fleet, policy, plan.trial_s - plan.warm_s, watch, metrics)
        metrics.merge_times(fleet.take_times())
        metrics.report()
        use.sample()
        return Measurements(counts, fleet.health.restarts - restarts, use, gpu.use(), metrics.times())


def _trial(
    size: FleetSize, repeat: int, min_matches: int, start_s: float, before_mib: float, measurements: Measurements
) -> Trial:
    counts, use = measurements.counts, measurements.use
    return Trial(
        size=size,
        repeat=repeat,
        min_matches=min_matches,
        done=counts.done,
        decisions=counts.decisions,
        seconds=counts.seconds,
        start_s=start_s,
        truncated=counts.truncated,
        voided=counts.voided,
        refused=counts.refused,
        restarts=measurements.restarts,
        cpu_mean_cores=use.cpu_mean_cores,
        cpu_peak_cores=use.cpu_peak_cores,
        ram_mib=use.ram_peak_mib,
        memory_delta_mib=use.ram_mib - before_mib,
        servers_cpu_mean_cores=use.apart_mean_cores,
        servers_ram_mib=use.apart_peak_mib,
        gpu=measurements.gpu,
        times=measurements.times,
    )


def play(
    fleet: Fleet, policy: Policy, seconds: float, watch: Callable[[float], None], metrics: Metrics | None = None
) -> PlayCounts:
    """Answer the rows of a fleet for `seconds`. `watch` is called about every `SAMPLE_S` with the seconds so far."""
    counts = PlayCounts()
    metrics = metrics or Metrics(ACTOR)
    waiting, choosing, sending = (metrics.activity(name) for name in (names.WAIT_HOSTS, names.POLICIES, names.SEND))
    began_s = time.perf_counter()
    watched_s = 0.0
    while (played_s := time.perf_counter() - began_s) < seconds:
        if played_s - watched_s >= SAMPLE_S:
            watched_s = played_s
            watch(played_s)
        with waiting:
            arrivals = fleet.recv(min(seconds - played_s, SAMPLE_S))
        for ending in arrivals.endings:
            if ending.void:
                counts.voided += 1
                continue
            counts.done += 1
            counts.truncated += ending.truncated
            counts.refused += int(ending.facts.get("refused", 0))
        if len(arrivals):
            with choosing:
                choices = policy.act(arrivals)
            with sending:
                fleet.send(arrivals.row, choices.action)
            counts.decisions += len(arrivals)
    counts.seconds = played_s
    return counts


def _remove(log_dir: Path) -> None:
    """Remove the logs of a trial without failures, and the folder of all logs if it is then empty."""
    shutil.rmtree(log_dir, ignore_errors=True)
    with suppress(OSError):
        log_dir.parent.rmdir()


def _resident_mib() -> float:
    """Return the resident memory of this process and its children."""
    return TreeUse().ram_mib


def _one_line(error: BaseException) -> str:
    text = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return text or type(error).__name__
