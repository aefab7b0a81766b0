"""Amdahl's law with measured costs: what limits training, and how much each remedy can help at most. Pure.

The model has two bounds. Hosts, actors and learner work at the same time (`mode: overlapped`), so the slowest of them
bounds the speed; with `mode: serial` they take turns, and their times add up. And all of them together share the
cores: the CPU time of a decision, summed over the processes, divided by the cores, bounds the speed as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from ludus.diagnostics.diagnosis import record
from ludus.diagnostics.diagnosis.record import Ceiling, Diagnosis

FULL = 0.9  # share of the cores from which on hosts alone count as sharing them
WAITS = 0.8  # below this share of the predicted speed, processes wait for each other
Limit = Literal["hosts", "actors", "learner", "cpu", "turns"]
NAMES = {"hosts": "the hosts", "actors": "the actor", "learner": "the learner"}


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds per learned decision. `_s` is the time of all processes of a kind side by side, `_cpu_s` is summed."""

    hosts_s: float
    inference_s: float
    recording_s: float  # the rest of the actor: segments, sending, receiving
    learner_s: float
    hosts_cpu_s: float
    inference_cpu_s: float
    recording_cpu_s: float
    learner_cpu_s: float

    @property
    def actors_s(self) -> float:
        return self.inference_s + self.recording_s

    @property
    def cpu_s(self) -> float:
        return self.hosts_cpu_s + self.inference_cpu_s + self.recording_cpu_s + self.learner_cpu_s

    def scaled(self, part: str, factor: float, *, wall_only: bool = False) -> Costs:
        """Return the costs with those of one part multiplied. `wall_only`: the CPU time stays, as with more hosts."""
        changes = {f"{part}_s": getattr(self, f"{part}_s") * factor}
        if not wall_only:
            changes[f"{part}_cpu_s"] = getattr(self, f"{part}_cpu_s") * factor
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class Model:
    costs: Costs
    cores: int
    is_serial: bool

    @property
    def bounds(self) -> dict[Limit, float]:
        """Return the decisions/s that each bound allows."""
        costs = self.costs
        seconds: dict[Limit, float] = {"cpu": costs.cpu_s / self.cores}
        if self.is_serial:
            seconds["turns"] = costs.hosts_s + costs.actors_s + costs.learner_s
        else:
            seconds |= {"hosts": costs.hosts_s, "actors": costs.actors_s, "learner": costs.learner_s}
        return {limit: 1 / each if each > 0 else float("inf") for limit, each in seconds.items()}

    @property
    def decisions_per_s(self) -> float:
        """Return the predicted speed if nobody waits without need."""
        return min(self.bounds.values())

    @property
    def limit(self) -> Limit:
        bounds = self.bounds
        return min(bounds, key=lambda limit: bounds[limit])

    def gain(self, costs: Costs, *, cores: int | None = None, is_serial: bool | None = None) -> float:
        """Return the factor by which other costs would speed up training."""
        other = Model(costs, cores or self.cores, self.is_serial if is_serial is None else is_serial)
        return other.decisions_per_s / self.decisions_per_s

    def ceilings(self) -> list[Ceiling]:
        """Return the speed-up if each part cost nothing, the largest first."""
        parts = {"simulation": "hosts", "inference": "inference", "recording": "recording", "updates": "learner"}
        factors = [Ceiling(name, self.gain(self.costs.scaled(part, 0.0))) for name, part in parts.items()]
        return sorted(factors, key=lambda each: -each.factor)


