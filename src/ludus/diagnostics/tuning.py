"""The state of `ludus tune`: its plan, the rounds so far and their trials. Pure, except for reading and writing.

tuning.json   the plan, the machine, all trials, and the table and best setting that follow from them
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import ludus
from ludus import files
from ludus.config.settings import NonNegative, Seconds
from ludus.diagnostics import dimensions, halving, scaling
from ludus.diagnostics.dimensions import Configuration
from ludus.diagnostics.halving import FINALISTS, Round
from ludus.diagnostics.scaling import Spread, TrialNumbers
from ludus.diagnostics.study import MachineInfo
from ludus.errors import ConfigError
from ludus.metrics.times import Times

JSON = "tuning.json"
START_S = 6.0  # expected time to start and end a trial, before one was measured
WARM_SHARE, WARM_MAX_S = 0.4, 5.0  # warm-up, as a share of the measured time
SHORTEST_S, LONGEST_S = 4.0, 20.0  # measured time of a trial
START_LIMIT_S = 60.0  # until the first update of the first trial; later ones: a multiple of the slowest start so far
FEWEST_START_LIMIT_S, START_FACTOR = 30.0, 4.0
MORE_LIMIT_S, LIMIT_FACTOR = 30.0, 3.0  # for the rest of a trial: so many times its expected duration, and these more


class TuningPlan(Struct, frozen=True, kw_only=True):
    """Settings of a tuning. Results of two plans are not comparable."""

    name: str  # of the preset, file or game; the base name of folders
    title: str
    settings: dict[str, Any]  # Any: plain data of the run, with --set
    budget_s: Seconds  # wall-clock time, including starts
    warm_s: Seconds  # of every trial, after its first update
    measure_s: Seconds  # of every trial, after its warm-up
    start_limit_s: NonNegative  # until the first update of a trial; 0: automatic
    configurations: tuple[Configuration, ...]  # those near the present one first; the present one is the first


class TrainingTrial(TrialNumbers, frozen=True, kw_only=True):
    """Measurements of one trial of training, from the first to the last whole update after the warm-up.

    `decisions` are those learned from, and `seconds` is training time, as in the budget of a run.
    """

    round: int
    configuration: Configuration
    updates: int = 0
    lag: float = 0.0  # mean over the reports
    hosts: int = 0
    wall_s: NonNegative = 0.0  # of the whole trial, start and end included

    @property
    def updates_per_s(self) -> float:
        return self.updates / self.seconds if self.seconds > 0 else 0.0


class StartedRound(Struct, frozen=True):
    """The configurations of one round, in the order in which they are measured."""

    configurations: tuple[Configuration, ...]
    repeats: int


class Due(Struct, frozen=True):
    """The next trial."""

    round: int
    repeat: int
    configuration: Configuration


class ConfigurationResult(Struct, frozen=True, kw_only=True):
    """Results of one configuration over its trials. Spreads are None if all of them failed."""

    configuration: Configuration
    rounds: int  # in which it was measured
    trials: int
    failed: int
    failure: str  # reason of the first failure
    decisions_per_s: Spread | None
    updates_per_s: Spread | None
    lag: float
    cpu_mean_cores: float
    ram_mib: float
    voided: int  # matches
    gpu_use_mean: float | None


class Tuning(Struct, kw_only=True):
    plan: TuningPlan
    machine: MachineInfo
    rounds: list[StartedRound] = []
    trials: list[TrainingTrial] = []
    spent_s: NonNegative = 0.0  # of the budget
    ludus: str = ludus.__version__

    @property
    def left_s(self) -> float:
        return self.plan.budget_s - self.spent_s

    @property
    def trial_s(self) -> float:
        """Return the expected duration of a trial, from the trials so far."""
        walls = [trial.wall_s for trial in self.trials if not trial.failure]
        return statistics.fmean(walls) if walls else START_S + self.plan.warm_s + self.plan.measure_s

    def due(self) -> Due | None:
        """Return the next trial of the current round, or None if the round is complete or none has begun."""
        if not self.rounds:
            return None
        at, current = len(self.rounds) - 1, self.rounds[-1]
        done = {(trial.repeat, trial.configuration) for trial in self.trials if trial.round == at}
        broken = {trial.configuration for trial in self.trials if trial.round == at and trial.failure}
        for repeat in range(current.repeats):
            for each in current.configurations:
                if (repeat, each) not in done and each not in broken:
                    return Due(at, repeat, each)
        return None

    def begin_round(self, trials: int) -> bool:
        """Begin the next round, for at most this many trials in all rounds to come. Returns False if there is none."""
        standing = self.survivors()
        plan = halving.rounds(len(standing), trials)
        if not plan:
            return False
        self.rounds.append(StartedRound(tuple(standing[: plan[0].configurations]), plan[0].repeats))
        return True

    def replan(self, trials: int) -> bool:
        """Shorten the first round to what the budget allows, now that its first trial was timed.

        `trials` are those that the budget allows from here on. Returns True if that changes the round.
        """
        before = self.rounds[-1]
        plan = halving.rounds(len(self.plan.configurations), len(self.trials) + trials)[0]
        self.rounds[-1] = StartedRound(before.configurations[: plan.configurations], min(before.repeats, plan.repeats))
        return self.rounds[-1] != before

    def remaining(self) -> list[Round]:
        """Return the rounds to come, as far as the budget allows; the first is the rest of the current one."""
        trials = affordable(self.left_s, self.trial_s)
        if not self.rounds:
            return list(halving.rounds(len(self.plan.configurations), trials))
        current = self.rounds[-1]
        at, whole = len(self.rounds) - 1, len(current.configurations) * current.repeats
        rest = max(0, whole - sum(trial.round == at for trial in self.trials))
        after = halving.halved(len(current.configurations))[1:2]
        return [Round(rest, 1), *(halving.rounds(after[0], trials - rest) if after else ())]

    def survivors(self) -> list[Configuration]:
        """Return the configurations of the next round, the fastest first; [] after the last round.

        The second round also gets the combination of the best value of each setting, unless it was measured already.
        """
        if not self.rounds:
            return list(self.plan.configurations)
        before = self.rounds[-1].configurations
        if len(before) <= FINALISTS:
            return []
        rates = {each: self.rates(each) for each in before}
        fastest = halving.ranked(rates)[: halving.halved(len(before))[1]]
        both = dimensions.combined(rates) if len(self.rounds) == 1 else None
        is_new = both is not None and both not in before and both in self.plan.configurations
        return [*fastest, both] if both is not None and is_new else fastest

    def rates(self, configuration: Configuration) -> list[float]:
        """Return the decisions/s of the trials that did not fail."""
        own = (trial for trial in self.trials if trial.configuration == configuration and not trial.failure)
        return [trial.decisions_per_s for trial in own]

    def best(self) -> Configuration | None:
        """Return the fastest configuration of the last round, or None if no trial succeeded."""
        for each in reversed(self.rounds):
            fastest = halving.ranked({one: self.rates(one) for one in each.configurations})
            if fastest:
                return fastest[0]
        return None

    def start_limit_s(self) -> float:
        """Return the seconds after which a trial without an update has failed."""
        starts = [trial.start_s for trial in self.trials if not trial.failure]
        automatic = max(FEWEST_START_LIMIT_S, START_FACTOR * max(starts)) if starts else START_LIMIT_S
        return self.plan.start_limit_s or automatic

    def limit_s(self) -> float:
        """Return the seconds that a trial may take from its first update on."""
        return LIMIT_FACTOR * (self.plan.warm_s + self.plan.measure_s) + MORE_LIMIT_S


def measured_s(budget_s: float, configurations: int) -> float:
    """Return how long each trial measures, so that all configurations can be tried within the budget."""
    trials = sum(each.trials for each in halving.rounds(configurations, 10 * configurations))
    spare_s = budget_s / max(1, trials) - START_S
    return min(max(spare_s / (1 + WARM_SHARE), SHORTEST_S), LONGEST_S)


def warm_s(measure_s: float) -> float:
    return min(WARM_MAX_S, WARM_SHARE * measure_s)


def affordable(left_s: float, trial_s: float) -> int:
    """Return the number of trials that end within the time left; half a trial may be over."""
    return max(0, int(left_s / max(trial_s, SHORTEST_S) + 0.5))


def standings(tuning: Tuning) -> list[ConfigurationResult]:
    """Return the results of all configurations with trials: those of later rounds first, then the faster ones first."""
    every = [_standing(each, tuning.trials) for each in dict.fromkeys(trial.configuration for trial in tuning.trials)]
    return sorted(every, key=lambda each: (-each.rounds, -each.decisions_per_s.median if each.decisions_per_s else 0.0))


def times(tuning: Tuning, configuration: Configuration) -> tuple[Times, int]:
    """Return the activity times of all trials of a configuration together, and its number of hosts."""
    total, hosts = Times(), 0
    for trial in tuning.trials:
        if trial.configuration == configuration and not trial.failure:
            total.add(trial.times)
            hosts = trial.hosts
    return total, hosts


def read(folder: Path) -> Tuning:
    """Read a tuning. Raises ConfigError if there is none or it is damaged."""
    path = folder / JSON
    try:
        tuning = msgspec.json.decode(path.read_bytes(), type=Tuning, strict=False)
    except FileNotFoundError as error:
        raise ConfigError(f"--resume: {folder} holds no tuning: there is no {JSON} in it") from error
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"--resume: {path} cannot be read: {error}") from error
    varied = {setting for each in _all_configurations(tuning) for setting, _ in each.settings}
    if not tuning.plan.configurations or not all(map(dimensions.may_vary, varied)):
        raise ConfigError(f"--resume: {path} cannot be read: it varies no settings, or some that cannot be varied")
    return tuning


def write(path: Path, tuning: Tuning) -> None:
    """Write the state and what follows from it, atomically."""
    best = tuning.best()
    page = {
        **msgspec.to_builtins(tuning, str_keys=True),
        "standings": [
            {**msgspec.to_builtins(each), "settings": dict(each.configuration.settings)} for each in standings(tuning)
        ],
        "best": None if best is None else dict(best.settings),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    files.replace(path, msgspec.json.format(msgspec.json.encode(page)))


def _all_configurations(tuning: Tuning) -> Iterator[Configuration]:
    yield from tuning.plan.configurations
    for each in tuning.rounds:
        yield from each.configurations


def _standing(configuration: Configuration, trials: Sequence[TrainingTrial]) -> ConfigurationResult:
    own = [trial for trial in trials if trial.configuration == configuration]
    good = [trial for trial in own if not trial.failure]
    gpus = [trial.gpu.use_mean for trial in good if trial.gpu is not None]
    return ConfigurationResult(
        configuration=configuration,
        rounds=1 + max(trial.round for trial in own),
        trials=len(own),
        failed=len(own) - len(good),
        failure=next((trial.failure for trial in own if trial.failure), ""),
        decisions_per_s=scaling.spread([trial.decisions_per_s for trial in good]),
        updates_per_s=scaling.spread([trial.updates_per_s for trial in good]),
        lag=_median([trial.lag for trial in good]),
        cpu_mean_cores=_median([trial.cpu_mean_cores for trial in good]),
        ram_mib=_median([trial.ram_mib for trial in good]),
        voided=sum(trial.voided for trial in good),
        gpu_use_mean=_median(gpus) if gpus else None,
    )


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else 0.0
