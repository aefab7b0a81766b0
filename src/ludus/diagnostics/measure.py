"""Plays one cell: hosts, servers if it has some, and a policy; nothing kept and nothing learned."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ludus.config.seeds import seed_for
from ludus.config.settings import FleetConfig, ServersConfig
from ludus.diagnostics.scaling import FleetSize, GpuUse, StudyPlan, Trial
from ludus.diagnostics.usage import SAMPLE_S, TreeUse, watching_gpus
from ludus.errors import FleetError, HostRefused, ProtocolError
from ludus.fleet.fleet import HostFleet
from ludus.games.registry import Game
from ludus.metrics import names
from ludus.metrics.core import Metrics
from ludus.metrics.times import ACTOR, Times
from ludus.spec import GameSpec
from ludus.types import Fleet, Policy

Tick = Callable[[float], None]
"""Told now and then how many seconds of the turn, warm-up included, have been played."""


@dataclass(slots=True)
class Played:
    decisions: int = 0
    done: int = 0
    truncated: int = 0
    voided: int = 0
    refused: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Seen:
    """A turn on a fleet that runs."""

    played: Played
    restarts: int
    use: TreeUse
    gpu: GpuUse | None
    times: Times


def measure(
    plan: StudyPlan,
    cell: FleetSize,
    repeat: int,
    *,
    game: Game,
    options: msgspec.Struct,
    policy_of: Callable[[GameSpec, int], Policy],
    log_dir: Path,
    gpus: str = "",
    tick: Tick = lambda seconds: None,
) -> Trial:
    """One turn on a fleet of its own, and on servers of its own where the cell has some. What cannot start or breaks
    down is a turn that failed, with the reason; its logs stay in `log_dir`. Raises HostRefused: what one host refuses,
    all would.
    """
    asked = plan.asked * cell.at_once
    seed = seed_for(plan.seed, "bench", repeat)
    before_mib = _resident_mib()
    began_s = time.perf_counter()
    try:
        with (
            game.served(options, ServersConfig(count=cell.servers), log_dir / "servers") as served,
            HostFleet(
                game.command(served.options),
                msgspec.convert(plan.fleet, FleetConfig),
                options=msgspec.to_builtins(served.options),
                seed=seed,
                log_dir=log_dir,
                hosts=cell.hosts,
                matches=cell.matches,
            ) as fleet,
        ):
            start_s = time.perf_counter() - began_s
            seen = _watch(plan, fleet, policy_of(fleet.spec, seed), served.pids, gpus, tick)
    except HostRefused:
        raise
    except (FleetError, ProtocolError, OSError, MemoryError) as error:
        return Trial(cell=cell, repeat=repeat, asked=asked, failure=_one_line(error))
    if not seen.restarts and not seen.played.voided:
        _remove(log_dir)
    return _turn(cell, repeat, asked, start_s, before_mib, seen)


def _watch(
    plan: StudyPlan,
    fleet: HostFleet,
    policy: Policy,
    servers: Callable[[], Collection[int]],
    gpus: str,
    tick: Tick,
) -> Seen:
    """Warm up, then play the rest of the turn and see what it takes."""
    play(fleet, policy, plan.warm_s, tick)
    with watching_gpus(gpus) as gpu:
        use = TreeUse(ignored=gpu.pid, apart=servers)
        restarts = fleet.health.restarts

        def watch(seconds: float) -> None:
            use.sample()
            tick(plan.warm_s + seconds)

        metrics = Metrics(ACTOR)
        fleet.take_times()  # those of the warm-up
        played = play(fleet, policy, plan.turn_s - plan.warm_s, watch, metrics)
        metrics.merge_times(fleet.take_times())
        metrics.report()
        use.sample()
        return Seen(played, fleet.health.restarts - restarts, use, gpu.use(), metrics.times())


def _turn(cell: FleetSize, repeat: int, asked: int, start_s: float, before_mib: float, seen: Seen) -> Trial:
    played, use = seen.played, seen.use
    return Trial(
        cell=cell,
        repeat=repeat,
        asked=asked,
        done=played.done,
        decisions=played.decisions,
        seconds=played.seconds,
        start_s=start_s,
        truncated=played.truncated,
        voided=played.voided,
        refused=played.refused,
        restarts=seen.restarts,
        cpu_mean_cores=use.cpu_mean_cores,
        cpu_peak_cores=use.cpu_peak_cores,
        ram_mib=use.ram_peak_mib,
        memory_delta_mib=use.ram_mib - before_mib,
        servers_cpu_mean_cores=use.apart_mean_cores,
        servers_ram_mib=use.apart_peak_mib,
        gpu=seen.gpu,
        times=seen.times,
    )


def play(
    fleet: Fleet, policy: Policy, seconds: float, watch: Callable[[float], None], metrics: Metrics | None = None
) -> Played:
    """Answer rows for that long; `watch` is called about every `SAMPLE_S` with the seconds played."""
    played = Played()
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
                played.voided += 1
                continue
            played.done += 1
            played.truncated += ending.truncated
            played.refused += int(ending.facts.get("refused", 0))
        if len(arrivals):
            with choosing:
                choices = policy.act(arrivals)
            with sending:
                fleet.send(arrivals.row, choices.action)
            played.decisions += len(arrivals)
    played.seconds = played_s
    return played


def _remove(log_dir: Path) -> None:
    """The logs of hosts that did well, and the folder of all logs when it has no others."""
    shutil.rmtree(log_dir, ignore_errors=True)
    with suppress(OSError):
        log_dir.parent.rmdir()


def _resident_mib() -> float:
    """Of this process and all below it."""
    return TreeUse().ram_mib


def _one_line(error: BaseException) -> str:
    text = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return text or type(error).__name__