def model_of(diagnosis: Diagnosis) -> Model | None:
    """Return the model for what was measured, or None if a stage is missing."""
    needed = {
        name: diagnosis.median(name)
        for name in (
            record.ENV_RATE,
            record.PLAY_LEARNED,
            record.PLAY_ACTOR_CPU,
            record.PLAY_HOSTS_CPU,
            record.ROW_RATE,
            record.ROW_CPU,
            record.UPDATE_RATE,
            record.UPDATE_CPU,
        )
    }
    numbers = {name: value for name, value in needed.items() if value is not None}
    if len(numbers) < len(needed) or not all(numbers[name] > 0 for name in (record.PLAY_LEARNED, record.ROW_RATE)):
        return None
    played = 1 / numbers[record.PLAY_LEARNED]  # decisions made for each that is learned from
    actors, cores = max(1, diagnosis.actors), max(1, diagnosis.machine.cores)
    row_s, row_cpu_s = 1 / numbers[record.ROW_RATE], numbers[record.ROW_CPU] / 1e6
    actor_cpu_s = numbers[record.PLAY_ACTOR_CPU] / 1e6
    row_cpu_s = min(row_cpu_s, actor_cpu_s)
    rest_s = actor_cpu_s - row_cpu_s
    update_s, update_cpu_s = 1 / numbers[record.UPDATE_RATE], numbers[record.UPDATE_CPU] / 1e6
    if diagnosis.is_shared:  # the wall-clock time contains that of other programs
        row_s = row_s if diagnosis.policy_on_gpu else row_cpu_s
        update_s = update_s if diagnosis.learner_on_gpu else update_cpu_s
    costs = Costs(
        hosts_s=played * _hosts_s(diagnosis, numbers, cores),
        inference_s=played * row_s / actors,
        recording_s=played * rest_s / actors,
        learner_s=update_s,
        hosts_cpu_s=played * numbers[record.PLAY_HOSTS_CPU] / 1e6,
        inference_cpu_s=played * row_cpu_s,
        recording_cpu_s=played * rest_s,
        learner_cpu_s=update_cpu_s,
    )
    return Model(costs, cores, diagnosis.settings.get("mode") == "serial")


def _hosts_s(diagnosis: Diagnosis, numbers: dict[str, float], cores: int) -> float:
    """Return the time of the hosts per decision, without waiting.

    If they had to share the cores, with each other or with other programs, waiting for a core is no work: then their
    CPU time counts.
    """
    busy = diagnosis.median(record.ENV_BUSY)
    used = diagnosis.median(record.ENV_CORES) or 0.0
    if used >= FULL * cores or diagnosis.is_shared:
        return numbers[record.PLAY_HOSTS_CPU] / 1e6 / max(1, diagnosis.hosts)
    return (1.0 if busy is None else busy) / numbers[record.ENV_RATE]


def verdict(diagnosis: Diagnosis, model: Model | None) -> list[str]:
    """Return sentences: what limits training, and the largest ceilings."""
    whole = diagnosis.median(record.WHOLE_RATE)
    if model is None:
        return _partial(diagnosis)
    lines = [_limit(model)]
    if whole is not None:
        reached = whole / model.decisions_per_s
        lines.append(
            f"Training reaches {whole:,.0f} decisions/s, {reached:.0%} of the {model.decisions_per_s:,.0f} that the "
            "stages alone allow."
        )
        if reached < WAITS and not diagnosis.is_shared:
            lines.append("The rest is waiting: hosts, actor and learner wait for each other, or for a core.")
    best, *others = model.ceilings()
    smaller = ", ".join(f"{each.part} {each.factor:.2f}" for each in others)
    lines.append(
        f"Ceilings: if {best.part} cost nothing, training would be {best.factor:.2f} times as fast ({smaller})."
    )
    return lines


def _limit(model: Model) -> str:
    costs, limit = model.costs, model.limit
    shares = {"hosts": costs.hosts_cpu_s, "inference": costs.inference_cpu_s, "recording": costs.recording_cpu_s}
    shares["updates"] = costs.learner_cpu_s
    split = ", ".join(f"{part} {seconds / costs.cpu_s:.0%}" for part, seconds in _largest(shares.items()))
    if limit == "cpu":
        cost = f"a decision costs {costs.cpu_s * 1e6:,.0f} us of CPU time"
        return f"The {model.cores} cores limit this run: {cost} ({split})."
    if limit == "turns":
        return (
            "Taking turns limits this run (mode: serial): hosts, actor and learner never work together. Of the CPU "
            f"time: {split}."
        )
    second = sorted(model.bounds.values())[1]
    return (
        f"{NAMES[limit].capitalize()} limit{'' if limit == 'hosts' else 's'} this run at {model.decisions_per_s:,.0f} "
        f"decisions/s; the next bound is {second:,.0f}. Of the CPU time: {split}."
    )


def _partial(diagnosis: Diagnosis) -> list[str]:
    if diagnosis.failures:
        return ["Nothing can be concluded about the whole: a stage failed."]
    return ["Only some stages were measured; --test all says what limits the whole."]


def _largest(shares: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    return sorted(shares, key=lambda each: -each[1])
