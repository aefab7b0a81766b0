"""The grid search of `ludus bench scale`: order of trials, spread over repeats, efficiency, the best fleet size. Pure.

A fleet size is one point of the grid; a trial is one measurement of it. To add an axis, add a field with a default to
`FleetSize`, a field to `StudyPlan`, and the name to `AXES`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ludus.metrics.times import Times

AXES = ("hosts", "matches", "servers")
ONE = {"hosts": "host", "matches": "match", "servers": "server"}
WARM_SHARE, WARM_MAX_S = 0.25, 20.0  # warm-up of a trial, during which hosts compile their hot code
SHORTEST_S = 0.5  # shortest trial
NEAR = 0.05  # a smaller fleet within this share of the best rate is recommended

State = Literal["completed", "timed out", "failed"]


class FleetSize(Struct, frozen=True, order=True, omit_defaults=True):
    hosts: int
    matches: int  # at once on each host
    servers: int = 0  # servers started for the trial; 0: none

    @property
    def at_once(self) -> int:
        """Return the number of concurrent matches in the whole fleet."""
        return self.hosts * self.matches

    def __str__(self) -> str:
        servers = f"{counted(self.servers, 'servers')}, " if self.servers else ""
        return f"{servers}{counted(self.hosts, 'hosts')} x {self.matches}"


class StudyPlan(Struct, frozen=True, kw_only=True):
    """Settings of a scaling benchmark. Results of two plans are not comparable."""

    game: str
    options: dict[str, Any]  # Any: the game's own options
    fleet: dict[str, Any]  # Any: FleetConfig without hosts and matches
    seed: int
    policy: str  # a scripted policy's name, or a checkpoint's path
    hosts: tuple[int, ...]
    matches: tuple[int, ...]
    repeats: int
    budget_s: float  # all trials together, without the time to start hosts
    min_matches: int  # per concurrent match; a trial in which fewer finish has timed out
    servers: tuple[int, ...] = ()  # empty: the benchmark starts none

    @property
    def axes(self) -> tuple[str, ...]:
        """Return the axes of the grid: servers only if the benchmark starts some."""
        return AXES if self.servers else AXES[:2]

    @property
    def title(self) -> str:
        return " ".join(filter(None, (self.game, str(self.options.get("format") or self.options.get("game") or ""))))

    @property
    def sizes(self) -> list[FleetSize]:
        return [FleetSize(*setting) for setting in product(self.hosts, self.matches, self.servers or (0,))]

    @property
    def order(self) -> list[tuple[int, FleetSize]]:
        """Return (repeat, size) of every trial: all sizes once, then all again, so that drift affects all sizes
        alike."""
        return list(product(range(self.repeats), self.sizes))

    @property
    def trial_s(self) -> float:
        """Return the duration of a trial, including its warm-up."""
        return self.budget_s / max(1, len(self.order))

    @property
    def warm_s(self) -> float:
        return min(WARM_MAX_S, WARM_SHARE * self.trial_s)


class GpuUse(Struct, frozen=True):
    """GPU use by all programs of the machine. With several GPUs: the mean utilisation and the total memory."""

    use_mean: float  # share of the time
    use_peak: float
    memory_peak_mib: float


class TrialNumbers(Struct, frozen=True, kw_only=True):
    """The measurements of a trial, without start and warm-up. CPU and memory include all child processes."""

    repeat: int
    decisions: int = 0
    seconds: float = 0.0
    start_s: float = 0.0  # until all hosts, or the training, had started
    voided: int = 0
    restarts: int = 0  # of hosts
    cpu_mean_cores: float = 0.0  # 1.0 is one busy core
    cpu_peak_cores: float = 0.0
    ram_mib: float = 0.0  # peak
    gpu: GpuUse | None = None  # None: no GPU
    times: Times = msgspec.field(default_factory=Times)  # activities of the measured processes
    failure: str = ""  # the reason why the trial failed; its numbers are then meaningless

    @property
    def decisions_per_s(self) -> float:
        return self.decisions / self.seconds if self.seconds > 0 else 0.0


class Trial(TrialNumbers, frozen=True, kw_only=True):
    """Measurements of one trial of `ludus bench scale`."""

    size: FleetSize
    min_matches: int  # in the whole fleet
    done: int = 0  # finished matches, including truncated ones
    truncated: int = 0
    refused: int = 0  # actions that the game rejected
    memory_delta_mib: float = 0.0  # growth from before the start of the hosts to the end
    servers_cpu_mean_cores: float = 0.0  # included in cpu_mean_cores
    servers_ram_mib: float = 0.0  # peak of all servers together

    @property
    def state(self) -> State:
        if self.failure:
            return "failed"
        return "completed" if self.done >= self.min_matches else "timed out"

    @property
    def matches_per_hour(self) -> float:
        return 3600 * self.done / self.seconds if self.seconds > 0 else 0.0


class Spread(Struct, frozen=True):
    """Median and range of a number over the repeats."""

    median: float
    low: float
    high: float


class Summary(Struct, frozen=True, kw_only=True):
    """Results of one fleet size over its repeats: sums of counts, spreads of measurements (None if every trial
    failed)."""

    size: FleetSize
    trials: int
    state: State  # the worst state of the trials that did not fail; failed if all did
    timed_out: int  # trials
    failed: int  # trials
    failure: str  # reason of the first failure
    min_matches: int
    done: int
    truncated: int
    voided: int
    refused: int
    restarts: int
    decisions_per_s: Spread | None
    matches_per_hour: Spread | None
    cpu_mean_cores: Spread | None
    cpu_peak_cores: Spread | None
    ram_mib: Spread | None
    memory_delta_mib: Spread | None
    servers_cpu_mean_cores: Spread | None
    servers_ram_mib: Spread | None
    gpu_use_mean: Spread | None
    gpu_use_peak: Spread | None
    gpu_memory_mib: Spread | None

    @property
    def sound(self) -> bool:
        """Return True if every trial completed."""
        return self.state == "completed" and not self.failed


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of the rate (decisions/s) along one axis while the others stay the same."""

    axis: str
    size: FleetSize
    base: FleetSize  # the smallest size on the axis, from which linear growth is extrapolated
    efficiency: float  # the rate divided by that of linear growth
    previous: FleetSize | None  # the next smaller size; None for the base
    gain: float | None  # additional decisions/s per additional host, server or concurrent match


