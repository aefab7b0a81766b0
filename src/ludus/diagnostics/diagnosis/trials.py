"""Trials of training: of the run as it is, and of a suggestion against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ludus.actors.resolved import resolve
from ludus.config import load
from ludus.config.overrides import texts_of
from ludus.config.settings import RunConfig
from ludus.diagnostics import trial_process, tuning
from ludus.diagnostics.diagnosis import comparison, record
from ludus.diagnostics.diagnosis.host_stages import Measures
from ludus.diagnostics.diagnosis.record import CheckedGain, Measure, Suggestion, Value
from ludus.diagnostics.dimensions import Configuration
from ludus.diagnostics.training_trial import TrialOrder
from ludus.diagnostics.tuning import Due, TrainingTrial
from ludus.errors import LudusError

REPEATS = 3  # trials of the whole, so that their spread is known
PAIRS = 4  # trials of a suggestion, and as many without it
START_LIMIT_S = 120.0  # until the first update of a trial
LIMIT_FACTOR, MORE_LIMIT_S = 4.0, 60.0  # for the rest of it
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """The parameters that all trials of one diagnosis share."""

    config: RunConfig
    folder: Path
    seconds: float  # measured time of each trial
    gpus: str


def repeated(plan: TrialPlan, repeats: int, tell: Tell) -> list[TrainingTrial]:
    """Train `repeats` times, and return the trials. Raises LudusError if one fails."""
    trials = []
    for repeat in range(repeats):
        tell(f"training, trial {repeat + 1} of {repeats}")
        trial = _trial(plan, plan.config, repeat)
        if trial.failure:
            raise LudusError(record.plain(trial.failure))
        trials.append(trial)
    return trials


def measures(trials: Sequence[TrainingTrial]) -> Measures:
    """Return what the trials have measured."""
    numbers = {
        record.WHOLE_RATE: Measure("decisions/s", "higher", tuple(each.decisions_per_s for each in trials)),
        record.WHOLE_CORES: Measure("cores", "neither", tuple(each.cpu_mean_cores for each in trials)),
        record.WHOLE_MIB: Measure("MiB", "lower", tuple(each.ram_mib for each in trials)),
        record.WHOLE_LAG: Measure("versions", "neither", tuple(each.lag for each in trials)),
    }
    gpus = [each.gpu for each in trials if each.gpu is not None]
    if gpus:
        numbers[record.GPU_USE] = Measure("share", "neither", tuple(each.use_mean for each in gpus))
        numbers[record.GPU_MIB] = Measure("MiB", "lower", tuple(each.memory_peak_mib for each in gpus))
    return numbers


def check(plan: TrialPlan, suggestion: Suggestion, tell: Tell) -> Suggestion:
    """Train with and without a suggestion in turns ABBA, and return it with the measured gain."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    try:
        config = with_settings(plan.config, suggestion.settings)
    except LudusError as error:
        return _with(suggestion, CheckedGain(0.0, 0.0, 0.0, 0, record.plain(str(error))))
    order = [turn for pair in range(PAIRS) for turn in ((False, True) if pair % 2 == 0 else (True, False))]
    for repeat, is_changed in enumerate(order):
        tell(f"{suggestion.words if is_changed else 'the present settings'}, trial {repeat // 2 + 1} of {PAIRS}")
        trial = _trial(plan, config if is_changed else plan.config, repeat // 2)
        if trial.failure:
            return _with(suggestion, CheckedGain(0.0, 0.0, 0.0, len(rates[is_changed]), record.plain(trial.failure)))
        rates[is_changed].append(trial.decisions_per_s)
    ratio = comparison.ratio(rates[False], rates[True])
    return _with(suggestion, CheckedGain(ratio.value, ratio.low, ratio.high, PAIRS))


def with_settings(config: RunConfig, settings: Mapping[str, Value]) -> RunConfig:
    """Return the configuration with other settings. Raises ConfigError if it is then invalid."""
    return resolve(load.override(msgspec.to_builtins(config), texts_of(dict(settings)))).config


def expected_s(seconds: float, trials: int) -> float:
    """Return about how long so many trials take."""
    return trials * (tuning.START_S + _warm_s(seconds) + seconds)


def _trial(plan: TrialPlan, config: RunConfig, repeat: int) -> TrainingTrial:
    order = TrialOrder(
        due=Due(0, repeat, Configuration(())),
        settings=config,
        folder=str(plan.folder / str(repeat + 1)),
        warm_s=_warm_s(plan.seconds),
        measure_s=plan.seconds,
        gpus=plan.gpus,
    )
    limit_s = LIMIT_FACTOR * (plan.seconds + _warm_s(plan.seconds)) + MORE_LIMIT_S
    return trial_process.run(order, start_limit_s=START_LIMIT_S, limit_s=limit_s)


def _warm_s(seconds: float) -> float:
    return tuning.warm_s(seconds)


def _with(suggestion: Suggestion, gain: CheckedGain) -> Suggestion:
    return Suggestion(suggestion.settings, suggestion.gain, suggestion.why, suggestion.caveat, gain)
