"""Decides when a run moves to the next stage of its curriculum or back to the previous one. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct

from ludus.config.settings import (
    FallBackConfig,
    OpponentsConfig,
    PromoteConfig,
    StageConfig,
    WinRateAtLeast,
    WinRateBelow,
)
from ludus.errors import ConfigError
from ludus.games.named_policies import refuse_unknown
from ludus.league.matchmaking import scripted_names
from ludus.metrics.observer import ALONE

PAST_SELVES = "past"  # all past selves together


@dataclass(frozen=True, slots=True)
class StageProgress:
    """Progress of a run. Counts are totals of the whole run; rates and means are of the current stage."""

    updates: int
    decisions: int
    matches: int
    reward: tuple[int, float] = (0, 0.0)  # number of matches, mean reward
    trained: Mapping[str, tuple[int, float]] = field(default_factory=dict)  # matches and mean score by opponent
    evaluated: Mapping[str, float] = field(default_factory=dict)  # win rate by opponent
    used: float = 0.0  # share of the run's budget that is used up


class CurriculumState(Struct, frozen=True):
    """The name of the current stage, and the totals of the run when it began.

    Stages are saved by name, since their order may change before a run is resumed.
    """

    stage: str
    updates: int = 0
    decisions: int = 0
    matches: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """A change of stage."""

    way: Literal["promoted", "fell back"]
    before: str
    after: str
    why: str  # description of the fulfilled rules


class Curriculum:
    """The curriculum of a run. It begins with the first stage, or continues from `state`.

    Raises ConfigError if the stage of `state` no longer exists.
    """

    def __init__(self, stages: Sequence[StageConfig], state: CurriculumState | None = None) -> None:
        self._stages = stages
        names = [stage.name for stage in stages]
        if state is not None and state.stage not in names:
            raise ConfigError(f"curriculum: the run is in stage {state.stage!r}, but there are only {', '.join(names)}")
        self.state = state or CurriculumState(names[0])

    @property
    def stages(self) -> int:
        return len(self._stages)

    @property
    def index(self) -> int:
        return next(at for at, stage in enumerate(self._stages) if stage.name == self.state.stage)

    def due(self, progress: StageProgress) -> Change | None:
        """Return the change of stage that the rules require, or None. Falling back takes precedence over promotion."""
        at, began = self.index, self.state
        stage = self._stages[at]
        since = StageProgress(
            progress.updates - began.updates,
            progress.decisions - began.decisions,
            progress.matches - began.matches,
            progress.reward,
            progress.trained,
            progress.evaluated,
            progress.used,
        )
        if stage.fall_back is not None and at > 0 and (why := fulfilled(stage.fall_back, since)):
            return Change("fell back", stage.name, self._stages[at - 1].name, why)
        if at + 1 < len(self._stages) and (why := fulfilled(stage.promote, since)):
            return Change("promoted", stage.name, self._stages[at + 1].name, why)
        return None

    def enter(self, change: Change, progress: StageProgress) -> None:
        """Begin the stage that `change` leads to."""
        self.state = CurriculumState(change.after, progress.updates, progress.decisions, progress.matches)


def fulfilled(rules: PromoteConfig | FallBackConfig, since: StageProgress) -> str:
    """Return a text that lists the fulfilled rules if all of them are fulfilled, else an empty string."""
    reasons: list[str] = []
    for name in ("matches", "updates", "decisions"):
        threshold, value = getattr(rules, name), getattr(since, name)
        if threshold:
            reasons.append(f"{value:,} {name}" if value >= threshold else "")
    if isinstance(rules, PromoteConfig) and rules.budget:
        reasons.append(f"{100 * since.used:.0f}% of the budget" if since.used >= rules.budget else "")
    if rules.reward is not None:
        matches, mean = since.reward
        fits = mean >= rules.reward if isinstance(rules, PromoteConfig) else mean < rules.reward
        reasons.append(f"reward {mean:.3g}" if matches and fits else "")
    if rules.win_rate is not None:
        reasons.append(_win_rate(rules.win_rate, since))
    return ", ".join(reasons) if reasons and all(reasons) else ""


def refuse_unplayed(
    stage: StageConfig, opponents: OpponentsConfig, evaluated: Sequence[str], scripted: Sequence[str], place: str
) -> None:
    """Raise ConfigError if a rule uses the win rate against an opponent that is never played in this stage."""
    for section, rules in (("promote", stage.promote), ("fall_back", stage.fall_back)):
        if rules is None or rules.win_rate is None:
            continue
        path, name = f"{place}.{section}.win_rate.opponent", rules.win_rate.opponent
        if rules.win_rate.of == "evaluation":
            played = tuple(evaluated) or tuple(scripted)
            setting = "evaluation.opponents"
        else:
            played = scripted_names(opponents, scripted) if opponents.scripted else ()
            played = (*played, PAST_SELVES) if opponents.past else played
            setting = "opponents"
            if name == ALONE:  # whether the game has one seat is known only when a host has started
                continue
        if name != PAST_SELVES:
            refuse_unknown((name,), scripted, path)
        if name not in played:
            raise ConfigError(
                f"{path}: {name} is not played in this stage, whose {setting} are {', '.join(played) or 'nobody'}; "
                "name one of those, or let it play"
            )


def _win_rate(rule: WinRateAtLeast | WinRateBelow, since: StageProgress) -> str:
    if rule.of == "evaluation":
        rate = since.evaluated.get(rule.opponent)
    else:
        matches, score = since.trained.get(rule.opponent, (0, 0.0))
        rate = score if matches >= rule.matches else None
    if rate is None:
        return ""
    fits = rate < rule.below if isinstance(rule, WinRateBelow) else rate >= rule.at_least
    against = "" if rule.opponent == ALONE else f" against {rule.opponent}"
    return f"{100 * rate:.1f}% won{against} in {rule.of}" if fits else ""