@dataclass(frozen=True, slots=True)
class Verdict:
    best: FleetSize
    smallest: FleetSize  # the fewest concurrent matches within `NEAR` of the best rate


def counted(number: int, axis: str) -> str:
    """Return a count with its noun, such as "1 host" or "2 hosts"."""
    return f"{number} {axis if number != 1 else ONE[axis]}"


def missing(plan: StudyPlan, trials: Iterable[Trial]) -> list[tuple[int, FleetSize]]:
    """Return (repeat, size) of the trials that have not run, in order. Failed trials are not repeated."""
    done = {(trial.repeat, trial.size) for trial in trials}
    return [each for each in plan.order if each not in done]


def left_s(plan: StudyPlan, trials: Sequence[Trial], playing_s: float) -> float:
    """Estimate the remaining seconds, `playing_s` into the current trial (0 while its hosts start).

    The mean start-up time of the finished trials stands in for the trials to come.
    """
    starts = [trial.start_s for trial in trials if not trial.failure]
    remaining = len(plan.order) - len(trials)
    to_start = remaining - 1 if playing_s else remaining
    return max(0.0, remaining * plan.trial_s - playing_s + to_start * (statistics.fmean(starts) if starts else 0.0))


def times(trials: Iterable[Trial], size: FleetSize) -> Times:
    """Return the activity times of all trials of a fleet size together."""
    total = Times()
    for trial in trials:
        if trial.size == size and not trial.failure:
            total.add(trial.times)
    return total


def summarise(plan: StudyPlan, trials: Sequence[Trial]) -> list[Summary]:
    """Summarise each fleet size that has been measured, in the order of the plan."""
    trials_of = {size: [trial for trial in trials if trial.size == size] for size in plan.sizes}
    return [_summary(size, own) for size, own in trials_of.items() if own]


def spread(values: Sequence[float]) -> Spread | None:
    return Spread(statistics.median(values), min(values), max(values)) if values else None


def rates(summaries: Iterable[Summary]) -> dict[FleetSize, float]:
    """Return the median decisions/s of every fleet size that has one."""
    return {each.size: each.decisions_per_s.median for each in summaries if each.decisions_per_s is not None}


