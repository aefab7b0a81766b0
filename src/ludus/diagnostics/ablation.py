"""The state of `ludus ablate`: its plan, the outcome of each training, and what follows from them. Pure, except for
reading and writing.

ablation.json   the plan, the outcomes, and the table that follows from them
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

import ludus
from ludus import files
from ludus.config.settings import NonNegative
from ludus.diagnostics.changes import PairedChange, changes
from ludus.errors import ConfigError
from ludus.metrics.intervals import student
from ludus.metrics.observer import ALONE

JSON = "ablation.json"
UNCHANGED = ""  # the variant that is trained with the settings as they are


class AblationPlan(Struct, frozen=True, kw_only=True):
    """The variants to train: the settings as they are, the same without each term, and with each change."""

    name: str  # of the preset, file or game
    title: str
    settings: dict[str, Any]  # Any: plain data of the unchanged run
    terms: tuple[str, ...] = ()
    changes: dict[str, tuple[str, ...]] = {}  # by name, settings such as "learner.lr=1e-3"
    seeds: tuple[int, ...]
    minutes: NonNegative = 0.0  # of one training; 0: by updates
    updates: int = 0

    @property
    def variants(self) -> tuple[str, ...]:
        return (UNCHANGED, *self.terms, *self.changes)

    @property
    def trainings(self) -> list[Training]:
        """Return all trainings: all variants with the first seed come first, so that a part of them is comparable."""
        return [Training(variant, seed) for seed in self.seeds for variant in self.variants]

    def label(self, variant: str) -> str:
        if variant in self.terms:
            return f"without {variant}"
        return variant or ("all terms" if self.terms else "unchanged")

    def title_of(self, training: Training) -> str:
        return f"{self.label(training.variant)}, seed {training.seed}"


class Training(Struct, frozen=True):
    variant: str  # a term that is left out, or the name of a change; UNCHANGED: neither
    seed: int


class TrainingOutcome(Struct, frozen=True, kw_only=True):
    """The final evaluation of one training, and its facts at the end."""

    training: Training
    shares: dict[str, float] = {}  # share of matches won against each opponent; the return with one seat
    facts: dict[str, float] = {}  # by name, reward terms included
    failure: str = ""  # reason, if it failed

    @property
    def strength(self) -> float:
        return statistics.fmean(self.shares.values()) if self.shares else 0.0


class Effect(Struct, frozen=True, kw_only=True):
    """One variant over its seeds. Intervals are Student's, 95%; None with one seed."""

    variant: str
    seeds: int
    failed: int
    strength: float  # mean over seeds
    interval: tuple[float, float] | None
    change: float  # minus the strength of the unchanged run, on the same seeds
    change_interval: tuple[float, float] | None
    facts: dict[str, float]  # means over seeds


class Ablation(Struct, kw_only=True):
    plan: AblationPlan
    outcomes: list[TrainingOutcome] = []
    ludus: str = ludus.__version__

    def due(self) -> list[Training]:
        """Return the trainings without an outcome."""
        done = {outcome.training for outcome in self.outcomes}
        return [training for training in self.plan.trainings if training not in done]

    def effects(self) -> list[Effect]:
        """Return the effect of each variant that has an outcome: unchanged first, then the weakest."""
        good = {(each.training.variant, each.training.seed): each for each in self.outcomes if not each.failure}
        compared = changes({key: each.strength for key, each in good.items()}, UNCHANGED)
        effects = [
            _effect(variant, self.outcomes, compared.get(variant))
            for variant in self.plan.variants
            if self._has_outcome(variant)
        ]
        return sorted(effects, key=lambda each: (each.variant != UNCHANGED, each.change))

    def _has_outcome(self, variant: str) -> bool:
        return any(each.training.variant == variant for each in self.outcomes)


def verdict(effect: Effect, plan: AblationPlan) -> str:
    """Say what leaving out the term, or the change, did."""
    if effect.variant == UNCHANGED:
        return ""
    if effect.seeds == 0:
        return "failed"
    if effect.change_interval is None:
        return "one seed: cannot tell"
    low, high = effect.change_interval
    is_term = effect.variant in plan.terms
    if high < 0:
        return "the term helps" if is_term else "weaker"
    if low > 0:
        return "the term hurts" if is_term else "stronger"
    return "no clear effect"


def read(folder: Path) -> Ablation:
    """Read an ablation. Raises ConfigError if there is none or it is damaged."""
    path = folder / JSON
    try:
        return msgspec.json.decode(path.read_bytes(), type=Ablation)
    except FileNotFoundError as error:
        raise ConfigError(f"--resume: {folder} holds no ablation: there is no {JSON} in it") from error
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"--resume: {path} cannot be read: {error}") from error


def write(path: Path, ablation: Ablation) -> None:
    """Write the state and what follows from it, atomically."""
    effects = [{**msgspec.to_builtins(each), "verdict": verdict(each, ablation.plan)} for each in ablation.effects()]
    path.parent.mkdir(parents=True, exist_ok=True)
    page = {**msgspec.to_builtins(ablation), "effects": effects}
    files.replace(path, msgspec.json.format(msgspec.json.encode(page)))


def _effect(variant: str, outcomes: Sequence[TrainingOutcome], change: PairedChange | None) -> Effect:
    own = {each.training.seed: each for each in outcomes if each.training.variant == variant}
    good = {seed: each for seed, each in own.items() if not each.failure}
    strengths = [each.strength for each in good.values()]
    is_share = not any(ALONE in each.shares for each in good.values())
    largest = 1.0 if is_share else math.inf
    return Effect(
        variant=variant,
        seeds=len(good),
        failed=len(own) - len(good),
        strength=statistics.fmean(strengths) if strengths else 0.0,
        interval=_within(student(strengths), 0.0 if is_share else -math.inf, largest),
        change=change.mean if change else 0.0,
        change_interval=_within(
            change.interval if change else None, -1.0 if is_share else -math.inf, 1.0 if is_share else math.inf
        ),
        facts=_means([each.facts for each in good.values()]),
    )


def _within(interval: tuple[float, float] | None, lowest: float, highest: float) -> tuple[float, float] | None:
    """Cut an interval to possible values: no share is below 0, however few seeds there are."""
    return None if interval is None else (max(interval[0], lowest), min(interval[1], highest))


def _means(every: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for each in every for name in each)
    return {name: statistics.fmean(each[name] for each in every if name in each) for name in names}
