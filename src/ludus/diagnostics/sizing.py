"""Chooses hosts, matches and batches of a run by the machine, for one of four purposes. Pure.

`quick` uses a quarter of the cores, `dev` half, `full` three quarters and `overnight` all. Batches grow with the number
of rows, which limits the staleness of their decisions. Sizes that do not fit into four fifths of the free memory are
reduced: first matches, then hosts, then batches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ludus.errors import ConfigError

Purpose = Literal["quick", "dev", "full", "overnight"]

HOSTS, MATCHES = "fleet.hosts", "fleet.matches"
DECISIONS, MINIBATCH = "learner.decisions", "learner.minibatch"
MINUTES = "budget.minutes"
EVALUATION, QUICK_EVALUATION = "evaluation.matches", "evaluation.quick_matches"

USABLE = 0.8  # share of the free memory that a run may use
PROCESSES_MIB = {
    "cpu": 800.0,
    "mps": 1600.0,
    "cuda": 6000.0,
}  # learner and actor, including the memory that torch maps for the device
FLEETS = 2  # an evaluation starts its own hosts beside those of the training
BATCHES = 4  # being filled, in the queue, in transfer, and as tensors of the learner
FEWEST_MATCHES, SMALLEST_BATCH = 8, 1024
SPAN = {"cpu": 8, "mps": 8, "cuda": 4}  # most updates that a segment of a row may span
LARGEST_BATCH = {"cpu": 32_768, "mps": 32_768, "cuda": 65_536}
MINIBATCHES = {"cpu": 8, "mps": 8, "cuda": 4}  # per batch; accelerators need larger minibatches


@dataclass(frozen=True, slots=True)
class MachineSize:
    cores: int
    free_mib: float
    device: Literal["cpu", "mps", "cuda"]


@dataclass(frozen=True, slots=True)
class Needs:
    """Memory needs of a game: its hosts, matches and decisions."""

    host_mib: float
    match_mib: float
    row_bytes: int
    source: str  # origin of the figures
    seats: int = 2
    beside_mib: float = 0.0  # servers that the run starts


@dataclass(frozen=True, slots=True)
class SizePlan:
    share: float  # of the cores to use
    matches: int
    batch: int  # smallest batch
    minutes: float
    evaluation: tuple[int, int] | None  # matches of the final and of other evaluations


PLANS: Mapping[Purpose, SizePlan] = {
    "quick": SizePlan(0.25, 16, 1024, 1.0, (40, 20)),
    "dev": SizePlan(0.5, 32, 4096, 10.0, None),
    "full": SizePlan(0.75, 64, 4096, 30.0, None),
    "overnight": SizePlan(1.0, 64, 4096, 480.0, None),
}


@dataclass(frozen=True, slots=True)
class Choice:
    setting: str
    value: float
    why: str
    is_fixed: bool = False  # set by the configuration


@dataclass(frozen=True, slots=True)
class Sizes:
    choices: tuple[Choice, ...]
    needed_mib: float
    usable_mib: float
    needs: Needs

    def settings(self) -> dict[str, float]:
        """Return the chosen settings, without those that the configuration has fixed."""
        return {choice.setting: choice.value for choice in self.choices if not choice.is_fixed}


def choose(
    purpose: Purpose, machine: MachineSize, needs: Needs, fixed: Mapping[str, float], segment: int = 32
) -> Sizes:
    """Choose the sizes for a purpose, except those in `fixed`. Raises ConfigError if even the smallest do not fit."""
    plan, usable_mib = PLANS[purpose], USABLE * machine.free_mib
    usual_hosts = max(1, math.ceil(plan.share * machine.cores))
    hosts, matches = int(fixed.get(HOSTS, usual_hosts)), int(fixed.get(MATCHES, plan.matches))

    def batch_for(hosts: int, matches: int) -> int:
        rows = hosts * matches * needs.seats
        spanned = _power_of_two(rows * segment / SPAN[machine.device])
        return int(fixed.get(DECISIONS, min(max(plan.batch, spanned), LARGEST_BATCH[machine.device])))

    def needed(hosts: int, matches: int, batch: int) -> float:
        return needed_mib(machine, needs, hosts, matches, batch)

    def fits(hosts: int, matches: int) -> bool:
        return needed(hosts, matches, batch_for(hosts, matches)) <= usable_mib

    while not fits(hosts, matches) and matches > FEWEST_MATCHES and MATCHES not in fixed:
        matches = max(matches // 2, FEWEST_MATCHES)
    while not fits(hosts, matches) and hosts > 1 and HOSTS not in fixed:
        hosts -= 1
    while not fits(hosts, matches) and matches > 1 and MATCHES not in fixed:
        matches //= 2
    batch = batch_for(hosts, matches)
    while needed(hosts, matches, batch) > usable_mib and batch > SMALLEST_BATCH and DECISIONS not in fixed:
        batch //= 2
    total = needed(hosts, matches, batch)
    if total > usable_mib and not {HOSTS, MATCHES, DECISIONS} <= fixed.keys():
        raise ConfigError(
            f"--size {purpose}: at least {total:,.0f} MiB are needed ({hosts} hosts of {matches} matches, {batch:,} "
            f"decisions a batch), but only {usable_mib:,.0f} of {machine.free_mib:,.0f} MiB free may be taken; close "
            "programs, or set less"
        )
    cut = (
        "" if (hosts, matches) == (fixed.get(HOSTS, usual_hosts), fixed.get(MATCHES, plan.matches)) else "less: memory"
    )
    return Sizes(_choices(purpose, plan, machine, fixed, hosts, matches, batch, cut), total, usable_mib, needs)


def needed_mib(machine: MachineSize, needs: Needs, hosts: int, matches: int, batch: int) -> float:
    """Return the memory of a run: learner, actor, batches, servers, and the hosts of training and evaluation."""
    per_host = needs.host_mib + matches * needs.match_mib
    batches = BATCHES * batch * needs.row_bytes / 2**20
    return PROCESSES_MIB[machine.device] + needs.beside_mib + FLEETS * hosts * per_host + batches


def _choices(
    purpose: Purpose,
    plan: SizePlan,
    machine: MachineSize,
    fixed: Mapping[str, float],
    hosts: int,
    matches: int,
    batch: int,
    cut: str,
) -> tuple[Choice, ...]:
    share = {0.25: "a quarter", 0.5: "half", 0.75: "three quarters", 1.0: "all"}[plan.share]
    part = {4: "a quarter", 8: "an eighth"}[MINIBATCHES[machine.device]]
    minibatch = min(batch, max(batch // MINIBATCHES[machine.device], 128))
    rows: list[tuple[str, float, str]] = [
        (HOSTS, hosts, f"{share} of {machine.cores} cores, rounded up{cut and '; ' + cut}"),
        (MATCHES, matches, f"a host, for {purpose}{cut and '; ' + cut}"),
        (DECISIONS, batch, f"a row's segment spans at most {SPAN[machine.device]} updates, on {machine.device}"),
        (MINIBATCH, minibatch, f"{part} of a batch, on {machine.device}"),
        (MINUTES, plan.minutes, f"of training, for {purpose}"),
    ]
    if plan.evaluation is not None:
        rows += [
            (EVALUATION, plan.evaluation[0], f"few, for {purpose}"),
            (QUICK_EVALUATION, plan.evaluation[1], f"few, for {purpose}"),
        ]
    return tuple(
        Choice(name, fixed[name], "set in the configuration", is_fixed=True)
        if name in fixed
        else Choice(name, value, why)
        for name, value, why in rows
    )


def _power_of_two(value: float) -> int:
    """Return the next power of two that is not smaller."""
    return 1 << max(0, math.ceil(math.log2(max(value, 1.0))))