def growth(rates: Mapping[FleetSize, float], axis: str) -> list[Growth]:
    """Compare every fleet size with the smallest one that differs from it on this axis only, if there is one."""
    comparisons = []
    for line in _lines(rates, axis):
        base = line[0]
        for at, size in enumerate(line):
            linear = rates[base] * _along(size, axis) / _along(base, axis)
            previous = line[at - 1] if at else None
            comparisons.append(
                Growth(
                    axis,
                    size,
                    base,
                    rates[size] / linear if linear > 0 else 0.0,
                    previous,
                    None if previous is None else (rates[size] - rates[previous]) / _added(previous, size, axis),
                )
            )
    return comparisons


def judge(summaries: Sequence[Summary]) -> Verdict | None:
    """Return the best fleet size and the smallest one close to it, or None if nothing was measured.

    If there are sizes whose trials all completed, the others are not considered.
    """
    sound = rates(each for each in summaries if each.sound) or rates(summaries)
    candidates = {size: rate for size, rate in sound.items() if rate > 0}
    if not candidates:
        return None
    best = max(candidates, key=lambda size: (candidates[size], -size.at_once, -size.servers))
    near = [size for size, rate in candidates.items() if rate >= (1 - NEAR) * candidates[best]]
    return Verdict(best, min(near, key=lambda size: (size.at_once, size.hosts, size.servers, -candidates[size])))


def differences(there: StudyPlan, here: StudyPlan) -> list[str]:
    """Describe the settings in which two plans differ, one string each."""
    old, new = _flat(msgspec.to_builtins(there)), _flat(msgspec.to_builtins(here))
    return [
        f"{name} is {_plain(old.get(name))} there, {_plain(new.get(name))} here"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]


def _flat(data: Mapping[str, object]) -> dict[str, object]:
    """Return settings by their paths, as `--set` writes them."""
    flat: dict[str, object] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{key}": inner for key, inner in value.items()})
        else:
            flat[name] = value
    return flat


def _plain(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _summary(size: FleetSize, trials: Sequence[Trial]) -> Summary:
    good = [trial for trial in trials if not trial.failure]
    failures = [trial.failure for trial in trials if trial.failure]
    gpus = [trial.gpu for trial in good if trial.gpu is not None]
    late = sum(trial.state == "timed out" for trial in good)

    def of(value: Callable[[Trial], float]) -> Spread | None:
        return spread([value(trial) for trial in good])

    return Summary(
        size=size,
        trials=len(trials),
        state="timed out" if late else "completed" if good else "failed",
        timed_out=late,
        failed=len(failures),
        failure=failures[0] if failures else "",
        min_matches=sum(trial.min_matches for trial in trials),
        done=sum(trial.done for trial in good),
        truncated=sum(trial.truncated for trial in good),
        voided=sum(trial.voided for trial in good),
        refused=sum(trial.refused for trial in good),
        restarts=sum(trial.restarts for trial in good),
        decisions_per_s=of(lambda trial: trial.decisions_per_s),
        matches_per_hour=of(lambda trial: trial.matches_per_hour),
        cpu_mean_cores=of(lambda trial: trial.cpu_mean_cores),
        cpu_peak_cores=of(lambda trial: trial.cpu_peak_cores),
        ram_mib=of(lambda trial: trial.ram_mib),
        memory_delta_mib=of(lambda trial: trial.memory_delta_mib),
        servers_cpu_mean_cores=of(lambda trial: trial.servers_cpu_mean_cores),
        servers_ram_mib=of(lambda trial: trial.servers_ram_mib),
        gpu_use_mean=spread([gpu.use_mean for gpu in gpus]),
        gpu_use_peak=spread([gpu.use_peak for gpu in gpus]),
        gpu_memory_mib=spread([gpu.memory_peak_mib for gpu in gpus]),
    )


def _lines(sizes: Iterable[FleetSize], axis: str) -> list[list[FleetSize]]:
    """Group the sizes that differ on this axis only, each group in ascending order."""
    lines: dict[tuple[int, ...], list[FleetSize]] = {}
    for size in sorted(sizes):
        lines.setdefault(tuple(_along(size, other) for other in AXES if other != axis), []).append(size)
    return [sorted(line, key=lambda size: _along(size, axis)) for line in lines.values() if len(line) > 1]


def _added(previous: FleetSize, size: FleetSize, axis: str) -> int:
    return size.at_once - previous.at_once if axis == "matches" else _along(size, axis) - _along(previous, axis)


def _along(size: FleetSize, axis: str) -> int:
    number: int = getattr(size, axis)
    return number
